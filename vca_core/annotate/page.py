"""One annotator's sheet as a single HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import NamedTuple

import numpy as np
from PIL import Image

from vca_core.annotate.edits import Edit
from vca_core.annotate.files import ANSWERS, CRITERIA

MAX_SIDE = 384
"""Longer side of a picture on the page, in pixels; smaller pictures stay as they are."""
JPEG_QUALITY = 92
"""High enough that no compression noise is taken for an artifact of the edit."""


class Shown(NamedTuple):
    """One item of a sheet: an edit under an opaque id, with its pictures as data URIs."""

    item: str
    edit: Edit
    pictures: tuple[str, str]


def picture_uris(source: Image.Image, edited: Image.Image) -> tuple[str, str]:
    """Scale two pictures for the page and embed both in the same encoding.

    Parameters
    ----------
    source, edited : Image, RGB

    Returns
    -------
    tuple of str
        Data URIs, both PNG or both JPEG, whichever is smaller in all: were only one of them JPEG,
        its noise would tell the pictures apart.
    """
    scaled = [_scaled(source), _scaled(edited)]
    ways = {
        "png": [_encoded(image, format="PNG", optimize=True) for image in scaled],
        "jpeg": [
            _encoded(image, format="JPEG", quality=JPEG_QUALITY, subsampling=0) for image in scaled
        ],
    }
    name = min(ways, key=lambda way: sum(map(len, ways[way])))
    first, second = (
        f"data:image/{name};base64,{base64.b64encode(data).decode()}" for data in ways[name]
    )
    return first, second


def _scaled(image: Image.Image) -> Image.Image:
    shrink = min(1.0, MAX_SIDE / max(image.size))
    size = tuple(max(1, round(side * shrink)) for side in image.size)
    # from bare pixels: comments and names in the file must not reach the page
    bare = Image.fromarray(np.asarray(image))
    return bare.resize(size, Image.Resampling.LANCZOS)


def _encoded(image: Image.Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


def render_page(sheet: str, number: int, items: Sequence[Shown]) -> str:
    """Write a sheet as HTML: inline style and script, pictures embedded, all text escaped.

    Parameters
    ----------
    sheet : str
        Opaque id; names the saved answers.
    number : int
        Of the annotator, from 1.
    items : sequence of Shown
        In the order to show.
    """
    folder = files("vca_core.annotate")
    read = {
        name: (folder / name).read_text("utf-8") for name in ("page.html", "page.css", "page.js")
    }
    return Template(read["page.html"]).substitute(
        style=read["page.css"],
        script=read["page.js"],
        sheet=escape(sheet),
        number=number,
        n=len(items),
        items="\n".join(_item(shown, place, len(items)) for place, shown in enumerate(items, 1)),
    )


def _item(shown: Shown, place: int, n: int) -> str:
    names = ("First picture", "Second picture")
    figures = "".join(
        f'<figure><figcaption>{name}</figcaption><img src="{uri}" alt="{name}"></figure>'
        for name, uri in zip(names, shown.pictures, strict=True)
    )
    questions = zip(CRITERIA, _sentences(shown.edit), strict=True)
    asked = "\n".join(_question(shown.item, criterion, *words) for criterion, words in questions)
    return (
        f'<article data-item="{escape(shown.item)}">\n<h2>Item {place} of {n}</h2>\n'
        f'<div class="pictures">{figures}</div>\n{asked}\n</article>'
    )


def _sentences(edit: Edit) -> tuple[tuple[str, str], ...]:
    """Put the criteria into words: the picture each is about, and the sentence to judge."""
    return (
        ("First picture", edit.statement),
        ("Second picture", edit.inverse),
        ("Second picture", f"Both objects can be seen: {edit.subject}, {edit.object}."),
        (
            "Second picture",
            "It is clean enough to judge. Smears, cut edges or leftovers, if there are any, do "
            "not get in the way.",
        ),
    )


def _question(item: str, criterion: str, where: str, sentence: str) -> str:
    name = escape(f"{item}-{criterion}")
    choices = "".join(
        f'<label><input type="radio" name="{name}" value="{answer}"> {answer.capitalize()}</label>'
        for answer in ANSWERS
    )
    return (
        f'<fieldset data-criterion="{criterion}"><legend><b>{where}:</b> {escape(sentence)}'
        f'</legend><div class="choices">{choices}</div></fieldset>'
    )
