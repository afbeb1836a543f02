"""ISA figure 7: histograms of learned exponents, 3D faces."""

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unweave.metrics.statistics import mean_interval
from unweave.plots.style import FAINT, PALETTE, style
from unweave.priors import ISA
from unweave.recipes.claims import exceeds
from unweave.recipes.isa.models import LEARNED, MLPS, face_models, faces, note_protocol
from unweave.recipes.recipe import Conclusion, Job, data_or_stand_in, recipe
from unweave.runs.run import Run
from unweave.vae import VAE

Array = NDArray[np.float64]


@recipe(
    "isa-fig7",
    title="Histograms of learned exponents, 3D faces",
    claim="Learned exponents leave their start at 2.0 and do not meet at p₀ = 2.1: the trivial, fully factorised prior "
    "is not what is learned.",
    published="modes 1.95, 1.98 and 2.17 of p₁ < p₂ < p₃; all p₃ above 2.1 (A.2), 15 runs a β",
    runs=faces,
)
def figure_7(job: Job) -> Conclusion:
    """The exponents of each run in ascending order; the claim is that the largest lies above p₀."""
    learned = [model.label for model in face_models(job.scale) if model.method == LEARNED]
    found = np.sort(np.stack([exponents_of(run)[1:] for name in learned for run in job.runs(name)]), axis=1)
    job.note(data_or_stand_in("Faces3D", "Objects3D", channels=1)[1])
    note_protocol(job, MLPS, "width 1,200, 1,500 epochs in batches of 2,048, 15 runs")
    rows = [["exponent", "mean over runs", "least", "largest", "published mode"]]
    for k, mode in zip(range(found.shape[1]), (1.95, 1.98, 2.17), strict=False):
        column = found[:, k]
        cells = (str(mean_interval(column)), f"{column.min():.3f}", f"{column.max():.3f}", f"{mode:g}")
        rows.append([f"p{k + 1}", *cells])
    claim = "{} learned exponent of a run (p₀ = 2.1)"
    return Conclusion(
        rows=rows,
        pictures={"exponents": _histograms(found)},
        findings=[
            exceeds(claim.format("largest"), found[:, -1], 2.1, published=2.17),
            exceeds(claim.format("smallest"), found[:, 0], 2.1, published=1.95, sign=-1),
        ],
    )


def exponents_of(run: Run) -> Array:
    """The exponents of a run's prior, ``(1 + subspaces,)``, the root first.

    Example:
        >>> import tempfile
        >>> from unweave.runs.config import Config
        >>> words = ["data=circles", "data.size=16", "prior=ISA", "latents=4", "steps=1", "batch_size=4"]
        >>> run = Run.create(Config.read(words=words), tempfile.mkdtemp() + "/run")
        >>> _ = run.train()
        >>> exponents_of(run).round(3).tolist()
        [2.1, 2.2, 2.2]
    """
    model = run.model()
    assert isinstance(model, VAE) and isinstance(model.prior, ISA)
    with torch.no_grad():
        values: Array = model.prior.exponents().double().numpy()
    return values


def _histograms(found: Array) -> Figure:
    """One histogram for each exponent, all on one axis."""
    low, high = min(1.8, found.min()), max(2.4, found.max())
    with style():
        figure = Figure(figsize=(2.5 * found.shape[1], 2.3), layout="constrained")
        for k in range(found.shape[1]):
            axes = figure.add_subplot(1, found.shape[1], k + 1)
            axes.hist(found[:, k], bins=np.linspace(low, high, 31).tolist(), color=PALETTE[k % len(PALETTE)])
            axes.axvline(2.1, color=FAINT, linestyle=(0, (4, 2)), linewidth=1)
            axes.set(xlabel=f"$p_{k + 1}$", title="dashed: $p_0$" if k == 0 else "")
            if k == 0:
                axes.set_ylabel("runs")
    return figure
