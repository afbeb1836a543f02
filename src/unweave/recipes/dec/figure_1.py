"""DEC figure 1: the two factors of decomposition, overlap of encodings and match of their aggregate with the prior."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Distribution, Independent, Normal

from unweave.functional import aggregate
from unweave.plots import priors as prior_plots
from unweave.priors import GaussianMixture, StandardNormal
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

POINTS = 60
"""Data points whose encodings are drawn."""

OVERLAPS = {"too little overlap": 0.03, "too much overlap": 0.995, "appropriate overlap": 0.3}
"""Top: the width of the encodings, whose means leave room for it in N(0, I)."""


class Panel(NamedTuple):
    """Encodings of data points and the prior that they are compared with.

    Example:
        >>> panels()["good regularisation"].means.shape
        torch.Size([60, 2])
    """

    means: Tensor
    width: float
    prior: Distribution

    @property
    def encodings(self) -> Distribution:
        """``q(z|x)`` of all data points."""
        return Independent(Normal(self.means, torch.full_like(self.means, self.width)), 1)

    def overlap(self, samples: int = 200) -> float:
        """``n exp(-I(x; z))``: data points that a code may come from, 1 (a lookup table) to ``n`` (no information)."""
        generator = torch.Generator().manual_seed(1)
        noise = torch.randn(samples, *self.means.shape, generator=generator, dtype=torch.float64)
        z = self.means + self.width * noise
        own: Tensor = self.encodings.log_prob(z)
        information = own.mean() - aggregate(self.encodings, z.flatten(0, 1)).joint.mean()
        return len(self.means) * math.exp(-float(information))

    def mismatch(self) -> float:
        """``KL(p(z) || q(z))`` in nats, by quadrature."""
        axis = torch.linspace(-5, 6, 441, dtype=torch.float64)
        points = torch.cartesian_prod(axis, axis)
        log_p = self.prior.log_prob(points)
        log_q = aggregate(self.encodings, points).joint
        return float((log_p.exp() * (log_p - log_q)).sum() * (axis[1] - axis[0]) ** 2)

    def density(self) -> Callable[[Array], Array]:
        """The aggregate posterior ``q(z)`` as a function of points ``(m, 2)``."""

        def values(points: Array) -> Array:
            found: Array = aggregate(self.encodings, torch.from_numpy(points)).joint.exp().numpy()
            return found

        return values


def panels() -> dict[str, Panel]:
    """Three levels of overlap under N(0, I), then encodings that match a mixture prior, and some that do not.

    Example:
        >>> list(panels())
        ['too little overlap', 'too much overlap', 'appropriate overlap', 'good regularisation', 'bad regularisation']
    """
    generator = torch.Generator().manual_seed(0)
    normal, mixture = StandardNormal(2).double()(), GaussianMixture(2).double()()
    spread = torch.randn(POINTS, 2, generator=generator, dtype=torch.float64)
    modes = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    width = 0.1
    jitter = math.sqrt(0.03 - width**2) * torch.randn(POINTS, 2, generator=generator, dtype=torch.float64)
    return {
        **{name: Panel(math.sqrt(1 - w**2) * spread, w, normal) for name, w in OVERLAPS.items()},
        "good regularisation": Panel(modes.repeat(POINTS // 4, 1) + jitter, width, mixture),
        "bad regularisation": Panel(0.5 + 0.3 * spread, width, mixture),
    }


def picture(drawn: Mapping[str, Panel]) -> "Figure":
    """The density of the aggregate of each.

    Example:
        >>> len(picture(panels()).axes)
        5
    """
    return prior_plots.densities({name: panel.density() for name, panel in drawn.items()}, low=-2.5, high=2.5)


@recipe(
    "dec-fig1",
    title="The two factors of decomposition",
    claim="Encodings may overlap too little (a lookup table), too much (codes say nothing of the data) or "
    "appropriately; and their aggregate may match the prior or not.",
    published="a drawing (figure 1)",
)
def figure_1(job: Job) -> Conclusion:
    """Encodings of sixty data points with the two factors as numbers."""
    drawn = panels()
    overlap = {name: panel.overlap() for name, panel in drawn.items()}
    mismatch = {name: panel.mismatch() for name, panel in drawn.items()}
    rows = [["encodings", f"overlap (1 to {POINTS})", "KL(p‖q) (nats)"]]
    rows += [[name, f"{overlap[name]:.2f}", f"{mismatch[name]:.2f}"] for name in drawn]
    job.note("The figure is a drawing; widths and places of our encodings are ours.")
    little, much, right = (overlap[name] for name in OVERLAPS)
    return Conclusion(
        rows=rows,
        pictures={"factors": picture(drawn)},
        findings=[
            equal("overlap where there is too little (1: a lookup table)", little, 1.0, within=0.2),
            equal(
                "overlap where there is too much, share of the data points", much / POINTS, 1.0, within=0.05
            ),
            equal("the appropriate overlap is neither (1: yes)", float(2 < right < POINTS / 3), 1.0),
            equal(
                "bad regularisation has the larger KL(p‖q) by over a nat (1: yes)",
                float(mismatch["bad regularisation"] > 1 + mismatch["good regularisation"]),
                1.0,
            ),
        ],
    )
