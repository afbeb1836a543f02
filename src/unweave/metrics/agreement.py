"""How far metrics agree across models, and how sensitive a metric is to its own parameters."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.score import Score
from unweave.metrics.validation import check_count

Floats = NDArray[np.float64]
Kind = Literal["pearson", "kendall", "spearman"]
KINDS = ("pearson", "kendall", "spearman")


@dataclass(frozen=True)
class Agreement:
    """Correlations of metrics across models, with their 95 % intervals; all arrays are (metrics, metrics).

    Example:
        >>> agreement({"a": [1, 2, 3, 4], "b": [1, 2, 4, 3]}, kind="kendall").values.round(2).tolist()
        [[1.0, 0.67], [0.67, 1.0]]
    """

    kind: str
    names: tuple[str, ...]
    models: int
    values: Floats
    low: Floats
    high: Floats

    def score(self, one: str, two: str) -> Score:
        """The correlation of two metrics as a score."""
        for name in (one, two):
            if name not in self.names:
                raise unknown("metric", name, self.names)
        i, j = self.names.index(one), self.names.index(two)
        return Score(
            f"{self.kind} of {one} and {two}",
            float(self.values[i, j]),
            float(self.low[i, j]),
            float(self.high[i, j]),
            (-1.0, 1.0),
            True,
            "Kim & Mnih 2018 (FAC), section 6",
            {"models": self.models},
        )


def agreement(
    scores: Mapping[str, ArrayLike], *, kind: Kind = "spearman", resamples: int = 1_000, seed: int = 0
) -> Agreement:
    """Correlations of metrics across models: do they rank the same models first?

    Intervals are percentiles of bootstrap resamples of the models. A metric that gives all models the same value has
    correlation 0 with everything but itself.

    Args:
        scores: metric -> (models,) its value for each model, in one order.
        kind: ``pearson`` (linear), ``kendall`` (tau-b: pairs in the same order) or ``spearman`` (ranks).
        resamples: of the intervals.
        seed: of the resamples.

    References:
        Kim & Mnih 2018 (FAC), section 6; Locatello et al. 2019, figure 2.

    Example:
        >>> agreement({"mig": [0.1, 0.2, 0.4], "dci": [0.3, 0.5, 0.6]}).score("mig", "dci").value
        1.0

    """
    if kind not in KINDS:
        raise unknown("kind of agreement", kind, KINDS)
    resamples = check_count("resamples", resamples, 1)
    names = tuple(scores)
    try:
        table = np.stack([np.asarray(values, dtype=np.float64).reshape(-1) for values in scores.values()])
    except ValueError:
        raise UnweaveError(
            "scores must hold one number per model, the same models for every metric"
        ) from None
    if table.shape[1] < 3 or not np.all(np.isfinite(table)):
        raise UnweaveError(f"agreement needs finite scores of three models or more, got {table.shape[1]}")
    rng = np.random.default_rng(seed)
    values = _correlations(table[None], kind)[0]
    drawn = table[:, rng.integers(0, table.shape[1], (resamples, table.shape[1]))].transpose(1, 0, 2)
    found = _correlations(drawn, kind)
    # A resample that repeats one model contains no information on correlation.
    useless = (drawn.std(axis=2) < 1e-15).any(axis=1)
    found = found[~useless] if not useless.all() else found
    low, high = np.percentile(found, [2.5, 97.5], axis=0)
    return Agreement(kind, names, table.shape[1], values, np.minimum(low, values), np.maximum(high, values))


def _correlations(tables: Floats, kind: str) -> Floats:
    """(resamples, metrics, models) -> (resamples, metrics, metrics)."""
    if kind == "kendall":
        signs = np.sign(tables[..., :, None] - tables[..., None, :]).reshape(*tables.shape[:2], -1)
        features = signs
    else:
        if kind == "spearman":
            from scipy.stats import rankdata

            tables = rankdata(tables, axis=2)
        features = tables - tables.mean(axis=2, keepdims=True)
    lengths = np.sqrt(np.sum(features**2, axis=2))
    size = lengths[:, :, None] * lengths[:, None, :]
    products = np.einsum("rin,rjn->rij", features, features)
    values = np.divide(
        products, size, out=np.zeros_like(products), where=size > 1e-12 * np.maximum(1, size.max())
    )
    each = np.arange(tables.shape[1])
    values[:, each, each] = 1.0
    clipped: Floats = np.clip(np.round(values, 14), -1.0, 1.0)
    return clipped


@dataclass(frozen=True)
class Sensitivity:
    """A metric for every combination of some of its parameters: ``means`` and ``deviations`` over seeds.

    ``grid`` holds the parameters and their values; the arrays have one axis for each, in that order.

    Example:
        >>> Sensitivity("m", {"L": [1, 2]}, 3, np.array([0.5, 0.6]), np.array([0.1, 0.0])).table()
        [['L', 'mean', 'deviation'], ['1', '0.5000', '0.1000'], ['2', '0.6000', '0.0000']]
    """

    name: str
    grid: Mapping[str, Sequence[Any]]
    seeds: int
    means: Floats
    deviations: Floats

    def table(self) -> list[list[str]]:
        """A header and a line for every combination."""
        lines = [[*self.grid, "mean", "deviation"]]
        for place, values in zip(
            np.ndindex(self.means.shape), itertools.product(*self.grid.values()), strict=True
        ):
            lines.append([*map(str, values), f"{self.means[place]:.4f}", f"{self.deviations[place]:.4f}"])
        return lines


def sensitivity(
    metric: Callable[..., Score],
    codes: ArrayLike,
    factors: ArrayLike,
    grid: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 10,
) -> Sensitivity:
    """Mean and standard deviation, over seeds, of a metric for every combination of the parameters in ``grid``.

    Args:
        metric: ``f(codes, factors, rng, **parameters) -> Score``, e.g. ``factor_vae_score``.
        codes: (n, latents) of one fixed model.
        factors: (n, K).
        grid: parameter -> values, e.g. {"samples": [10, 100], "votes": [100, 800]}.
        seeds: how many.

    References:
        Kim & Mnih 2018 (FAC), figures 16 (beta-VAE score) and 17 (FactorVAE score).

    Example:
        >>> from unweave.metrics import factor_vae_score
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
        >>> sensitivity(factor_vae_score, v * 1.0, v, {"samples": [4], "votes": [50, 100]}, seeds=2).means.tolist()
        [[1.0, 1.0]]

    """
    seeds = check_count("seeds", seeds, 2)
    if not grid or any(len(values) == 0 for values in grid.values()):
        raise UnweaveError("grid must name at least one parameter, with at least one value each")
    shape = tuple(len(values) for values in grid.values())
    found = np.empty((*shape, seeds))
    name = ""
    for place, values in zip(np.ndindex(shape), itertools.product(*grid.values()), strict=True):
        for seed in range(seeds):
            score = metric(
                codes, factors, np.random.default_rng(seed), **dict(zip(grid, values, strict=True))
            )
            found[(*place, seed)], name = score.value, score.name
    return Sensitivity(name, dict(grid), seeds, found.mean(axis=-1), found.std(axis=-1, ddof=1))
