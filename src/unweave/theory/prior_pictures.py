"""A prior as a table of its moments and as pictures of its density."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.errors import UnweaveError
from unweave.plots import priors as prior_plots
from unweave.priors import LpNestedSymmetric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

SAMPLES = 400_000


@dataclass(frozen=True)
class TableAndPictures:
    """A table, whose first row is the header, and pictures by name.

    Example:
        >>> TableAndPictures([["what", "nats"], ["bound", "-17.82"]], {}).rows[1][0]
        'bound'
    """

    rows: Sequence[Sequence[str]]
    pictures: Mapping[str, "Figure"]


def density(prior: torch.nn.Module, points: Array) -> Array:
    """Density of a prior at points ``(m, latents)``, in double precision.

    Example:
        >>> from unweave.priors import StandardNormal
        >>> round(float(density(StandardNormal(2), np.zeros((1, 2)))[0]) * 2 * np.pi, 6)
        1.0
    """
    with torch.no_grad():
        values: Array = prior.double()().log_prob(torch.from_numpy(points).double()).exp().numpy()
    return values


def density_of(prior: torch.nn.Module) -> Callable[[Array], Array]:
    """The density of a prior as a function of points, for the plots.

    Example:
        >>> from unweave.priors import StandardNormal
        >>> density_of(StandardNormal(2))(np.zeros((1, 2))).shape
        (1,)
    """
    return lambda points: density(prior, points)


def prior_pictures(prior: torch.nn.Module, latents: int) -> TableAndPictures:
    """A prior in pictures: its density for two latents, histograms of samples for more, its tree if it has one.

    Example:
        >>> from unweave.priors import ISA
        >>> sorted(prior_pictures(ISA(4, subspaces=(2, 2)), 4).pictures)
        ['density', 'tree']
    """
    if latents < 2:
        raise UnweaveError("a picture needs at least 2 latents: set latents=2")
    law = prior()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        samples = law.sample((SAMPLES,)).numpy()
    deviations = law.stddev.detach().numpy()
    rows = [["latent", "standard deviation", f"of {SAMPLES:,} samples", "kurtosis of samples"]]
    for k in range(min(latents, 20)):
        column = samples[:, k]
        kurtosis = np.mean((column - column.mean()) ** 4) / column.var() ** 2
        rows.append([f"z{k + 1}", f"{deviations[k]:.4f}", f"{column.std():.4f}", f"{kurtosis:.2f}"])
    reach = float(np.quantile(np.abs(samples[:, :2]), 0.995)) * 1.15
    panels: dict[str, Callable[[Array], Array]]
    if latents == 2:
        panels = {"density": density_of(prior)}
    else:
        panels = {
            "$z_1$, $z_2$ of samples": _histogram(samples[:, :2], reach),
            f"$z_1$, $z_{latents}$ of samples": _histogram(samples[:, [0, -1]], reach),
        }
    title = type(prior).__name__
    pictures = {"density": prior_plots.densities(panels, low=-reach, high=reach, title=title)}
    if isinstance(law, LpNestedSymmetric):
        pictures["tree"] = prior_plots.norm_tree(law.tree.children, law.exponents.detach().numpy())
    return TableAndPictures(rows, pictures)


def _histogram(samples: NDArray[np.float32], reach: float, bins: int = 90) -> Callable[[Array], Array]:
    from scipy.ndimage import gaussian_filter

    edges = np.linspace(-reach, reach, bins + 1)
    counts, _, _ = np.histogram2d(samples[:, 0], samples[:, 1], bins=[edges, edges])
    counts = gaussian_filter(counts, 1.2)  # so that contours show the density and not the noise

    def share(points: Array) -> Array:
        cells = np.clip(np.searchsorted(edges, points) - 1, 0, bins - 1)
        values: Array = counts[cells[:, 0], cells[:, 1]]
        return values

    return share
