"""Image controls: sizes, colours, orientation, unreadable files, and the mismatch cycle."""

import numpy as np
import pytest
from PIL import Image

from vca_core.contexts import (
    BOX_CONTEXTS,
    ImageError,
    apply_context,
    mismatch_assignment,
    open_image,
    pixel_sha256,
)
from vca_core.interventions import erase_irrelevant, erase_relation, swap_objects
from vca_core.records import Sample, SchemaError


def test_open_image_turns_by_exif_before_everything(tmp_path):
    picture = Image.new("RGB", (24, 16), "white")
    picture.paste((255, 0, 0), (0, 0, 12, 16))  # red on the left as stored
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned a quarter clockwise: red on top
    picture.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    upright = open_image(tmp_path, "turned.jpg")
    assert upright.size == (16, 24)
    assert apply_context(upright, "blank").size == (16, 24)
    top, bottom = np.asarray(upright)[2, 8], np.asarray(upright)[21, 8]
    assert top[0] > 200 > 100 > top[1] and bottom[1] > 200


@pytest.mark.parametrize(
    ("mode", "color", "expected"),
    [
        ("1", 1, (255, 255, 255)),
        ("L", 40, (40, 40, 40)),
        ("P", 0, (0, 0, 0)),
        ("LA", (10, 0), (255, 255, 255)),
        ("RGBA", (255, 0, 0, 0), (255, 255, 255)),
        ("CMYK", (0, 0, 0, 0), (255, 255, 255)),
        ("I;16", 32896, (128, 128, 128)),
        ("F", 3.0, (255, 255, 255)),
    ],
)
def test_open_image_takes_every_mode(tmp_path, mode, color, expected):
    name = "x.tiff"
    Image.new(mode, (5, 4), color).save(tmp_path / name)
    got = open_image(tmp_path, name)
    assert got.mode == "RGB" and got.getpixel((2, 2)) == expected


@pytest.mark.parametrize("kind", ["cut", "empty", "html"])
def test_open_image_refuses_what_is_no_whole_image(tmp_path, picture_dir, kind):
    Image.open(picture_dir / "p0.png").save(tmp_path / "x.jpg")
    whole = (tmp_path / "x.jpg").read_bytes()
    content = {"cut": whole[: len(whole) // 3], "empty": b"", "html": b"<html>404</html>"}[kind]
    (tmp_path / "x.jpg").write_bytes(content)
    with pytest.raises(ImageError, match="'x.jpg' cannot be read") as caught:
        open_image(tmp_path, "x.jpg")
    assert str(tmp_path) not in str(caught.value)


def test_open_image_stays_below_its_root(tmp_path, picture_dir):
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.png").symlink_to(picture_dir / "p0.png")
    for name in ("../outside.png", str(picture_dir / "p0.png"), "link.png"):
        with pytest.raises(ImageError, match="must lie inside"):
            open_image(root, name)
    with pytest.raises(ImageError, match="missing"):
        open_image(root, "none.png")
    with pytest.raises(ImageError, match="no usable path"):
        open_image(root, "a\0b.png")
    with pytest.raises(ImageError, match="cannot be read"):
        open_image(root, ".")


def test_apply_context_blank_and_mean_color_are_uniform_and_of_the_same_size(picture_dir):
    picture = open_image(picture_dir, "p2.png")
    blank, mean = (np.asarray(apply_context(picture, c)) for c in ("blank", "mean_color"))
    assert blank.shape == mean.shape == (30, 100, 3)
    assert (blank == 128).all()
    assert (mean == np.rint(np.asarray(picture, float).mean((0, 1)))).all()
    assert apply_context(picture, "original") is picture
    assert apply_context(picture, "text_only") is None
    with pytest.raises(SchemaError, match="'grey' cannot be made"):
        apply_context(picture, "grey")


@pytest.mark.parametrize("context", BOX_CONTEXTS)
def test_apply_context_makes_each_box_context_from_its_boxes(context):
    if context == "swapped":
        pytest.importorskip("cv2", reason="OpenCV is not installed")
    pixels = np.random.default_rng(1).integers(0, 256, (120, 160, 3), dtype=np.uint8)
    picture, boxes = Image.fromarray(pixels), ((20.0, 30.0, 20.0, 20.0), (90.0, 40.0, 16.0, 24.0))
    got = apply_context(picture, context, *boxes)
    assert got.size == picture.size and pixel_sha256(got) != pixel_sha256(picture)
    assert (np.asarray(picture) == pixels).all()
    make = {"relation_erased": erase_relation, "irrelevant_erased": erase_irrelevant}
    assert got.tobytes() == make.get(context, swap_objects)(picture, *boxes).tobytes()
    for some in ((boxes[0], None), (None, boxes[1]), ()):
        with pytest.raises(ImageError, match=f"'{context}' needs `subject_box` and `object_box`"):
            apply_context(picture, context, *some)
    assert apply_context(picture, "original", *boxes) is picture


def test_apply_context_refuses_a_swap_that_geometry_forbids():
    picture = Image.new("RGB", (60, 60))
    with pytest.raises(ImageError, match="cannot be swapped: small_center_gap"):
        apply_context(picture, "swapped", (20.0, 20.0, 9.0, 9.0), (21.0, 20.0, 9.0, 9.0))


def test_pixel_sha256_sees_pixels_and_shape_but_not_the_file(tmp_path, picture_dir):
    picture = open_image(picture_dir, "p4.png")
    picture.save(tmp_path / "again.bmp")
    assert pixel_sha256(open_image(tmp_path, "again.bmp")) == pixel_sha256(picture)
    assert pixel_sha256(Image.new("RGB", (2, 8))) != pixel_sha256(Image.new("RGB", (8, 2)))
    changed = picture.copy()
    changed.putpixel((0, 0), tuple(255 - v for v in picture.getpixel((0, 0))))
    assert pixel_sha256(changed) != pixel_sha256(picture)


def sample(number, image, split="test"):
    return Sample(
        sample_id=str(number), dataset="d", split=split, image=image, question="Q?", label="no"
    )


@pytest.mark.parametrize("n", [2, 3, 17])
def test_mismatch_assignment_is_one_cycle_without_fixed_points(n, rng):
    samples = [sample(i, f"{i % n}.png") for i in range(2 * n)]
    partners = mismatch_assignment(samples)
    assert sorted(partners) == sorted(partners.values())
    seen, image = [], "0.png"
    while image not in seen:
        seen.append(image)
        image = partners[image]
    assert len(seen) == n and image == "0.png"
    shuffled = [samples[i] for i in rng.permutation(2 * n)]
    assert mismatch_assignment(shuffled) == partners


def test_mismatch_assignment_stays_in_its_split_and_needs_two_images():
    samples = [sample(i, f"{i}.png", "a" if i < 3 else "b") for i in range(6)]
    partners = mismatch_assignment(samples)
    assert all((int(a[0]) < 3) == (int(b[0]) < 3) for a, b in partners.items())
    with pytest.raises(SchemaError, match="two images in a split, got 1 in 'd'/'test'"):
        mismatch_assignment([sample(0, "x.png"), sample(1, "x.png")])
