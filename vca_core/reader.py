"""Read image files ahead of the model: decode once, make each picture, hash it, encode it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from vca_core.contexts import apply_context, open_image, pixel_sha256
from vca_core.interventions import ImageError
from vca_core.plan import FilePlan, Picture

if TYPE_CHECKING:
    from vca_core.backends.base import Encoded


class Seen(NamedTuple):
    """A picture's hash and size; ``encoded`` is the first prompt about it, where asked for."""

    sha256: str
    size: tuple[int, int]
    encoded: Encoded | None = None


class FileReader:
    """Reads the files of a plan; the items of a `torch.utils.data.DataLoader`.

    Parameters
    ----------
    plans : sequence of FilePlan
    image_dir : path or None
    encode : callable, optional
        From a text and a picture to the encoded prompt; without it pictures are hashed alone.
    """

    def __init__(
        self,
        plans: Sequence[FilePlan],
        image_dir: str | Path | None,
        encode: Callable[[str, Image.Image], Encoded] | None = None,
    ) -> None:
        self.plans = plans
        self.image_dir = image_dir or "."
        self.encode = encode
        self._blanks: dict[tuple[int, int], str] = {}

    def __len__(self) -> int:
        return len(self.plans)

    def __getitem__(self, place: int) -> list[Seen | str]:
        """Give what is seen of each picture of a file, in its plan's order, or why not."""
        plan = self.plans[place]
        try:
            image = open_image(self.image_dir, plan.name)
        except ImageError as error:
            return [str(error)] * len(plan.pictures)
        return [self._see(image, picture, plan) for picture in plan.pictures]

    def _see(self, image: Image.Image, picture: Picture, plan: FilePlan) -> Seen | str:
        if picture.context == "blank" and image.size in self._blanks:
            return Seen(self._blanks[image.size], image.size)
        try:
            shown = apply_context(image, picture.context, *picture.boxes)
            digest, encoded = pixel_sha256(shown), None
            if picture.context == "blank":
                self._blanks[image.size] = digest  # encoded by whoever shares it, once a size
            elif self.encode is not None:
                encoded = self.encode(plan.pictures[picture][0].text, shown)
        except (ImageError, RuntimeError, ValueError) as error:
            return str(error)
        return Seen(digest, shown.size, encoded)
