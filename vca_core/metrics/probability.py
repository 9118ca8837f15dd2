"""Differences of two-way probabilities that keep their digits, and their ties."""

from __future__ import annotations

import numpy as np

_LARGEST = 700.0
"""Nats; beyond it a hyperbolic sine overflows, and no margin lies."""


def probability_difference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""Difference of two probabilities given by their log odds.

    .. math:: \sigma(x) - \sigma(y) = \frac{\sinh((x - y) / 2)}{2 \cosh(x / 2) \cosh(y / 2)}

    Parameters
    ----------
    x, y : ndarray of float
        Log odds in nats; NaN stays NaN.

    Returns
    -------
    ndarray of float
        With the sign of ``x - y`` even where both probabilities are all but 1, and exactly equal
        for ``(x, y)`` and ``(-y, -x)``, which a difference of rounded probabilities is not.
    """
    x, y = (np.clip(np.asarray(v, dtype=float), -_LARGEST, _LARGEST) for v in (x, y))
    return np.sinh((x - y) / 2) / (2 * np.cosh(x / 2) * np.cosh(y / 2))
