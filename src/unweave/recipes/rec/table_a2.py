"""REC table A2: channel constants for standardising."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.plots.style import FAINT, PALETTE, new_figure
from unweave.recipes.claims import Finding, equal
from unweave.recipes.rec.datasets import data_sets, read_data
from unweave.recipes.rec.published_tables import TABLE_A2
from unweave.recipes.recipe import Conclusion, Job, recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@recipe(
    "rec-tablea2",
    title="Channel constants for standardising",
    claim="Mean and deviation of each channel over the whole of each data set.",
    published="table A2: 22 constants of five data sets",
    data=lambda: read_data(tuple(TABLE_A2)),
)
def table_a2(job: Job) -> Conclusion:
    """Measured means and deviations beside the published ones."""
    rows = [["data set", "channel", "mean", "published", "deviation", "published", "measured on"]]
    findings: list[Finding] = []
    gaps: dict[str, list[float]] = {}
    for name, dataset in data_sets(tuple(TABLE_A2), job).items():
        job.tell(f"channels: {name}")
        limit = job.pick(smoke=500, small=None if name == "DSprites" else 20_000, paper=None)
        measured = dataset.measured_channels(limit)
        means, deviations = TABLE_A2.get(name, ((), ()))
        # Rendered here, to half a per cent of white; the others to rounding.
        within = 0.003 if name == "Shapes3D" else 1e-6
        for k, (mean, std) in enumerate(zip(measured.mean, measured.std, strict=True)):
            channel = "RGB"[k] if len(measured.mean) == 3 else "grey"
            printed = (means[k], deviations[k]) if means else None
            cells = [f"{value:.8f}" for value in printed] if printed else ["", ""]
            rows.append([name, channel, f"{mean:.8f}", cells[0], f"{std:.8f}", cells[1], measured.source])
            if printed:
                findings.append(equal(f"{name}, {channel}: mean", mean, printed[0], within=within))
                findings.append(equal(f"{name}, {channel}: deviation", std, printed[1], within=within))
                gaps.setdefault(name, []).extend((mean - printed[0], std - printed[1]))
    job.note(
        "The deviation is the mean over images of each image's own. 3D Shapes is rendered here: agreement to 0.003."
    )
    return Conclusion(rows, findings, {"constants": _differences(gaps)})


def _differences(gaps: Mapping[str, Sequence[float]]) -> "Figure":
    with new_figure(4.6, 0.8 + 0.5 * len(gaps)) as figure:
        axes = figure.subplots()
        for row, (values, color) in enumerate(zip(gaps.values(), PALETTE, strict=False)):
            axes.plot(values, np.full(len(values), row), "o", color=color, markersize=5, alpha=0.7)
        axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
        axes.set_yticks(range(len(gaps)), list(gaps))
        axes.set_ylim(len(gaps) - 0.5, -0.5)
        axes.set_xlim(-0.005, 0.005)
        axes.set_xlabel("measured here minus table A2 (images in [0, 1])")
    return figure
