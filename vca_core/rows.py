"""The row of a scores file that a probe and its losses make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vca_core.identity import Identity
from vca_core.records import CARRIED, VERBALIZERS, Probe, Score

if TYPE_CHECKING:
    from vca_core.backends.base import Backend
    from vca_core.losses import Result


def score_row(
    backend: Backend, model: str, probe: Probe, identity: Identity | None, result: Result
) -> Score:
    """Score of one probe: the sample's fields, the hashes, and the numbers or the reason."""
    yes, no = backend.verbalizer_ids(probe.interface)
    common = {
        **{name: getattr(probe.sample, name) for name in CARRIED},
        "model": model,
        "checkpoint": backend.checkpoint,
        "context": probe.context,
        "interface": probe.interface,
        "question": probe.text,
        "verbalizer_yes": VERBALIZERS[probe.interface][0],
        "verbalizer_no": VERBALIZERS[probe.interface][1],
        "n_tokens_yes": len(yes),
        "n_tokens_no": len(no),
    }
    if identity is not None:
        common |= {
            "probe_id": identity.probe_id,
            "prompt_sha256": identity.prompt_sha256,
            "image_sha256": identity.image_sha256,
            "image_width": identity.size[0] if identity.size else None,
            "image_height": identity.size[1] if identity.size else None,
        }
    else:
        common["image_sha256"] = None  # the manifest's hash is not what was shown
    if isinstance(result, str):
        return Score(**common, status="error", error=result)
    return Score(
        **common,
        loss_yes=result.loss_yes,
        loss_no=result.loss_no,
        margin=result.loss_no - result.loss_yes,
        answer_mass=result.answer_mass,
    )
