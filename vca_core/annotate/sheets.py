"""Write the sheets of an audit and the key that reads them back."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vca_core.annotate.edits import Edit
from vca_core.annotate.files import KEY_FORMAT, Key, KeyItem, KeySheet
from vca_core.annotate.page import Shown, picture_uris, render_page
from vca_core.contexts import ImageError, open_image
from vca_core.records import SchemaError


def export_sheets(
    edits: Sequence[Edit],
    images: str | Path,
    out_dir: str | Path,
    *,
    annotators: int = 3,
    repeats: float = 0.10,
    rng: np.random.Generator,
) -> Path:
    """Write one blinded, shuffled sheet an annotator, and the key.

    A sheet is a single HTML page that loads nothing from outside. It shows the source and the
    edited picture of each edit under an id that says nothing, in an order of its own. Some edits of
    the first half come again in the last quarter, under another id.

    Parameters
    ----------
    edits : sequence of Edit
        From `edits_from_samples`.
    images : path
        Folder of the pictures.
    out_dir : path
        Gets ``key.json``, which stays with the coordinator, and ``sheets/sheet-1.html`` and on.
    annotators : int
        Three in [liu2026visual]_, Sec. 17.
    repeats : float
        Share of the edits shown twice, 0 to 0.5; rounded, at least one edit when above 0.
    rng : Generator
        The same seed, edits and pictures give the same files.

    Returns
    -------
    path
        Of the key.

    Raises
    ------
    SchemaError
        If an edit stands twice, a picture cannot be used, a number is out of range, or `out_dir`
        holds a key already.
    """
    out_dir = Path(out_dir)
    key_path = out_dir / "key.json"
    _check(edits, annotators, repeats, key_path)
    pictures, digest = {}, hashlib.sha256()
    for edit in edits:
        try:
            both = [open_image(images, name) for name in (edit.source, edit.edited)]
        except ImageError as error:
            raise SchemaError(f"edit_id {edit.edit_id!r}: {error}.") from None
        pictures[edit.edit_id] = picture_uris(*both)
        digest.update(json.dumps([edit, pictures[edit.edit_id]]).encode())
    orders = [_order(len(edits), repeats, rng) for _ in range(annotators)]
    # 48 random bits a place, drawn without replacement
    drawn = rng.choice(2**48, size=sum(map(len, orders)), replace=False)
    names = iter([f"{number:012x}" for number in drawn])
    plans = [[(next(names), edits[i], showing) for i, showing in order] for order in orders]
    digest.update(json.dumps(plans).encode())
    # of everything shown, so that a sheet of another export never passes for one of this
    key_id = digest.hexdigest()[:16]
    sheets = []
    (out_dir / "sheets").mkdir(parents=True, exist_ok=True)
    for number, plan in enumerate(plans, start=1):
        sheet, file = f"{key_id}-{number}", f"sheets/sheet-{number}.html"
        shown = [Shown(item, edit, pictures[edit.edit_id]) for item, edit, _ in plan]
        page = render_page(sheet, number, shown)
        (out_dir / file).write_text(page, encoding="utf-8", newline="\n")
        items = [KeyItem(item=i, edit_id=edit.edit_id, showing=s) for i, edit, s in plan]
        sheets.append(KeySheet(sheet=sheet, annotator=number, file=file, items=items))
    key = Key(format=KEY_FORMAT, key=key_id, sheets=sheets)
    key_path.write_text(key.model_dump_json(indent=1) + "\n", encoding="utf-8", newline="\n")
    return key_path


def _check(edits: Sequence[Edit], annotators: int, repeats: float, key_path: Path) -> None:
    twice = [name for name, n in Counter(edit.edit_id for edit in edits).items() if n > 1]
    if twice or not edits:
        got = f"{twice[0]!r} twice" if twice else "none"
        raise SchemaError(f"An audit needs edits with an `edit_id` of their own, got {got}.")
    if annotators < 1:
        raise SchemaError(f"`annotators` must be at least 1, got {annotators}.")
    if not 0 <= repeats <= 0.5:
        raise SchemaError(f"`repeats` must be a share from 0 to 0.5, got {repeats}.")
    if key_path.exists():
        raise SchemaError(
            f"{key_path.resolve()} is there already; sheets sent out can be read with it alone. "
            "Name another folder, or delete it by hand."
        )


def _order(n: int, repeats: float, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Edits by number in a random order, as (edit, showing).

    Repeats are edits of the first half, mixed into the last quarter, so that at least a quarter of
    the sheet lies between the two showings.
    """
    order = rng.permutation(n)
    n_repeats = max(1, round(repeats * n)) if repeats else 0
    again = rng.choice(order[: math.ceil(n / 2)], size=n_repeats, replace=False)
    start = math.ceil(3 * n / 4)
    tail = [(i, 1) for i in order[start:]] + [(i, 2) for i in again]
    mixed = [tail[i] for i in rng.permutation(len(tail))]
    return [(int(i), showing) for i, showing in [*((i, 1) for i in order[:start]), *mixed]]
