"""What several test files share."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # `models`, which is no part of the installed package

FAMILIES = ("qwen3_vl", "internvl", "llava_onevision", "ministral3")


@pytest.fixture
def rng():
    return np.random.default_rng(20260719)


@pytest.fixture
def toy():
    pytest.importorskip("torch", reason="live extra is not installed")
    from vca_core.backends import ToyBackend

    return ToyBackend()


@pytest.fixture(scope="session")
def picture_dir(tmp_path_factory):
    """Five pictures of different sizes and contents."""
    folder = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(5)
    for number, size in enumerate([(64, 48), (48, 64), (100, 30), (33, 95), (64, 64)]):
        pixels = generator.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"p{number}.png")
    return folder


@pytest.fixture(scope="session")
def miniatures(tmp_path_factory):
    """Random-weight checkpoint folder of each family."""
    pytest.importorskip("torch", reason="live extra is not installed")
    from models.miniatures import FAMILIES as builders

    folder = tmp_path_factory.mktemp("miniatures")
    for name, build in builders.items():
        model, processor = build(3)
        model.save_pretrained(folder / name)
        processor.save_pretrained(folder / name)
    return folder


@pytest.fixture(scope="session")
def load_miniature(miniatures):
    """Backend of a family's miniature, loaded once."""
    from vca_core.backends import load_backend

    loaded = {}

    def load(family):
        if family not in loaded:
            loaded[family] = load_backend(str(miniatures / family))
        return loaded[family]

    return load


@pytest.fixture
def make_samples():
    """Pairs of statements on the pictures of `picture_dir`."""
    from vca_core.records import Sample

    def make(n_pairs=2, dataset="things"):
        samples = []
        for number in range(n_pairs):
            for polarity, word in (("true", "left"), ("false", "right")):
                phrase = f"the cup to the {word} of the {'very old ' * (number % 3)}book"
                samples.append(
                    Sample(
                        sample_id=f"s{number}-{polarity}",
                        dataset=dataset,
                        image=f"p{number % 5}.png",
                        question=f"Is {phrase}?",
                        statement=f"The cup is to the {word} of the book.",
                        label="yes" if polarity == "true" else "no",
                        pair_id=f"s{number}",
                        polarity=polarity,
                        relation=word,
                    )
                )
        return samples

    return make
