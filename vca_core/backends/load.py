"""From a checkpoint's configuration to its family's backend."""

from __future__ import annotations

from vca_core.backends.base import BackendError
from vca_core.backends.files import CheckpointFiles
from vca_core.backends.hf import HFBackend
from vca_core.backends.internvl import InternVL
from vca_core.backends.llava_onevision import LlavaOnevision
from vca_core.backends.ministral3 import Ministral3
from vca_core.backends.qwen3_vl import Qwen3VL

BY_MODEL_TYPE: dict[str, type[HFBackend]] = {
    "qwen3_vl": Qwen3VL,
    "internvl": InternVL,
    "llava_onevision": LlavaOnevision,
    "mistral3": Ministral3,
}
"""Family by the ``model_type`` of config.json."""


def load_backend(
    checkpoint: str,
    *,
    device: str = "cpu",
    dtype: str = "auto",
    system: str | None = None,
    pixels: tuple[int, int] | None = None,
    trust_remote_code: bool = False,
) -> HFBackend:
    """Recognise a checkpoint's family and prepare it; weights load at the first forward.

    Parameters
    ----------
    checkpoint : str
        A folder or a hub name.
    device : str
        As torch names it: "cpu", "cuda", "cuda:1", "mps".
    dtype : {"auto", "float32", "bfloat16", "float16"}
    system : str, optional
        Replaces the family's system message.
    pixels : (int, int), optional
        Least and most pixels after resizing; ``qwen3_vl`` alone has this budget.
    trust_remote_code : bool
        Runs Python code that the checkpoint ships.

    Returns
    -------
    Backend

    Raises
    ------
    BackendError
        If the family is not known, or an option does not fit it.
    """
    files = CheckpointFiles(checkpoint)
    model_type = files.config.get("model_type")
    family = BY_MODEL_TYPE.get(model_type)
    if family is None:
        hint = " Use its -HF conversion." if model_type == "internvl_chat" else ""
        raise BackendError(
            f"`model_type` {model_type!r} of {files.name!r} is none of the families "
            f"{list(BY_MODEL_TYPE)}.{hint}"
        )
    if dtype not in ("auto", "float32", "bfloat16", "float16"):
        raise BackendError(f"Unknown dtype {dtype!r}; expected auto, float32, bfloat16 or float16.")
    if pixels is not None and family is not Qwen3VL:
        raise BackendError(f"A pixel budget is for qwen3_vl alone, got family {family.family!r}.")
    options = {"pixels": pixels} if pixels is not None else {}
    return family(
        files,
        device=device,
        dtype=dtype,
        system=system,
        trust_remote_code=trust_remote_code,
        **options,
    )
