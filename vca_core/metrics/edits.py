"""The edit check: what a model says once the two objects of a picture have changed places."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import finite_margin, require_columns
from vca_core.records import SchemaError

ROLES = (
    "source_queried",
    "source_inverse",
    "edited_queried",
    "edited_inverse",
    "subject_present",
    "object_present",
)
"""The six probes of an edit: the queried relation, true of the source, and its inverse, before and
after; and whether each object is in the edited picture."""
TARGETS = ("edit_relation", "edit_visible", "edit_strict")
"""The three outcomes, each part of the one before; the second is the primary one."""
AXES = {
    "horizontal": {"left", "right"},
    "vertical": {"above", "below"},
    "depth": {"front", "behind"},
}
"""Words of a relation that name its axis."""
_STATEMENT = ("direction", "margin_original", "image_gap", "dependent", "correct", "dcc")
_PAIR = ("relation_consistent", "pair_dependent", "joint", "pair_credit", "interaction_gap")


def source_records(audit: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Put a pair's events beside those of its true statement, the only one that predicts.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`, of the statements of the pairs (further rows are passed over).
    pairs : DataFrame, one row per (model, dataset, pair_id)
        From `audit_pairs`: ``sample_id`` of the true statement and the pair's events; ``relation``
        where it is known.

    Returns
    -------
    DataFrame, one row per row of `pairs`, in their order
        ``model, dataset, pair_id, sample_id, relation``; ``axis`` in {"horizontal", "vertical",
        "depth", null}; of the true statement ``direction``, ``margin_original`` and
        ``confidence`` (its absolute value) and ``image_gap`` in nats, ``dependent``, ``correct``,
        ``dcc``; of the pair ``relation_consistent``, ``pair_dependent``, ``joint``,
        ``pair_credit`` and ``interaction_gap`` (nats); and ``false_only``, whether the false
        statement is rejected, null where the true one is not accepted.

    Raises
    ------
    SchemaError
        If a column is missing, or the true statement of a pair does not stand in `audit` once.

    Notes
    -----
    Statement gaps are not aggregated over a pair. Source: [liu2026visual]_, Sec. 15.
    """
    key = ["model", "dataset", "sample_id"]
    require_columns(audit, (*key, *_STATEMENT), " Call `audit_support` first.")
    require_columns(pairs, (*key, "pair_id", *_PAIR), " Call `audit_pairs` first.")
    _one_surface(audit, pairs)
    if "relation" not in pairs.columns:
        pairs = pairs.assign(relation=None)
    wanted = audit[[*key, *_STATEMENT]].merge(pairs[key])
    twice = wanted.duplicated(key)
    if twice.any():
        row = wanted[twice].iloc[0]
        raise SchemaError(
            f"The true statement of a pair must stand once in `audit`, got sample_id "
            f"{row['sample_id']!r} (model {row['model']!r}) more than once."
        )
    names = [*key, "pair_id", "relation", *_PAIR]
    found = pairs[names].merge(wanted, on=key, how="left", indicator=True)
    lost = (found["_merge"] == "left_only").to_numpy()
    if lost.any():
        row = found[lost].iloc[0]
        raise SchemaError(
            f"Every pair needs its true statement in `audit`, got none for sample_id "
            f"{row['sample_id']!r} (model {row['model']!r}, {lost.sum()} of {len(found)} pairs)."
        )
    found["axis"] = pd.Series([axis_of(r) for r in found["relation"]], found.index, dtype=object)
    found["confidence"] = found["margin_original"].abs()
    consistent = found["relation_consistent"].astype("boolean")
    found["false_only"] = consistent.where((found["direction"] > 0).to_numpy())
    first = ["model", "dataset", "pair_id", "sample_id", "relation", "axis"]
    numbers = ["direction", "margin_original", "confidence", "image_gap"]
    return found[[*first, *numbers, "dependent", "correct", "dcc", *_PAIR, "false_only"]]


def axis_of(relation: str | None) -> str | None:
    """Name the axis of a relation by its words: "to the left of" is horizontal; else None."""
    words = set(re.findall("[a-z]+", relation.lower())) if isinstance(relation, str) else set()
    return next((axis for axis, names in AXES.items() if words & names), None)


def edit_outcomes(edits: pd.DataFrame, audit: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    r"""Judge each edit by its six probes, beside what the audit said of its source.

    .. math::
        E^{\mathrm{rel}} &= (1 - z(q, I'))\, z(q', I') \\
        E^{\mathrm{vis}} &= E^{\mathrm{rel}} z(s, I')\, z(o, I') \\
        E^{\mathrm{strict}} &= E^{\mathrm{vis}} z(q, I)\, (1 - z(q', I))

    where :math:`z` says whether the model answers yes (margin at least 0), :math:`q` asks for the
    relation that holds in the source :math:`I`, :math:`q'` for its inverse, which holds in the
    edited picture :math:`I'`, and :math:`s` and :math:`o` ask whether each object is there.

    Parameters
    ----------
    edits : DataFrame, one row per (model, dataset, edit_id, probe_role)
        ``sample_id``, ``pair_id`` of the source, ``probe_role`` in `ROLES`, and
        ``margin_original`` in nats.
    audit, pairs : DataFrame
        Of the sources, as in `source_records`.

    Returns
    -------
    DataFrame, one row per (model, edit_id), in order of first appearance
        ``model, dataset, edit_id``; all columns of `source_records` for the source but
        ``dataset`` and ``false_only`` (``sample_id`` is the true statement's); and the booleans
        ``edit_relation``, ``edit_visible`` (flip and visibility, the primary outcome),
        ``edit_strict``, and ``source_consistent``, the source condition of the strict one.

    Raises
    ------
    SchemaError
        If a column is missing, a margin is not finite, a role of an edit is missing, unknown or
        doubled, the pair of an edit has no scores or stands twice, or the frames are of different
        interfaces.

    Notes
    -----
    Only edits whose construction was checked should enter. Source: [liu2026visual]_, Sec. 15.
    """
    answers = _answers(edits)
    _one_surface(edits, audit, pairs)
    sources = source_records(audit, pairs).drop(columns=["dataset", "false_only"])
    twice = sources.duplicated(["model", "pair_id"])
    if twice.any():
        row = sources[twice].iloc[0]
        raise SchemaError(
            f"A pair must stand once, got pair_id {row['pair_id']!r} (model {row['model']!r}) in "
            "several data sets; select the one that the edits were made from."
        )
    found = answers.merge(sources, on=["model", "pair_id"], how="left", indicator=True)
    lost = (found["_merge"] == "left_only").to_numpy()
    if lost.any():
        row = found[lost].iloc[0]
        raise SchemaError(
            f"The pair of every edit needs scores, got none for pair_id {row['pair_id']!r} of "
            f"edit_id {row['edit_id']!r} (model {row['model']!r}, {lost.sum()} of {len(found)} "
            "edits); score the pairs, or leave these edits out."
        )
    z = {role: found.pop(role).to_numpy(dtype=bool) for role in ROLES}
    relation = ~z["edited_queried"] & z["edited_inverse"]
    visible = relation & z["subject_present"] & z["object_present"]
    consistent = z["source_queried"] & ~z["source_inverse"]
    return found.drop(columns="_merge").assign(
        edit_relation=relation,
        edit_visible=visible,
        edit_strict=visible & consistent,
        source_consistent=consistent,
    )


def _answers(edits: pd.DataFrame) -> pd.DataFrame:
    """Whether the model says yes to each probe; one row per edit, one column per role."""
    key = ["model", "dataset", "edit_id"]
    require_columns(edits, (*key, "sample_id", "pair_id", "probe_role"))
    says_yes = finite_margin(edits, "original") >= 0
    for column, rule in (("edit_id", None), ("pair_id", None), ("probe_role", ROLES)):
        wrong = edits[column].isna() if rule is None else ~edits[column].isin(rule)
        if wrong.any():
            row = edits[wrong].iloc[0]
            need = "be given" if rule is None else f"be one of {', '.join(rule)}"
            raise SchemaError(
                f"`{column}` must {need}, got {row[column]!r} for sample_id {row['sample_id']!r} "
                f"(model {row['model']!r}, {wrong.sum()} of {len(edits)} rows)."
            )
    twice = edits.duplicated([*key, "probe_role"])
    if twice.any():
        _refuse_role(edits[twice].iloc[0], edits[twice].iloc[0]["probe_role"], "more than one")
    first = edits[[*key, "pair_id"]].drop_duplicates(key)
    wide = edits.assign(says_yes=says_yes).pivot(index=key, columns="probe_role", values="says_yes")
    wide = wide.reindex(columns=ROLES)
    found = first.merge(wide.reset_index(), on=key)
    for role in ROLES:
        missing = found[role].isna()
        if missing.any():
            _refuse_role(found[missing].iloc[0], role, "none", f", {missing.sum()} of {len(found)}")
    return found


def _refuse_role(row: pd.Series, role: str, got: str, count: str = "") -> None:
    raise SchemaError(
        f"An edit needs one record of each `probe_role`, got {got} of {role!r} for edit_id "
        f"{row['edit_id']!r} (model {row['model']!r}{count})."
    )


def _one_surface(*frames: pd.DataFrame) -> None:
    """Refuse frames of different interfaces or wordings, which would be joined in silence."""
    for column in ("interface", "wording"):
        found = {value for f in frames if column in f for value in f[column].dropna().unique()}
        if len(found) > 1:
            got = ", ".join(map(repr, sorted(found)))
            raise SchemaError(f"All records must share one `{column}`, got {got}; select one.")


def restrict_edits(
    edits: pd.DataFrame, pairs: pd.DataFrame, edit_ids: Sequence[str]
) -> pd.DataFrame:
    """Keep the rows of the edits named, where the model's scores of their pair are there too.

    Raises
    ------
    SchemaError
        If a column is missing, or nothing is left.
    """
    require_columns(edits, ("model", "edit_id", "pair_id"))
    require_columns(pairs, ("model", "pair_id"))
    scored = pd.MultiIndex.from_frame(pairs[["model", "pair_id"]])
    has_pair = np.asarray(pd.MultiIndex.from_frame(edits[["model", "pair_id"]]).isin(scored))
    named = edits["edit_id"].isin(list(edit_ids)).to_numpy()
    if not (has_pair & named).any():
        raise SchemaError(
            f"Some edit must be accepted and have the scores of its pair, got none of "
            f"{edits['edit_id'].nunique()} edits ({edits.loc[named, 'edit_id'].nunique()} "
            f"accepted, {edits.loc[has_pair, 'edit_id'].nunique()} with scores); score more pairs."
        )
    return edits[has_pair & named]
