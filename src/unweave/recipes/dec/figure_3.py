"""DEC figure 3: the aggregate posterior of the pinwheel for every alpha and beta."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unweave.plots import theory as theory_plots
from unweave.recipes.claims import exceeds, higher, proportion
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.pinwheel import ALPHAS, BETAS, Ablation, ablation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def overlap_and_mismatch(done: Ablation) -> tuple[Array, Array]:
    """Overlap (geometric mean) and mismatch (mean) over seeds, ``(alphas, betas)`` each.

    Example:
        >>> done = ablation(alphas=(0.0, 5.0), betas=(0.1,), seeds=1, steps=2)
        >>> overlap_and_mismatch(done)[0].shape
        (2, 1)
    """
    overlap: Array = np.exp(np.log(done.overlap).mean(-1))
    mismatch: Array = done.mismatch.mean(-1)
    return overlap, mismatch


def picture(done: Ablation) -> "Figure":
    """The figure, from the first seed.

    Example:
        >>> len(picture(ablation(alphas=(0.0, 5.0), betas=(0.1,), seeds=1, steps=2)).axes)
        2
    """

    def density(i: int, j: int, points: Array) -> Array:
        return done.density(i, j, 0, points)

    return theory_plots.alpha_beta(done.alphas, done.betas, density, *overlap_and_mismatch(done))


def least_share(done: Ablation) -> Array:
    """The share of encodings at the mode of the prior that has fewest, ``(alphas, betas, seeds)``, by their means.

    Example:
        >>> least_share(ablation(alphas=(0.0,), betas=(0.1,), seeds=1, steps=1)).shape
        (1, 1, 1)
    """
    modes = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    nearest = ((done.means[..., None, :] - modes) ** 2).sum(-1).argmin(-1)
    shares: Array = np.stack([(nearest == mode).mean(-1) for mode in range(len(modes))]).min(0)
    return shares


@recipe(
    "dec-fig3",
    title="Aggregate posterior of the pinwheel for every alpha and beta",
    claim="Beta raises the overlap of the encodings; alpha improves the match of the aggregate with the mixture prior; "
    "too large a beta spoils the match. Large alphas do not make the encodings collapse to a mode, and raise the "
    "overlap only to what neighbours need.",
    published="densities only (figure 3)",
)
def figure_3(job: Job) -> Conclusion:
    """All VAEs of the grid, trained at once; overlap and mismatch as numbers."""
    alphas: tuple[float, ...] = job.pick(smoke=(0.0, 3.0), small=ALPHAS, paper=ALPHAS)
    betas: tuple[float, ...] = job.pick(smoke=(0.1, 1.2), small=BETAS, paper=BETAS)
    seeds = job.pick(smoke=2, small=4, paper=10)
    done = ablation(alphas, betas, seeds=seeds, steps=job.pick(smoke=5, small=500, paper=500), tell=job.tell)
    overlap, mismatch = overlap_and_mismatch(done)
    rows = [["overlap (of 400) / KL(p‖q)", *(f"β = {beta:g}" for beta in betas)]]
    for alpha, overlaps, mismatches in zip(alphas, overlap, mismatch, strict=True):
        cells = [f"{m:.3g} / {k:.2f}" for m, k in zip(overlaps, mismatches, strict=True)]
        rows.append([f"α = {alpha:g}", *cells])
    grows, falls = np.diff(overlap, axis=1) > 0, np.diff(mismatch, axis=0) < 0
    job.note(f"The alphas and betas of the figure stand in no text; these are ours. {seeds} seeds of each.")
    shares = least_share(done)[-1, :-1].ravel()
    points = done.means.shape[-2]
    return Conclusion(
        rows=rows,
        pictures={"densities": picture(done)},
        findings=[
            proportion("steps up in beta that raise the overlap", int(grows.sum()), grows.size, 0.5),
            proportion("steps up in alpha that improve the match", int(falls.sum()), falls.size, 0.5),
            higher(
                f"KL(p‖q) at the largest alpha, largest beta minus β = {betas[-2]:g}",
                done.mismatch[-1, -1],
                done.mismatch[-1, -2],
            ),
            exceeds(
                "share of the encodings at the least used mode, largest alpha, all betas but the largest (even: 0.25)",
                shares,
                0.05,
            ),
            exceeds(
                f"overlap at the largest alpha and smallest beta (a mode: {points // 4} of {points} points)",
                done.overlap[-1, 0],
                points / 4,
                sign=-1,
            ),
        ],
    )
