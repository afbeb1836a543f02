"""Sheets of traversals: of VAEs beside originals and reconstructions, and of the codes of a GAN."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.gan import GAN
from unweave.plots.images import image_grid
from unweave.plots.style import INK
from unweave.recipes.traversal_pictures import decoded_traversals, in_unit_interval, side_by_side
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run
from unweave.vae import VAE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def model_sheet(shown: Sequence[tuple[str, Run]], *, columns: int = 8) -> "Figure":
    """Originals, reconstructions and a traversal of each latent, most informative first; models side by side.

    Args:
        shown: title and run of each model.
        columns: images in a row.

    Reference: FAC figures 3, 6, 11, 13, 14, 15.
    """
    blocks = []
    for _, run in shown:
        model, images = run.model(), run.dataset().sample(columns, np.random.default_rng(7)).images
        codes = codes_of(run)
        information = codes.kl.mean(axis=0) if codes.kl.shape[1] == model.latents else codes.means.var(axis=0)
        order = [int(j) for j in np.argsort(-information, kind="stable")]
        swept = decoded_traversals(model, model.codes(images[:1])[0][0], order, columns=columns)
        blocks.append(
            np.concatenate([in_unit_interval(images)[None], model.reconstruct(images)[None], swept])
        )
    latents = [f"latent {k + 1} by KL" for k in range(len(blocks[0]) - 2)]
    figure = image_grid(
        side_by_side(blocks), row_labels=["originals", "reconstructions", *latents], title=shown[0][0]
    )
    axes = figure.axes[0]
    step = (axes.get_xlim()[1] + 2) / (len(shown) * (columns + 1) - 1)
    for k, (title, _) in enumerate(shown[1:], 1):
        axes.text(k * (columns + 1) * step, -7, title, va="bottom", fontsize=10, fontweight="bold", color=INK)
    return figure


def code_sheet(runs: Sequence[Run], *, title: str | None = None, columns: int = 10) -> "Figure":
    """Each continuous code of a GAN swept, a row each, then its classes in rows; runs below each other.

    Reference: FAC figures 9, 25, 27, 28, 29, 35, 36.
    """
    rows: list[NDArray[Any]] = []
    labels: list[str] = []
    for number, run in enumerate(runs, 1):
        gan = run.model()
        assert isinstance(gan, GAN)
        block, of_run = code_block(gan, columns)
        if rows:
            rows.append(np.ones_like(block[:1]))
            labels.append("")
        labels += [f"run {number}: {label}" if label and len(runs) > 1 else label for label in of_run]
        rows.append(block)
    return image_grid(np.concatenate(rows), row_labels=labels, title=title)


def code_block(gan: GAN, columns: int) -> tuple[NDArray[Any], list[str]]:
    """Images (rows, columns, C, H, W) of the codes of a GAN, and a label for each row."""
    rows = [np.zeros((columns, gan.latents)) for _ in range(gan.continuous)]
    for j, row in enumerate(rows):
        row[:, j] = np.linspace(*gan.span, columns)
    labels = [f"code {j + 1}" for j in range(gan.continuous)]
    blank: list[int] = []
    for j, classes in enumerate(gan.categorical):
        lines = -(-classes // columns)
        codes = np.zeros((lines * columns, gan.latents))
        codes[:classes, gan.continuous + j] = np.linspace(-1, 1, classes)
        start = sum(map(len, rows))
        blank += range(start + classes, start + lines * columns)
        rows.append(codes)
        labels += ["category"] + [""] * (lines - 1)
    images = gan.decode_mean(np.concatenate(rows))
    images[blank] = 1.0
    return images.reshape(-1, columns, *images.shape[1:]), labels


def samples_sheet(run: Run, title: str) -> "Figure":
    """Images of codes drawn from the prior (FAC figures 19 to 22)."""
    model = run.model()
    assert isinstance(model, VAE)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        codes = model.prior().sample(torch.Size([40])).numpy()
    return image_grid(model.decode_mean(codes), columns=10, title=title)
