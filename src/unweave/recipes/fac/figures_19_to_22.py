"""FAC figures 19 to 22: samples of the best beta-VAE and FactorVAE, 2D and 3D Shapes."""

from collections.abc import Callable

import numpy as np
import scipy
import torch
from numpy.typing import NDArray

from unweave.recipes.claims import Finding, higher
from unweave.recipes.fac.methods import BETA_VAE, FACTOR_VAE, Method
from unweave.recipes.fac.models import shapes_2d, shapes_3d
from unweave.recipes.fac.scores import BestRun, best_run
from unweave.recipes.fac.traversals import samples_sheet
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall
from unweave.recipes.traversal_pictures import in_unit_interval
from unweave.vae import VAE

Floats = NDArray[np.float64]


def drawn_images(best: BestRun, number: int) -> Floats:
    """Means of images of codes that the prior gives, in [0, 1]."""
    model = best.run.model()
    assert isinstance(model, VAE)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        codes = model.prior().sample(torch.Size([number])).numpy()
    return np.asarray(model.decode_mean(codes), dtype=np.float64)


def separate_shapes(images: Floats) -> Floats:
    """How many connected regions of more than ten bright pixels each image has, (n,).

    Example:
        >>> image = np.zeros((1, 1, 16, 16))
        >>> image[0, 0, :4, :4] = image[0, 0, 10:, 10:] = 1.0
        >>> separate_shapes(image).tolist()
        [2.0]
    """
    counts = []
    for image in images[:, 0] > 0.5:
        labels, found = scipy.ndimage.label(image)
        sizes = scipy.ndimage.sum_labels(image, labels, np.arange(1, found + 1)) if found else []
        counts.append(float(np.sum(np.asarray(sizes) > 10)))
    return np.array(counts)


def distance_to_data(images: Floats, best: BestRun) -> Floats:
    """Mean squared distance of each image to the nearest of 4,000 images of the data, (n,)."""
    data = in_unit_interval(best.run.dataset().sample(4000, np.random.default_rng(0)).images)
    a, b = (np.asarray(x, np.float32).reshape(len(x), -1) for x in (images, data))
    squares = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1) - 2 * a @ b.T
    return np.asarray(squares.min(axis=1) / a.shape[1], np.float64)


def samples_of(
    shown: Method, measure: Callable[[Floats, BestRun], Floats], what: str, sign: int
) -> Callable[[Job], Conclusion]:
    """Samples of the best run of a method, and a number of each sample of it and of the other method.

    Args:
        shown: the method of the figure.
        measure: the number.
        what: its name.
        sign: 1 if that of the beta-VAE is claimed to be higher, -1 if that of the FactorVAE.
    """

    def conclude(job: Job) -> Conclusion:
        job.note(shortfall(job))
        number = job.pick(smoke=20, small=500, paper=2000)
        best = {method.name: best_run(job, method) for method in (BETA_VAE, FACTOR_VAE)}
        found = {name: measure(drawn_images(each, number), each) for name, each in best.items()}
        rows = [["model", what], *([best[name].title, f"{v.mean():.4f}"] for name, v in found.items())]
        one, other = (BETA_VAE.name, FACTOR_VAE.name)[::sign]
        finding: Finding = higher(f"{what}, {one} minus {other}", found[one], found[other])
        return Conclusion(
            rows, [finding], {"samples": samples_sheet(best[shown.name].run, best[shown.name].title)}
        )

    return conclude


_TWO_SHAPES = "share of samples with two or more separate shapes"
_DISTANCE = "squared distance of a sample to the nearest image"


def _two_or_more(images: Floats, best: BestRun) -> Floats:
    return (separate_shapes(images) > 1).astype(np.float64)


for _id, _method in (("fac-fig19", BETA_VAE), ("fac-fig20", FACTOR_VAE)):
    recipe(
        _id,
        title=f"Samples of the best {_method.name}, 2D Shapes",
        claim="Samples of the beta-VAE sometimes show two separate shapes; those of FactorVAE are more representative.",
        published="pictures only (beta = 4, gamma = 35)",
        runs=shapes_2d,
    )(samples_of(_method, _two_or_more, _TWO_SHAPES, 1))

for _id, _method in (("fac-fig21", BETA_VAE), ("fac-fig22", FACTOR_VAE)):
    recipe(
        _id,
        title=f"Samples of the best {_method.name}, 3D Shapes",
        claim="On 3D Shapes the samples of the beta-VAE appear more coherent than those of FactorVAE.",
        published="pictures only (beta = 32, gamma = 6)",
        runs=shapes_3d,
    )(samples_of(_method, distance_to_data, _DISTANCE, -1))
