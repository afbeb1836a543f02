"""The models of the REC figures: frameworks, networks, losses, and grids of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unweave.data import Dataset
from unweave.metrics import Matrices, distance_matrices, overlap
from unweave.metrics.distances import PixelLoss, mse
from unweave.recipes.recipe import Job, Scale
from unweave.runs.run import Run
from unweave.slots import Choice
from unweave.vae import Model

Floats = NDArray[np.float64]

FRAMEWORKS: dict[str, dict[str, Any]] = {"Ada-GVAE": {"pairing": "AdaGVAE"}, "β-VAE": {}}
"""The two frameworks of the paper, in the order of its figures' halves."""

CHANNELS = {8: (32,), 16: (32, 32), 32: (16, 32, 32), 64: (16, 16, 32, 32)}
"""Convolutions of the small scale by image size: their maps end at 4 x 4, as the paper's do."""

SQUARES: dict[Scale, int] = {"smoke": 16, "small": 8, "paper": 64}
"""Image size at spacing 8: 64 x 64 is 8 x 8 with every pixel repeated, so that a pixel-wise loss sees the same."""

SMOKE = {"name": "XYSquares", "size": 16, "spacing": 4}
"""Used instead of larger data at the smoke scale."""

SCORES = {"MIG": "mig", "DCI disentanglement": "dci"}
"""Title of a panel -> name of its score."""


def networks(scale: Scale, size: int = 64, divisor: int = 1) -> dict[str, Any]:
    """Encoder and decoder of REC table A3; narrower ones below the paper's scale.

    Args:
        scale: of the recipe.
        size: of the images.
        divisor: divides the channels of the small scale.

    Example:
        >>> networks("paper")
        {'encoder': 'Conv', 'decoder': 'Deconv'}
        >>> networks("small", 32)["encoder"]["channels"]
        [16, 32, 32]
    """
    if scale == "paper":
        return {"encoder": "Conv", "decoder": "Deconv"}
    channels = [4 if scale == "smoke" else c // divisor for c in CHANNELS[size]]
    hidden = [16 if scale == "smoke" else 128]
    return {
        "encoder": {"name": "Conv", "channels": channels, "hidden": hidden},
        "decoder": {"name": "Deconv", "channels": channels[::-1], "hidden": hidden},
    }


def protocol(scale: Scale, *, steps: int, small: int, latents: int) -> dict[str, Any]:
    """What all models of the paper share: MSE of standardised images, averaged units, Adam at 1e-3 (appendices B, C).

    Args:
        scale: of the recipe.
        steps: of the paper.
        small: steps at the scale "small".
        latents: of the paper and of the small scale.

    Example:
        >>> protocol("paper", steps=57_600, small=1_000, latents=9)["batch_size"]
        256
    """
    return {
        "likelihood": "MSE",
        "standardise": True,
        "averaged": True,
        "latents": latents if scale != "smoke" else 6,
        "steps": {"smoke": 2, "small": small, "paper": steps}[scale],
        "batch_size": {"smoke": 16, "small": 64, "paper": 256}[scale],
        "learning_rate": 1e-3,
    }


def blurred(size: int) -> dict[str, Any]:
    """The loss of Eq. 11: a box of 63 x 63 pixels, alpha = 63^2 at 64 x 64; the same share of smaller images.

    A blurred square of side s has height s^2 / w^2 under a window of w pixels a side. The product of alpha and that
    height squared is the paper's at every size, so that a displaced square costs the same.

    Example:
        >>> blurred(64)["blur_radius"], blurred(64)["blur_weight"], blurred(8)["blur_radius"]
        (31, 3969.0, 3)
    """
    window, side = size - 1, size // 8
    weight = round((64 / 63 * window**2 / side**2) ** 2, 3)
    return {"name": "MSE", "blur": "box", "blur_radius": window // 2, "blur_weight": weight}


def loss_of(likelihood: Choice) -> PixelLoss:
    """The loss that a model was trained with, as a distance of images: MSE, with a box blur where it had one.

    Example:
        >>> loss_of(Choice("MSE", {"blur": "none"})) is mse
        True
    """
    options = likelihood.options
    if options.get("blur") != "box":
        return mse
    return overlap(mse, radius=options["blur_radius"], weight=options["blur_weight"])


def matrices_of_model(
    model: Model,
    likelihood: Choice,
    dataset: Dataset,
    factor: str,
    rng: np.random.Generator,
    traversals: int,
) -> Matrices:
    """Distance matrices along a factor: of factors, images, latent means, posteriors and reconstructions.

    Args:
        model: whose codes and reconstructions are compared.
        likelihood: with which the model was trained; its loss is the distance of images.
        dataset: of the images.
        factor: along which.
        rng: of the traversals.
        traversals: number of traversals to average over.
    """
    return distance_matrices(
        dataset,
        factor,
        rng,
        loss=loss_of(likelihood),
        encode=model.codes,
        decode=model.decode_mean,
        traversals=traversals,
    )


class Cell(NamedTuple):
    """A model of a grid: its framework, its group in the figure (a data set or a loss), and its settings.

    Example:
        >>> Cell("β-VAE", "MSE", 0.001, {"likelihood": "MSE"}).label
        'β-VAE, MSE, β 0.001'
    """

    framework: str
    group: str
    beta: float
    settings: dict[str, Any]
    latents: int | None = None

    @property
    def label(self) -> str:
        """The name of the variant."""
        size = f", {self.latents} latents" if self.latents else ""
        return f"{self.framework}, {self.group}, β {self.beta:g}{size}"

    @property
    def variant(self) -> dict[str, Any]:
        """What the variant sets."""
        size = {"latents": self.latents} if self.latents else {}
        return {**FRAMEWORKS[self.framework], **self.settings, "objective.beta": self.beta, **size}


def variants(cells: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """The variants of a study of a grid.

    Example:
        >>> variants([Cell("β-VAE", "MSE", 0.001, {"likelihood": "MSE"})])
        {'β-VAE, MSE, β 0.001': {'likelihood': 'MSE', 'objective.beta': 0.001}}
    """
    return {cell.label: cell.variant for cell in cells}


def of_group(cells: Sequence[Cell], framework: str, group: str) -> list[Cell]:
    """The models of a framework in a group.

    Example:
        >>> of_group([Cell("β-VAE", "MSE", beta, {}) for beta in (0.1, 0.2)], "β-VAE", "MSE")[1].beta
        0.2
    """
    return [cell for cell in cells if (cell.framework, cell.group) == (framework, group)]


def scores_of_best_beta(job: Job, cells: Sequence[Cell], score: str) -> Floats:
    """The scores over seeds at the beta that has the highest mean: the paper compares tuned models."""
    return max((job.scores(cell.label, score) for cell in cells), key=lambda values: float(np.mean(values)))


def mean_and_deviation(values: Floats) -> str:
    """Mean and standard deviation over seeds as text.

    Example:
        >>> mean_and_deviation(np.array([0.1, 0.2]))
        '0.150 ± 0.071'
    """
    mean = f"{np.mean(values):.3f}"
    return f"{mean} ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else mean


def note_protocol(job: Job, runs: Sequence[Run], steps: int, seeds: int | None = None) -> None:
    """Note how much smaller than the paper's the runs were; nothing if they were not.

    Args:
        job: whose result is noted.
        runs: of one variant.
        steps: of the paper.
        seeds: of the paper; none if the figure has one seed for each model.
    """
    config = runs[0].config
    if config.steps >= steps:
        return
    height = runs[0].dataset().image_shape[1]
    parts = [f"{config.steps:,} steps (the paper: {steps:,})"]
    if config.batch_size != 256:
        parts.append(f"batches of {config.batch_size} (256)")
    if height != 64:
        parts.append(f"images of {height} x {height} (64 x 64)")
    if seeds not in (None, len(runs)):
        parts.append(f"{len(runs)} seeds ({seeds})")
    repeated = " At spacing 8 the paper's images are these with every pixel repeated 8 x 8 times."
    job.note(f"{', '.join(parts)}, narrower networks.{repeated if height == 8 else ''}")
