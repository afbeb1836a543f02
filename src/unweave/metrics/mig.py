"""Mutual information gap: whether each factor has one latent of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import check_choice
from unweave.metrics.counted import CountedScore
from unweave.metrics.information import (
    JointCounts,
    class_entropies,
    mutual_information,
    neighbour_information,
)
from unweave.metrics.score import Score, no_span
from unweave.metrics.validation import (
    Floats,
    check_count,
    check_pair,
    drop_columns,
    equal_width_bins,
    factor_classes,
)

__all__ = ["mig", "mutual_information"]

_REFERENCE = "Chen et al. 2018, Eq. 6"
Mode = Literal["disentanglement_lib", "disent", "dcf", "ubisoft", "disentangle"]
MODES: dict[str, int] = {"disentanglement_lib": 20, "disent": 20, "dcf": 20, "ubisoft": 10, "disentangle": 0}
"""Definitions in use and their number of bins."""


def mig(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "disentanglement_lib",
    bins: int | None = None,
    drop: Sequence[int] = (),
    interval: bool = True,
) -> Score:
    """Mutual information gap from binned codes, in [0, 1]: 1 if each factor sits in exactly one latent.

    MIG = mean_k ( I_(1)k - I_(2)k ) / H(v_k), with I_(1)k and I_(2)k the largest and second largest
    mutual information of factor k with any latent (0 where there is no second latent). It compares single
    latents with single factors, so it is blind to structure that is only rotated (SBD app. H).
    For the definition of its authors, from samples of q, see :func:`unweave.metrics.sampled_mig`.

    The interval is that of the value of infinitely many codes where it is within reach: 1.96 standard errors around the
    corrected value, which is less the bias that counting few samples gives to a mutual information, (occupied cells -
    rows - columns + 1) / 2n. The score is a smooth function of counted frequencies, so its error is the mean of one
    term per sample. But bins follow the range of the codes, which grows with their number unless they end at an edge:
    where that would move the score, or if there are fewer than 3 codes for an occupied cell or 20 for a value, the
    interval is that of the mean over samples of *this number of codes* (``Score.covers`` says so), around the plain
    value, and counts how far the range varies between samples. Heavy tails leave none. See
    :class:`~unweave.metrics.counted.CountedScore`.

    Modes, by the library whose definition they are:

    * ``disentanglement_lib`` (also ``disent``): 20 bins over the range of each code, factors as classes;
    * ``dcf``: 20 bins for codes and for factors (40 orientations become 20);
    * ``ubisoft``: 10 bins for both, and each information is divided by the entropy of the *code*;
    * ``disentangle``: no bins; nearest neighbours (``sklearn.feature_selection.mutual_info_classif``), no interval.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; each must take two values or more.
        mode: whose definition.
        bins: number of equal-width bins of each latent; the mode's own by default.
        drop: columns of ``factors`` to drop (the authors drop the shape of dSprites, column 0).
        interval: whether to compute one.

    References:
        Chen et al. 2018, "Isolating sources of disentanglement in variational autoencoders", Eq. 6;
        binned as by Locatello et al. 2019.

    Example:
        >>> v = np.stack(np.meshgrid(range(10), range(10)), -1).reshape(-1, 2)
        >>> round(mig(v, v).value, 6), mig(v @ [[1, 1], [1, -1]], v).value < 0.1
        (1.0, True)

    """
    check_choice("mode of mig", mode, MODES)
    if mode == "disentangle":
        return _neighbours(codes, factors, drop)
    bins = check_count("bins", MODES[mode] if bins is None else bins, 2)
    codes, table = check_pair(codes, factors, least=bins)
    codes = np.asfortranarray(codes)  # a latent in one piece
    table, remaining = drop_columns(table, drop)
    if mode in ("dcf", "ubisoft"):
        table = equal_width_bins(table.astype(np.float64), bins).T
    classes, sizes = factor_classes(table, bins)
    joint = JointCounts.of(equal_width_bins(codes, bins), bins, classes, sizes)
    order, gaps = leading_gaps(_shares(joint, of_codes=mode == "ubisoft"))
    value = float(np.mean(gaps))
    span = no_span("the error of shares of a code's entropy is not known" if interval else "")
    if interval and mode != "ubisoft":
        span = _Gap(codes, bins, joint, sizes).span(value)
    constants = {
        "mode": mode,
        "bins": bins,
        "samples": len(codes),
        "factors": remaining,
        "gaps": gaps.tolist(),
        "leading_latents": order[0].tolist(),
        "entropies": joint.entropies.tolist(),
        "mutual_information": joint.information.tolist(),
    }
    reference = f"{_REFERENCE}, from binned posterior means"
    return Score("mig", value, reference=reference, constants=constants, **span)


@dataclass(frozen=True)
class _Gap(CountedScore):
    """MIG as a function of informations."""

    def plain(self, information: Floats) -> Floats:
        shares = np.sort(information / self.joint.entropies, axis=-2)
        second = shares[..., -2, :] if shares.shape[-2] > 1 else 0.0
        return np.asarray((shares[..., -1, :] - second).mean(axis=-1))

    def corrected(self, joint: JointCounts) -> float:
        order, gaps = leading_gaps(_shares(joint, of_codes=False))
        return float(np.mean(gaps)) - _bias(joint, order, gaps)

    def slopes(self, information: Floats) -> tuple[Floats, Floats]:
        order, gaps = leading_gaps(information / self.joint.entropies)
        each = 1 / (self.joint.entropies * len(gaps))
        slopes, factors = np.zeros_like(information), np.arange(len(gaps))
        slopes[order[0], factors] = each
        if len(order) > 1:
            slopes[order[1], factors] = -each
        return slopes, -gaps * each

    @property
    def second_orders(self) -> Floats:
        """A latent leads that happens to know more than others."""
        return np.ones(self.joint.information.shape)

    @property
    def silent(self) -> NDArray[np.bool_]:
        """None: a leading latent that knows nothing has the variance of chi-squared, which the second order adds."""
        return np.zeros(self.codes.shape[1], dtype=bool)

    @property
    def moving(self) -> NDArray[np.intp]:
        return np.unique(leading_gaps(_shares(self.joint, of_codes=False))[0])


def _shares(joint: JointCounts, *, of_codes: bool) -> Floats:
    """The informations over the entropies of the factors, or over those of the codes, (latents, K)."""
    if not of_codes:
        return np.asarray(joint.information / joint.entropies)
    own = joint.code_entropies[:, None]
    return np.divide(joint.information, own, out=np.zeros_like(joint.information), where=own > 1e-12)


def leading_gaps(shares: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The two leading latents of each factor, (2, K) or (1, K), and the gap between them, (K,).

    Example:
        >>> leading_gaps(np.array([[0.1], [0.9], [0.3]]))[0].tolist()
        [[1], [2]]

    """
    order = np.argsort(-shares, axis=0, kind="stable")[:2]
    leading = np.take_along_axis(shares, order, axis=0)
    return order, leading[0] - (leading[1] if len(leading) > 1 else 0.0)


def _bias(joint: JointCounts, order: NDArray[np.intp], gaps: Floats) -> float:
    """Of the mean gap: those of the two informations, and of the entropy that divides them."""
    n = int(joint.binned.shape[1])
    each = np.take_along_axis(joint.freedoms, order, axis=0)
    values = np.array([int(counts[0].any(axis=0).sum()) for counts in joint.counts])
    own: Floats = each[0] - (each[1] if len(each) > 1 else 0.0) + gaps * (values - 1)
    return float(np.mean(own / joint.entropies)) / (2 * n)


def _neighbours(codes: ArrayLike, factors: ArrayLike, drop: Sequence[int]) -> Score:
    codes, table = check_pair(codes, factors, least=20)
    table, remaining = drop_columns(table, drop)
    classes, _ = factor_classes(table)
    information = neighbour_information(codes, classes)
    entropies = class_entropies(classes)
    order, gaps = leading_gaps(information / entropies)
    constants = {
        "mode": "disentangle",
        "neighbours": 3,
        "samples": len(codes),
        "factors": remaining,
        "gaps": gaps.tolist(),
        "leading_latents": order[0].tolist(),
        "entropies": entropies.tolist(),
        "mutual_information": information.tolist(),
    }
    reference = f"{_REFERENCE}, from nearest neighbours of posterior means"
    value, span = min(1.0, float(np.mean(gaps))), no_span("the error of nearest neighbours is not known")
    return Score("mig", value, reference=reference, constants=constants, **span)
