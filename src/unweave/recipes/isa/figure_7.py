"""ISA figure 7: histograms of learned exponents, 3D faces."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.metrics.statistics import mean_interval
from unweave.plots.style import FAINT, PALETTE, new_figure
from unweave.priors import ISA
from unweave.recipes.claims import equal, exceeds
from unweave.recipes.isa.models import MLPS, faces, learned_models, note_protocol
from unweave.recipes.recipe import Conclusion, Job, Scale, data_or_stand_in, recipe
from unweave.runs.run import Run
from unweave.vae import VAE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


MODES = (1.95, 1.98, 2.17)
"""The published exponents of highest frequency, in ascending order of the exponents of a run."""


def plan(scale: Scale) -> dict[str, Any]:
    """The runs of the figure: learned exponents, 15 for each beta.

    Example:
        >>> plan("paper")["seeds"], len(plan("paper")["variants"])
        (15, 6)
    """
    return faces(scale, learned_models(scale), paper=15)


def mode(values: Array, width: float = 0.02) -> float:
    """The middle of the fullest bin of a histogram whose bins are centred on multiples of ``width``.

    Example:
        >>> mode(np.array([1.9, 1.95, 1.951, 1.949, 2.2]), width=0.01)
        1.95
    """
    places, counts = np.unique(np.round(values / width).astype(np.int64), return_counts=True)
    return float(round(places[counts.argmax()] * width, 6))


@recipe(
    "isa-fig7",
    title="Histograms of learned exponents, 3D faces",
    claim="Learned exponents leave their start at 2.0 and do not meet at p₀ = 2.1: the trivial, fully factorised prior "
    "is not what is learned.",
    published="modes 1.95, 1.98 and 2.17 of p₁ < p₂ < p₃; all values of p₃ larger than 2.17 (A.2), 15 runs a β",
    runs=plan,
)
def figure_7(job: Job) -> Conclusion:
    """The exponents of each run in ascending order; the claims are their modes, and that the largest lies above p₀."""
    learned = [model.label for model in learned_models(job.scale)]
    found = np.sort(np.stack([exponents_of(run)[1:] for name in learned for run in job.runs(name)]), axis=1)
    job.note(data_or_stand_in("Faces3D", "Objects3D", channels=1)[1])
    note_protocol(job, MLPS, "width 1,200, 1,500 epochs in batches of 2,048, 15 runs")
    rows = [["exponent", "mean over runs", "least", "largest", "mode (bins of 0.02)", "published mode"]]
    modes = {}
    for k, published in zip(range(found.shape[1]), MODES, strict=False):
        column = found[:, k]
        modes[f"p{k + 1}"] = (mode(column), published)
        cells = (
            str(mean_interval(column)),
            f"{column.min():.3f}",
            f"{column.max():.3f}",
            f"{mode(column):g}",
        )
        rows.append([f"p{k + 1}", *cells, f"{published:g}"])
    claim = "{} learned exponent of a run (p₀ = 2.1)"
    return Conclusion(
        rows=rows,
        pictures={"exponents": _histograms(found)},
        findings=[
            exceeds(claim.format("largest"), found[:, -1], 2.1, published=2.17),
            exceeds(claim.format("smallest"), found[:, 0], 2.1, published=1.95, sign=-1),
            equal(
                "share of runs whose largest exponent is over 2.17", float(np.mean(found[:, -1] > 2.17)), 1.0
            ),
            *(equal(f"mode of {name}", ours, theirs, within=0.03) for name, (ours, theirs) in modes.items()),
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


def _histograms(found: Array) -> "Figure":
    """One histogram for each exponent, all on one axis."""
    low, high = min(1.8, found.min()), max(2.4, found.max())
    with new_figure(2.5 * found.shape[1], 2.3) as figure:
        for k in range(found.shape[1]):
            axes = figure.add_subplot(1, found.shape[1], k + 1)
            axes.hist(found[:, k], bins=np.linspace(low, high, 31).tolist(), color=PALETTE[k % len(PALETTE)])
            axes.axvline(2.1, color=FAINT, linestyle=(0, (4, 2)), linewidth=1)
            axes.set(xlabel=f"$p_{k + 1}$", title="dashed: $p_0$" if k == 0 else "")
            if k == 0:
                axes.set_ylabel("runs")
    return figure
