"""REC figure 7: latent traversals of beta-VAEs on XYSquares with a pixel-wise loss."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave.data import Dataset
from unweave.plots.traversals import traversal_codes, traversal_labels, traversals
from unweave.recipes.claims import higher
from unweave.recipes.rec.losses import LOSSES, SEEDS, STEPS, beta_vae_plan, tuned_beta_vae
from unweave.recipes.rec.models import note_protocol
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.table_cells import mean_and_deviation
from unweave.recipes.traversal_pictures import decoded_traversals
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run
from unweave.vae import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@recipe(
    "rec-fig7",
    title="XYSquares: latent traversals of β-VAEs with a pixel-wise loss",
    claim="With a pixel-wise loss latents do not correspond to the factors of XYSquares: one moves several squares.",
    published="pictures only (figure 7)",
    runs=beta_vae_plan,
)
def figure_7(job: Job) -> Conclusion:
    """Traversals of the first seed; over all seeds, how much of what a latent changes lies in one square."""
    job.note("Share: 1 if every latent changes one square alone, 1/3 if it changes all three alike.")
    rows = [["loss", "share of a latent's effect in one square", "MIG"]]
    shares: dict[str, list[float]] = {loss: [] for loss in LOSSES}
    pictures: dict[str, Figure] = {}
    for loss in LOSSES:
        cell = tuned_beta_vae(job, loss)
        runs = job.runs(cell.label)
        note_protocol(job, runs, STEPS, SEEDS)
        for run in runs:
            job.tell(f"traversals: {loss}, seed {run.config.seed}")
            model, dataset = run.model(), run.dataset()
            images = dataset.sample(job.pick(smoke=4, small=64, paper=64), np.random.default_rng(0)).images
            shares[loss].append(one_square(model.decode_mean, model.codes(images)[0]))
            picture = "pixelwise" if loss == "MSE" else "blurred"
            if picture not in pictures:
                pictures[picture] = _traversals(run, model, dataset, loss)
        migs = job.scores(cell.label, "mig")
        rows.append([loss, mean_and_deviation(np.array(shares[loss])), mean_and_deviation(migs)])
    claim = "share of a latent's effect that lies in one square, blurred minus pixel-wise loss"
    return Conclusion(rows, [higher(claim, shares["BoxBlurMSE"], shares["MSE"])], pictures)


def one_square(decode: Callable[[Any], Any], means: NDArray[Any]) -> float:
    """How far latents change one square and not the others: 1 if each does, a third if all squares change alike.

    Each latent is swept from -2 to 2 around some codes. Its effect on a square is the sum of squared changes of the
    square's colour from step to step. The largest of the three effects over their sum is averaged with the effects as
    weights, so that latents without effect do not count.

    Args:
        decode: codes (n, latents) to images (n, 3, height, width).
        means: codes (m, latents) around which to sweep.

    Example:
        >>> one_square(lambda z: z[:, :, None, None], np.zeros((1, 3)))  # three latents, each one colour's brightness
        1.0
    """
    effects = np.zeros((means.shape[1], 3))
    for mean in means:
        codes = traversal_codes(mean)
        shown = np.asarray(decode(codes.reshape(-1, codes.shape[2])))
        moves = np.diff(shown.reshape(*codes.shape[:2], *shown.shape[1:]), axis=1)
        effects += np.einsum("jschw,jschw->jc", moves, moves)
    return float(effects.max(axis=1).sum() / effects.sum())


def _traversals(run: Run, model: Model, dataset: Dataset, loss: str) -> "Figure":
    """Traversals of the six latents with the highest KL."""
    nats = codes_of(run).kl.mean(axis=0)
    order = [int(j) for j in np.argsort(-nats, kind="stable")[:6]]
    mean = model.codes(dataset.sample(1, np.random.default_rng(0)).images)[0][0]
    images = decoded_traversals(model, mean, order, columns=9)
    return traversals(images, traversal_labels(order, nats), title=f"XYSquares, {loss}")
