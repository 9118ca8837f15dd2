"""Reading of options that more than one command has."""

from __future__ import annotations

from vca_core.records import SchemaError


def pixel_budget(text: str | None) -> tuple[int, int] | None:
    """Read ``--pixels``: least and most, as two whole numbers."""
    if text is None:
        return None
    try:
        least, most = (int(part) for part in text.split(","))
    except ValueError:
        raise SchemaError(
            f"--pixels must be two whole numbers `least,most`, got {text!r}."
        ) from None
    return least, most
