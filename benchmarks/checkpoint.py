"""Write the checkpoint that the tools are timed on: LLaVA-OneVision with 14 million random weights.

Example, from the project's root:

    python -m benchmarks.checkpoint _build/bench-llava --seed 0

Tokenizer, chat template and processor are those of ``models/mini-llava``; only sizes differ. A
square picture is a base view and one tile of 17 x 17 patches with a newline after each row of the
tile: 17² + 17² + 17 = 595 tokens, near the 576 of LLaVA-1.5. Nothing is trained: what a forward
costs does not depend on what the weights are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "models" / "mini-llava"
SIDE = 17
"""Patches along one side of a view."""
PATCH = 16
PIXELS = SIDE * PATCH
TOKENS = 2 * SIDE**2 + SIDE
"""Image tokens of a square picture."""
INITIAL = 0.05
"""About 1 / sqrt(width), as in the mini models: 0.02 leaves the picture hardly any effect."""
VISION = {
    "image_size": PIXELS,
    "patch_size": PATCH,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
}
TEXT = {
    "hidden_size": 384,
    "intermediate_size": 1024,
    "num_hidden_layers": 6,
    "num_attention_heads": 6,
    "num_key_value_heads": 6,
    "head_dim": 64,
    "initializer_range": INITIAL,
    "layer_types": ["full_attention"] * 6,
}


def build(folder: str | Path, seed: int = 0) -> Path:
    """Write the checkpoint; the same seed writes the same weights.

    Parameters
    ----------
    folder : path
        Made where it is missing; files of an earlier build are written over.
    seed : int

    Returns
    -------
    Path
        The folder.
    """
    import torch
    from transformers import AutoConfig, AutoProcessor, LlavaOnevisionForConditionalGeneration

    folder = Path(folder)
    pinpoints = [[PIXELS * h, PIXELS * w] for h, w in ((1, 1), (1, 2), (2, 1))]
    processor = AutoProcessor.from_pretrained(SOURCE, local_files_only=True)
    processor.num_image_tokens = SIDE**2
    processor.image_processor.size = {"height": PIXELS, "width": PIXELS}
    processor.image_processor.image_grid_pinpoints = pinpoints
    processor.video_processor.size = {"height": PIXELS, "width": PIXELS}
    config = AutoConfig.from_pretrained(SOURCE, local_files_only=True)
    config.vision_config.update(VISION)
    config.text_config.update(TEXT)
    config.image_grid_pinpoints = pinpoints
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlavaOnevisionForConditionalGeneration(config).eval()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def main() -> None:
    """Build a checkpoint and say what it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where to write it")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights (0)")
    given = parser.parse_args()
    folder = build(given.folder, given.seed)
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "pt") as weights:
        sizes = {name: weights.get_slice(name).get_shape() for name in weights.keys()}  # noqa: SIM118
    import math

    tower = sum(math.prod(s) for name, s in sizes.items() if "vision" in name)
    total = sum(math.prod(s) for s in sizes.values())
    print(
        f"{folder}: {total / 1e6:.1f} million parameters, {tower / 1e6:.1f} of them in the vision "
        f"tower; a square picture is {TOKENS} tokens."
    )


if __name__ == "__main__":
    main()
