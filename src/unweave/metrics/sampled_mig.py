"""MIG as its authors define it: from samples of q(z), with the exact mixture over the data set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, check_choice
from unweave.metrics.aggregate import Mixture, log_joint
from unweave.metrics.information import class_entropies
from unweave.metrics.interval_limits import uncounted
from unweave.metrics.mig import leading_gaps
from unweave.metrics.score import Score, clipped
from unweave.metrics.validation import (
    Floats,
    Integers,
    check_count,
    check_pair,
    check_scales,
    drop_columns,
    factor_classes,
)

Mode = Literal["paper", "beta_tcvae", "disentangling_vae"]
MODES = ("paper", "beta_tcvae", "disentangling_vae")


def sampled_mig(
    means: ArrayLike,
    scales: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator,
    *,
    mode: Mode = "paper",
    samples: int = 10_000,
    drop: Sequence[int] = (),
    interval: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Score:
    """MIG of the aggregate posterior: nothing is binned, q(z_j) is the mixture over all images given.

        I(z_j; v_k) = H(z_j) - sum_v p(v) H(z_j | v_k = v),   H(z_j) = -E log (1/N) sum_n q(z_j | x_n),

    each entropy averaged over ``samples`` draws, H(z_j | v) over draws and with the mixture of the images that have
    that value, p(v) being their share; then MIG = mean_k (I_(1)k - I_(2)k) / H(v_k), informations between 0 and H(v_k),
    as errors of few draws may lie outside. The densities are exact to about 1e-4 (see
    :func:`unweave.metrics.log_marginals`), so the interval, that of the averages, is all the error (but of a few
    hundred draws the second-best latent seems better than it is, where a third comes close to it): give the codes of
    the *whole* data set; 737,280 images take a minute or two and less than 4 GB.

    Modes: ``paper``; ``beta_tcvae``: p(v) = 1 / |V_k| and normalised by log |V_k| (equal for a full grid; its authors
    also drop the shape of dSprites, ``drop=(0,)``); ``disentangling_vae``: as that, but the entropies are averaged over
    the posterior *means* instead of samples (its transposed index is an error and not copied).

    Args:
        means: (N, latents) posterior means.
        scales: (N, latents) posterior standard deviations.
        factors: (N, K) factor values; continuous ones are cut into 20 bins.
        rng: source of the draws.
        mode: whose definition.
        samples: draws per entropy.
        drop: columns of ``factors`` to drop.
        interval: whether to compute one.
        tell: called with a line of text on the progress.

    References:
        Chen et al. 2018, section 4 and appendix C.

    Example:
        >>> v = np.stack(np.meshgrid(range(10), range(10)), -1).reshape(-1, 2)
        >>> round(sampled_mig(v, 0 * v + 0.01, v, np.random.default_rng(0), samples=500).value, 1)
        1.0

    """
    check_choice("mode of sampled_mig", mode, MODES)
    samples = check_count("samples", samples, 2)
    mu, table = check_pair(means, factors)
    sd = check_scales(scales, mu)
    table, remaining = drop_columns(table, drop)
    classes, sizes = factor_classes(table)
    spread = 0.0 if mode == "disentangling_vae" else 1.0
    of_all, of_values = _log_densities(mu, spread * sd, sd, classes, sizes, samples, rng, tell)
    entropies = np.array([-logs.mean() for logs in of_all])
    shares = _value_shares(classes, sizes, mode)
    conditional = np.stack(
        [-logs.mean(axis=2) @ p for logs, p in zip(of_values, shares, strict=True)], axis=1
    )
    found = _Gaps.of(entropies[:, None] - conditional, _normalisers(classes, sizes, mode))
    why = uncounted("sampled_mig", len(mu)) if interval else ""
    error = _standard_error(found, of_all, of_values, shares) if interval and not why else None
    constants = {
        "mode": mode,
        "samples": samples,
        "images": len(mu),
        "factors": remaining,
        "gaps": found.gaps.tolist(),
        "leading_latents": found.order[0].tolist(),
        "entropies": found.normalisers.tolist(),
        "mutual_information": found.information.tolist(),
    }
    reference = "Chen et al. 2018, section 4, from samples of q(z)"
    return found.score("sampled_mig", error, reference, constants, why)


@dataclass(frozen=True)
class _Gaps:
    """Informations (rows, K), what divides them (K,), the two leading rows of each factor and the gap between them."""

    information: Floats
    normalisers: Floats
    order: NDArray[np.intp]
    gaps: Floats

    @classmethod
    def of(cls, information: Floats, normalisers: Floats) -> "_Gaps":
        """Of informations, which the entropy of a factor limits."""
        possible = np.clip(information, 0.0, normalisers)
        return cls(possible, normalisers, *leading_gaps(possible / normalisers))

    def score(
        self, name: str, error: float | None, reference: str, constants: Mapping[str, Any], why: str
    ) -> Score:
        """The mean gap; with its standard error also the interval, or why there is none."""
        value = float(np.mean(self.gaps))
        low, high = (None, None) if error is None else clipped(value, 1.96 * error)
        return Score(name, value, low, high, reference=reference, constants=constants, no_interval=why)


def _log_densities(
    means: Floats,
    noise_scales: Floats,
    scales: Floats,
    classes: Integers,
    sizes: tuple[int, ...],
    samples: int,
    rng: np.random.Generator,
    tell: Callable[[str], None],
) -> tuple[Floats, list[Floats]]:
    """``log q(z_j)`` of draws, (latents, samples), and for each factor ``log q(z_j | v)``, (latents, values, samples).

    Draws are means plus noise of ``noise_scales``; the mixtures have ``scales``.
    """
    latents = means.shape[1]
    rows = rng.integers(0, len(means), samples)
    z = means[rows] + noise_scales[rows] * rng.normal(size=(samples, latents))
    groups = [_draw_values(classes[:, k], size, samples, rng) for k, size in enumerate(sizes)]
    noise = [rng.normal(size=(len(drawn), latents)) for drawn in groups]
    of_all = np.empty((latents, samples))
    of_values = [np.empty((latents, size, samples)) for size in sizes]
    for j in range(latents):
        tell(f"sampled MIG: latent {j + 1} of {latents}")
        mixture = Mixture(means[:, j], scales[:, j], classes, sizes)
        of_all[j] = mixture.log_density(z[:, j], None, None)
        for k, (size, drawn) in enumerate(zip(sizes, groups, strict=True)):
            here = means[drawn, j] + noise_scales[drawn, j] * noise[k][:, j]
            of_values[k][j] = mixture.log_density(here, k, classes[drawn, k]).reshape(size, samples)
    return of_all, of_values


def _standard_error(found: _Gaps, of_all: Floats, of_values: list[Floats], shares: list[Floats]) -> float:
    """Of the mean gap, from the log densities that were averaged.

    Latents share their draws: errors of H(z_j) cancel in part between latents, and so do those of H(z_j | v_k).
    """
    latents, samples = of_all.shape
    weights = np.zeros((len(of_values), latents))
    variance = 0.0
    for k, (normaliser, logs) in enumerate(zip(found.normalisers, of_values, strict=True)):
        for sign, j in zip((1, -1), found.order[:, k], strict=False):
            if found.information[j, k] > 0:
                weights[k, j] = sign / normaliser / len(of_values)
        terms = np.tensordot(weights[k], logs, 1)
        variance += float(shares[k] ** 2 @ terms.var(axis=1)) / samples
    variance += float(np.var(weights.sum(axis=0) @ of_all)) / samples
    return float(np.sqrt(variance))


def subspace_mig(
    means: ArrayLike,
    scales: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator,
    *,
    subspaces: Sequence[int],
    samples: int = 1_000,
    drop: Sequence[int] = (),
    interval: bool = True,
) -> Score:
    """MIG between whole subspaces of latents instead of single ones, for the independent subspaces of the ISA prior.

        I(z_s; v_k) = E log q(z_s | v_k) / q(z_s),    z_s the latents of subspace s,

    with both densities exact mixtures over the images given, averaged over ``samples`` draws of (image, z). Within a
    subspace the axes do not matter: a rotation inside it changes nothing. With subspaces of size 1 it is
    :func:`sampled_mig` with a paired estimate.

    Args:
        means: (N, latents) posterior means.
        scales: (N, latents) posterior standard deviations.
        factors: (N, K) factor values; continuous ones are cut into 20 bins.
        rng: source of the draws.
        subspaces: sizes of the subspaces, in the order of the latents, e.g. (4, 4, 4, 4, 4).
        samples: draws.
        drop: columns of ``factors`` to drop.
        interval: whether to compute one.

    References:
        Stühmer et al. 2020 (ISA), section 3 (subspaces) with Chen et al. 2018, Eq. 6.

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8)), -1).reshape(-1, 2)
        >>> z = np.hstack([v[:, :1], -v[:, :1], v[:, 1:]])
        >>> rng = np.random.default_rng(0)
        >>> round(subspace_mig(z, 0 * z + 0.05, v, rng, subspaces=(2, 1), samples=200).value, 2)
        1.0

    """
    samples = check_count("samples", samples, 2)
    mu, table = check_pair(means, factors)
    sd = check_scales(scales, mu)
    whole = all(isinstance(s, int | np.integer) and not isinstance(s, bool) and s > 0 for s in subspaces)
    if not whole or sum(subspaces) != mu.shape[1]:
        raise UnweaveError(
            f"subspaces must be sizes that sum to the {mu.shape[1]} latents, got {tuple(subspaces)}"
        )
    table, remaining = drop_columns(table, drop)
    classes, sizes = factor_classes(table)
    ratios = _subspace_ratios(mu, sd, classes, sizes, subspaces, samples, rng)
    found = _Gaps.of(ratios.mean(axis=2), _normalisers(classes, sizes, "paper"))
    why = uncounted("subspace_mig", len(mu)) if interval else ""
    error = _error_of_ratios(found, ratios) if interval and not why else None
    constants = {
        "subspaces": [int(s) for s in subspaces],
        "samples": samples,
        "images": len(mu),
        "factors": remaining,
        "gaps": found.gaps.tolist(),
        "leading_subspaces": found.order[0].tolist(),
        "mutual_information": found.information.tolist(),
    }
    reference = "Stühmer et al. 2020 (ISA); Chen et al. 2018, Eq. 6"
    return found.score("subspace_mig", error, reference, constants, why)


def _error_of_ratios(found: _Gaps, ratios: Floats) -> float:
    """Of the mean gap, from the log ratios (subspaces, K, samples) that were averaged."""
    terms = np.zeros(ratios.shape[2])
    for k, normaliser in enumerate(found.normalisers):
        for sign, s in zip((1, -1), found.order[:, k], strict=False):
            terms += sign * ratios[s, k] / normaliser / len(found.normalisers)
    return float(np.std(terms)) / float(np.sqrt(len(terms)))


def _subspace_ratios(
    means: Floats,
    scales: Floats,
    classes: Integers,
    sizes: tuple[int, ...],
    subspaces: Sequence[int],
    samples: int,
    rng: np.random.Generator,
) -> Floats:
    """``log q(z_s | v_k) / q(z_s)`` of draws of (image, z), (subspaces, K, samples)."""
    rows = rng.integers(0, len(means), samples)
    z = means[rows] + scales[rows] * rng.normal(size=(samples, means.shape[1]))
    ratios = np.empty((len(subspaces), len(sizes), samples))
    for s, (end, size) in enumerate(zip(np.cumsum(subspaces), subspaces, strict=True)):
        own = slice(int(end) - int(size), int(end))
        whole = log_joint(z[:, own], means[:, own], scales[:, own])
        for k, values in enumerate(sizes):
            for value in range(values):
                here, drawn = classes[:, k] == value, classes[rows, k] == value
                if drawn.any():
                    within = log_joint(z[drawn, own], means[here, own], scales[here, own])
                    ratios[s, k, drawn] = within - whole[drawn]
    return ratios


def _draw_values(column: Integers, size: int, samples: int, rng: np.random.Generator) -> Integers:
    """``samples`` rows of each value, value by value."""
    order = np.argsort(column, kind="stable")
    counts = np.bincount(column, minlength=size)
    firsts = np.cumsum(counts) - counts
    picks = firsts[:, None] + (rng.random((size, samples)) * counts[:, None]).astype(np.int64)
    return np.asarray(order[picks.ravel()])


def _value_shares(classes: Integers, sizes: tuple[int, ...], mode: str) -> list[Floats]:
    """The share of each value of each factor; equal ones for a full grid, which two modes take for granted."""
    if mode != "paper":
        return [np.full(size, 1 / size) for size in sizes]
    return [
        np.bincount(column, minlength=size) / len(column)
        for column, size in zip(classes.T, sizes, strict=True)
    ]


def _normalisers(classes: Integers, sizes: tuple[int, ...], mode: str) -> Floats:
    if mode != "paper":
        return np.log(np.array(sizes, dtype=np.float64))
    return class_entropies(classes)
