"""How often noise changes the class of a digit that a GAN reconstructs (FAC figures 26, 30, 31)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.gan import GAN
from unweave.plots.images import image_grid
from unweave.recipes.claims import Finding, higher, paired
from unweave.recipes.fac.gans import before_degeneration, class_column, stops
from unweave.recipes.fac.methods import whole_variants
from unweave.recipes.recipe import Conclusion, Job
from unweave.recipes.shortfall import shortfall
from unweave.recipes.traversal_pictures import in_unit_interval
from unweave.runs.run import Run

ByVariant = dict[str, NDArray[np.float64]]
"""A number for each run of a variant."""


class NoiseChanges(NamedTuple):
    """What noise does to the reconstructions of a run.

    Args:
        changed: how often it changes their class.
        misread: how often the class of a real image is misread.
        images: (images, 1 + noises, C, H, W), the first of each row the original.
    """

    changed: float
    misread: float
    images: NDArray[Any]


def nearest_class(images: NDArray[Any], known: NDArray[Any], label: NDArray[Any]) -> NDArray[Any]:
    """The class of the known image with the smallest squared distance to each image.

    Example:
        >>> nearest_class(np.array([[0.9], [0.1]]), np.array([[0.0], [1.0]]), np.array([5, 7])).tolist()
        [7, 5]
    """
    a, b = (np.asarray(x, float).reshape(len(x), -1) for x in (images, known))
    found: NDArray[Any] = label[np.argmin(np.sum(b**2, axis=1) - 2 * a @ b.T, axis=1)]
    return found


def noise_changes(run: Run, images: int, noises: int = 8) -> NoiseChanges:
    """How often the class of a reconstruction changes with the noise.

    The class is that of the nearest of 2,000 images of the data set.

    Reference: FAC figures 26, 30, 31.
    """
    gan, data = run.model(), run.dataset()
    assert isinstance(gan, GAN)
    rng = np.random.default_rng(0)
    known, asked = data.sample(2000, rng), data.sample(max(images, 200), rng)
    assert known.factors is not None and asked.factors is not None
    column = class_column(run)
    label, reference = known.factors[:, column], in_unit_interval(known.images)
    originals = asked.images[:images]
    codes = gan.codes(originals)[0]
    made = []
    for seed in range(noises):
        noise = np.random.default_rng(seed).normal(size=gan.noise)
        gan.shown_noise.copy_(torch.as_tensor(noise, dtype=gan.shown_noise.dtype))
        made.append(gan.decode_mean(codes))
    seen = np.stack([nearest_class(each, reference, label) for each in made])
    read = nearest_class(in_unit_interval(asked.images), reference, label)
    return NoiseChanges(
        changed=float(np.mean(seen[1:] != seen[:1])),
        misread=float(np.mean(read != asked.factors[:, column])),
        images=np.stack([in_unit_interval(originals), *made], axis=1),
    )


def class_by_noise(claim: Callable[[Job, ByVariant, ByVariant], Finding]) -> Callable[[Job], Conclusion]:
    """Reconstructions with different noise, and how often it changes their class.

    Args:
        claim: the finding from how often the class changes, and how often real images are misread.
    """

    def conclude(job: Job) -> Conclusion:
        """Table of the changes, the claim, and a sheet of reconstructions."""
        job.note(shortfall(job))
        images = job.pick(smoke=20, small=200, paper=1000)
        chosen = {variant: before_degeneration(job, variant) for variant in whole_variants(job)}
        job.note(stops(chosen))
        found = {v: [noise_changes(run, images) for run in runs] for v, runs in chosen.items()}
        changed = {v: np.array([each.changed for each in several]) for v, several in found.items()}
        misread = {v: np.array([each.misread for each in several]) for v, several in found.items()}
        rows = [["runs", "class changes with the noise", "real images misread"]]
        rows += [[v, f"{changed[v].mean():.3f}", f"{misread[v].mean():.3f}"] for v in found]
        last = list(found)[-1]
        figure = image_grid(found[last][0].images[:8], title=f"{last}: original, then other noise")
        return Conclusion(rows, [claim(job, changed, misread)], {"reconstructions": figure})

    return conclude


def oftener_than_misread(job: Job, changed: ByVariant, misread: ByVariant) -> Finding:
    """The claim that the noise changes the class more often than real images are misread."""
    first = next(iter(changed))
    return paired(
        "share of reconstructions whose class changes, minus that of real images misread",
        changed[first],
        misread[first],
    )


def more_than_first(job: Job, changed: ByVariant, misread: ByVariant) -> Finding:
    """The claim that the noise changes the class more often in the last variant than in the first."""
    first, last = changed
    return _difference(last, first, changed)


def less_than_first(job: Job, changed: ByVariant, misread: ByVariant) -> Finding:
    """The claim that the noise changes the class less often in the last variant than in the first."""
    first, last = changed
    return _difference(first, last, changed)


def _difference(one: str, other: str, changed: ByVariant) -> Finding:
    what = f"share of reconstructions whose class changes, {one} minus {other}"
    return higher(what, changed[one], changed[other])
