"""What an audit asks for more than once: prompts, and the pictures that they show."""

from __future__ import annotations

import pandas as pd

from vca_core.metrics.checks import require_columns

COUNTS = ("n_statements", "n_plain", "n_prompts", "n_distinct", "n_shown", "n_pictures")


def repetition(rows: pd.DataFrame) -> pd.DataFrame:
    r"""Count the prompts of an audit, the different ones among them, and the pictures they show.

    .. math:: \text{prompts per picture} = \frac{|\{(p, v)\}|}{|\{v\}|}, \qquad
        \text{pictures per plain prompt} = \frac{|\{v\}|}{N_o}

    over the different pairs of a prompt's text :math:`p` and a picture's pixels :math:`v`, and the
    :math:`N_o` prompts on original pictures, which are what an accuracy run asks.

    Parameters
    ----------
    rows : DataFrame, one row per (sample, context, interface, wording), as in a scores file
        ``model``, ``dataset``, ``sample_id``, ``context``, ``prompt_sha256`` and ``image_sha256``
        (null without a picture). Rows without a prompt's hash, as imported ones, are not counted.

    Returns
    -------
    DataFrame, one row per model and data set
        ``n_statements``; ``n_plain`` prompts on originals; ``n_prompts`` in all and ``n_distinct``
        ones, of which ``n_shown`` show a picture; ``n_pictures`` different pictures;
        ``prompts_per_picture`` and ``pictures_per_plain``, NaN where there are none to divide by.

    Raises
    ------
    SchemaError
        If a column is missing.
    """
    run = ["model", "dataset"]
    asked = ["prompt_sha256", "image_sha256"]
    require_columns(rows, (*run, "sample_id", "context", *asked))
    known = rows[rows["prompt_sha256"].notna()]
    distinct = known.drop_duplicates([*run, *asked])
    shown = distinct[distinct["image_sha256"].notna()]
    groups = known.groupby(run, sort=False)
    found = pd.DataFrame(
        {
            "n_statements": groups["sample_id"].nunique(),
            "n_plain": known[known["context"] == "original"].groupby(run).size(),
            "n_prompts": groups.size(),
            "n_distinct": distinct.groupby(run).size(),
            "n_shown": shown.groupby(run).size(),
            "n_pictures": shown.groupby(run)["image_sha256"].nunique(),
        }
    )
    found = found.reindex(groups.size().index).fillna(0).astype(int)
    found["prompts_per_picture"] = found["n_shown"] / found["n_pictures"].where(
        found["n_pictures"] > 0
    )
    found["pictures_per_plain"] = found["n_pictures"] / found["n_plain"].where(found["n_plain"] > 0)
    return found.reset_index()


def token_ratio(picture_share: float, prompts_per_picture: float, n_contexts: int = 3) -> float:
    r"""Tokens of an audit with shared prefixes over those of an accuracy run without.

    .. math:: \rho = \frac{x}{k} + C\,(1 - x)

    where :math:`x` is the share of a prompt on an original that comes before the question, the
    picture above all, :math:`k` the prompts that ask about one original and :math:`C` the contexts.
    The prefixes of the blanks and of text only, run once for many prompts, are left out: a lower
    bound.

    Parameters
    ----------
    picture_share : float or array, in [0, 1]
    prompts_per_picture : float, at least 1
    n_contexts : int

    Returns
    -------
    float or array, without a unit
        At most ``n_contexts``, which is what an audit costs where nothing is shared.

    Raises
    ------
    ValueError
        If there is less than one prompt per picture.
    """
    if prompts_per_picture < 1:
        raise ValueError(f"A picture has at least one prompt, got {prompts_per_picture}.")
    return picture_share / prompts_per_picture + n_contexts * (1 - picture_share)
