"""Confidence intervals that treat a problem, with all its repeats, as one observation.

Repeats and seeds of one problem resemble each other far more than two problems do, so resampling
single trials would give intervals that are much too narrow.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 0
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate and both ends of its 95 % percentile interval."""

    estimate: float
    low: float
    high: float


def cluster_interval(
    totals: Sequence[float],
    sizes: Sequence[float] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """Bootstrap ``sum(totals) / sum(sizes)`` over clusters; None when there is nothing to average.

    ``totals`` and ``sizes`` hold one number a problem; without ``sizes`` every problem weighs the
    same, and the estimate is the mean of ``totals``. Resamples without any weight are left out.
    """
    numerator = np.asarray(totals, dtype=float)
    denominator = np.ones_like(numerator) if sizes is None else np.asarray(sizes, dtype=float)
    if denominator.sum() == 0:
        return None
    estimate = float(numerator.sum() / denominator.sum())
    draws = _draws(len(numerator), resamples, seed)
    if sizes is None:
        drawn = draws @ (numerator / len(numerator))
    else:
        weight = draws @ denominator
        drawn = (draws @ numerator)[weight > 0] / weight[weight > 0]
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(drawn, (tail, 100 - tail))
    return Interval(estimate, float(low), float(high))


@functools.lru_cache(maxsize=4)
def _draws(clusters: int, resamples: int, seed: int) -> NDArray[np.float64]:
    """How often each cluster is drawn in each resample (one row a resample)."""
    shares = np.full(clusters, 1 / clusters)
    return np.random.default_rng(seed).multinomial(clusters, shares, size=resamples).astype(np.float64)
