"""ISA figure 3 from trained models: which way the position of a sprite is encoded under two priors."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave.metrics.statistics import mean_interval
from unweave.plots.style import bare, new_figure
from unweave.recipes.claims import higher
from unweave.recipes.isa.models import note_protocol_of_sprites, sprites
from unweave.recipes.isa.portraits import responses
from unweave.recipes.recipe import Conclusion, Job, Scale, at, recipe
from unweave.runs.run import Run
from unweave.vae import VAE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

EXPONENTS = {"p = 1": 1.0, "p = 2.4": 2.4}
"""Variant -> exponent of its prior."""

SQUARE = 0
"""The shape whose positions are mapped."""


def plan(scale: Scale) -> dict[str, Any]:
    """A VAE of dSprites under a leptokurtic prior, and under a platykurtic one.

    Example:
        >>> plan("small")["variants"]["p = 2.4"]["prior"]
        {'name': 'GeneralizedNormal', 'p': 2.4}
    """
    return {
        "base": {**sprites(scale), "objective": {"name": "BetaVAE", "beta": 1.0}},
        "variants": {name: {"prior": {"name": "GeneralizedNormal", "p": p}} for name, p in EXPONENTS.items()},
        "seeds": at(scale, smoke=2, small=4, paper=10),
    }


def tilt(maps: Array) -> tuple[float, list[int]]:
    """How far the two latents that follow the position most are from the axes, and which they are.

    A plane is fitted to the code of each latent over x and y; a latent counts with the variance that its plane
    explains. Its tilt is the angle of the plane's slope to the nearer axis, 0 to 45 degrees.

    Args:
        maps: mean codes ``(latents, y, x)``.

    Returns:
        The mean tilt of the two latents in degrees, and their numbers.

    Example:
        >>> y, x = np.mgrid[0:5, 0:5].astype(float)
        >>> tilt(np.stack([0 * x, x + y, x - y]))
        (45.0, [1, 2])
    """
    y, x = (axis - axis.mean() for axis in np.mgrid[0 : maps.shape[1], 0 : maps.shape[2]].astype(np.float64))
    across, down = ((maps * axis).sum((1, 2)) / (axis**2).sum() for axis in (x, y))
    explained = across**2 * x.var() + down**2 * y.var()
    chosen = sorted(int(k) for k in np.argsort(-explained, kind="stable")[:2])
    angles = np.degrees(np.arctan2(np.abs(across[chosen]), np.abs(down[chosen])))
    return float(np.minimum(angles, 90 - angles).mean().round(9)), chosen


def position_maps(run: Run) -> Array:
    """Mean codes at every position of a square."""
    model = run.model()
    assert isinstance(model, VAE)
    return responses(model, run.dataset(), SQUARE, around=1)[0]


@recipe(
    "isa-fig3-trained",
    title="Which way the position of a sprite is encoded under two priors, trained",
    claim="A leptokurtic prior (p = 1) turns the encoding of (x, y) to the diagonals, a platykurtic one (p = 2.4) to "
    "the axes.",
    published="maps (figure 3): diagonal at p = 1.0, axis-aligned at p = 2.4",
    runs=plan,
)
def figure_3_trained(job: Job) -> Conclusion:
    """The tilt of the two latents of the position; maps of the first run of each prior."""
    found = {name: [position_maps(run) for run in job.runs(name)] for name in EXPONENTS}
    tilts = {name: np.array([tilt(maps)[0] for maps in each]) for name, each in found.items()}
    rows = [["prior", "tilt of the latents of the position (degrees: 0 axes, 45 diagonals)"]]
    rows += [[name, str(mean_interval(values))] for name, values in tilts.items()]
    note_protocol_of_sprites(job)
    job.note("The paper does not say how the models of the figure were trained; ours are those of figure 5a.")
    one, two = tilts.values()
    return Conclusion(
        rows=rows,
        pictures={"maps": _drawn({name: each[0] for name, each in found.items()})},
        findings=[higher("tilt (degrees), p = 1 minus p = 2.4", one, two, published=45.0)],
    )


def _drawn(maps: dict[str, Array]) -> "Figure":
    """The two latents of the position for each prior."""
    with new_figure(2.4 * len(maps), 4.4) as figure:
        for column, (name, own) in enumerate(maps.items()):
            for row, latent in enumerate(tilt(own)[1]):
                axes = figure.add_subplot(2, len(maps), row * len(maps) + column + 1)
                reach = float(np.abs(own[latent]).max()) or 1.0
                axes.imshow(own[latent], cmap="RdBu_r", vmin=-reach, vmax=reach)
                bare(axes)
                axes.set_title(name if row == 0 else "")
    return figure
