"""What the latents of a model of dSprites represent, in the form of ISA figures 8 to 16."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unweave.data import Dataset
from unweave.metrics.information import mutual_information
from unweave.plots.latents import latent_rows
from unweave.plots.traversals import traversal_codes
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run
from unweave.vae import VAE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

SHAPES = ("square", "ellipse", "heart")
"""In the order of the data set."""


def portrait(run: Run, shape: str, *, latents: int = 5, title: str | None = None) -> "Figure":
    """The most informative latents of a run on dSprites.

    The map is the mean code at every position of a sprite of that shape, the curves are mean codes over scale and
    rotation for each shape, and the images sweep one latent around the code of such a sprite.
    """
    vae, codes, dataset = run.model(), codes_of(run), run.dataset()
    assert isinstance(vae, VAE) and codes.factors is not None
    information = mutual_information(codes.means, codes.factors)
    order = [int(j) for j in np.argsort(-information.sum(1), kind="stable")[:latents]]
    names = ("shape", "scale", "rotation", "x-pos", "y-pos")
    maps, curves = responses(vae, dataset, SHAPES.index(shape))
    middle = dataset.images([[SHAPES.index(shape), 4, 0, 15, 15]])
    centre = vae.codes(middle)[0][0]
    reach = 2 * max(1.0, float(codes.means.std(0).max()))
    sweep = traversal_codes(centre, order, low=-reach, high=reach, steps=8)
    images = vae.decode_mean(sweep.reshape(-1, sweep.shape[-1])).reshape(*sweep.shape[:2], *vae.image_shape)
    return latent_rows(
        maps[order],
        {name: values[order] for name, values in curves.items()},
        images,
        [names[int(information[j].argmax())] for j in order],
        classes=SHAPES,
        title=title,
    )


def responses(vae: VAE, dataset: Dataset, shape: int, *, around: int = 16) -> tuple[Array, dict[str, Array]]:
    """Mean codes of dSprites: at every position of one shape, and over scale and rotation for every shape.

    Args:
        vae: the model.
        dataset: dSprites.
        shape: number of the shape whose positions are mapped; at scale 4 and rotation 0.
        around: random settings of the other factors over which a value of scale or rotation is averaged.

    Returns:
        (latents, 32, 32) over y (down) and x (across); and for "scale" and "rotation" (latents, shapes, values).

    Example:
        >>> from unweave.data import DSprites
        >>> network = {"name": "MLP", "hidden": (4,)}
        >>> vae = VAE.assemble((1, 64, 64), 2, encoder=network, decoder=network)
        >>> maps, curves = responses(vae, DSprites(), 0, around=1)
        >>> maps.shape, curves["scale"].shape
        ((2, 32, 32), (2, 3, 6))
    """
    space = dataset.factor_space()
    rng = np.random.default_rng(0)
    plane = np.stack(np.meshgrid(np.arange(32), np.arange(32)), -1).reshape(-1, 2)  # x across, y down
    positions = np.concatenate([np.tile([shape, 4, 0], (len(plane), 1)), plane], 1)
    maps = vae.codes(dataset.images(positions))[0].T.reshape(-1, 32, 32).astype(np.float64)
    curves: dict[str, Array] = {}
    for name, factor in (("scale", 1), ("rotation", 2)):
        others = space.sample(around, rng)
        levels = space.sizes[factor]
        assert isinstance(levels, int)
        factors = np.tile(others, (3 * levels, 1))
        factors[:, 0] = np.repeat(np.arange(3), levels * around)
        factors[:, factor] = np.tile(np.repeat(np.arange(levels), around), 3)
        means = vae.codes(dataset.images(factors))[0].reshape(3, levels, around, -1).mean(2)
        curves[name] = np.moveaxis(means, -1, 0).astype(np.float64)
    return maps, curves
