"""Self-contained HTML pages about runs: one file that loads nothing else."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from unweave import artefacts, atomic, plots
from unweave.data import Dataset
from unweave.errors import UnweaveError
from unweave.reports.figures import run_figures, save_figures
from unweave.reports.latent_map import latent_map
from unweave.reports.narrative import ComparedRun, findings, headline, score_rows
from unweave.reports.rendering import render, writer
from unweave.reports.run_parts import (
    curve_charts,
    geometry_groups,
    kl_chart,
    reconstruction_sheet,
    traversal_sheet,
)
from unweave.reports.run_summary import RunSummary, mig_after_rotation, run_labels, settings, summarise
from unweave.runs.run import Run

EXPLORERS = ("explore.html", "explorer.html")
"""Names of an explorer's page to which a page in the same folder links."""


def write_run_report(run: Run, path: str | Path | None = None) -> Path:
    """Writes one page about a run and returns its path (default ``report.html`` in the run's folder).

    It contains a headline, the scores with intervals, reconstructions, traversals (still and animated), the latent
    geometry if two factors span a plane, training curves, the KL of each latent, the config, the versions and the
    command that repeats the run. In the run's own folder the pictures are also saved in ``pictures/``.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> run.train().status
        'finished'
        >>> write_run_report(run).name
        'report.html'
    """
    summary = summarise(run)
    space = run.dataset().space
    place = Path(path) if path is not None else run.folder / "report.html"
    groups = geometry_groups([summary])
    page = render(
        "run.html",
        title=" · ".join([run.config.data.name, *run.config.method]),
        banner=_banner(run, summary.steps),
        health=summary.health,
        headline=headline(
            summary.scores, summary.grid.names if summary.grid else None, len(summary.kl), summary.health
        ),
        summary=summary,
        scored=bool(run.scores),
        rows=score_rows([summary.scores], [summary.health]),
        sheets={"reconstructions": reconstruction_sheet(summary), "traversals": traversal_sheet(summary)},
        geometry_group=groups[0] if groups else None,
        curves=curve_charts({"": run.history}) if run.history else [],
        kl=kl_chart(summary),
        explorer=_explorer_beside(place),
        factors=None if space is None else list(space.names),
        map=latent_map(run, summary.scores, summary.order) if summary.health.has_learned else None,
        shown=len(summary.order),
        commands=[run.command, f"unweave evaluate {run.folder}", f"unweave report {run.folder}"],
        settings=settings(run.config),
        seconds=_seconds(run),
        versions=dict(getattr(run, "versions", {})),
        writer=writer(),
    )
    if path is None:
        save_figures(run_figures(summary), run.folder / "pictures", "png")
        _write(run.folder / "pictures" / "sweeps.gif", _animation(summary))
        artefacts.write(place, page)
        return place
    return _write(place, page.encode())


def write_comparison_report(
    runs: Sequence[Run] | Mapping[str, Run],
    path: str | Path,
    title: str | None = None,
    intro: str | None = None,
) -> Path:
    """Writes one page about two or more runs side by side and returns its path.

    Args:
        runs: the runs, or name -> run; runs without names are named after the settings in which they differ.
        path: the HTML file.
        title: of the page.
        intro: a paragraph at the top (plain text); the findings below it are derived from the scores alone.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> run.train().status
        'finished'
        >>> write_comparison_report({"one": run, "the same": run}, run.folder / "both.html").name
        'both.html'
    """
    named = dict(runs) if isinstance(runs, Mapping) else dict(zip(run_labels(list(runs)), runs, strict=True))
    if len(named) < 2:
        raise UnweaveError(f"a comparison needs two runs or more, got {len(named)}")
    summaries = [summarise(run, label) for label, run in named.items()]
    tables = [settings(each.run.config) for each in summaries]
    keys = list(dict.fromkeys(key for table in tables for key in table))
    histories = {each.label: each.run.history for each in summaries if each.run.history}
    healths = [each.health for each in summaries]
    page = render(
        "comparison.html",
        title=title or " and ".join(named),
        intro=intro,
        banners=[banner for each in summaries if (banner := _banner(each.run, each.steps, each.label))],
        findings=findings([_compared(summary) for summary in summaries]),
        labels=list(named),
        rows=score_rows([each.scores for each in summaries], healths),
        voided=not all(health.has_learned for health in healths),
        names=next((each.grid.names for each in summaries if each.grid is not None), None),
        held_out=any(each.grid is not None and each.grid.held_out.any() for each in summaries),
        groups=geometry_groups(summaries),
        explorer=_explorer_beside(Path(path)),
        curves=curve_charts(histories) if histories else [],
        curve_labels=list(histories),
        models=[_pictures_of(each) for each in summaries],
        commands={each.label: each.run.command for each in summaries},
        settings=[(key, [table.get(key, "") for table in tables]) for key in keys],
        differing={key for key in keys if len({table.get(key) for table in tables}) > 1},
        seconds={each.label: _seconds(each.run) for each in summaries},
        writer=writer(),
    )
    return _write(Path(path), page.encode())


def _pictures_of(summary: RunSummary) -> dict[str, Any]:
    """What a comparison shows of one model alone."""
    return {
        "label": summary.label,
        "traversals": traversal_sheet(summary),
        "reconstructions": reconstruction_sheet(summary),
        "kl": kl_chart(summary),
    }


def dataset_sheet(dataset: Dataset, *, columns: int = 10) -> Figure:
    """A sheet of images of a data set: random ones, then one row per factor in which only that factor varies.

    Example:
        >>> from unweave.data import XYSquares
        >>> len(dataset_sheet(XYSquares()).axes)
        1
    """
    rng = np.random.default_rng(0)
    space = dataset.space
    if space is None:
        return plots.image_grid(dataset.sample(4 * columns, rng).images, columns=columns, title=dataset.name)
    # Start from an image of the data: in the middle of every range all hues would be the same.
    [start] = dataset.evaluation(1, rng)
    sheet, labels = [dataset.sample(columns, rng).images], ["random"]
    for name in space.names:
        points = space.traversal(name, start, columns)
        chosen = np.unique(np.rint(np.linspace(0, len(points) - 1, min(columns, len(points)))).astype(int))
        try:
            images = dataset.images(points[chosen])
        except UnweaveError:
            continue  # the user's own images need not contain every combination of factors
        white = np.full(
            (columns - len(images), *images.shape[1:]), 255 if images.dtype == np.uint8 else 1, images.dtype
        )
        sheet.append(np.concatenate([images, white]))
        labels.append(name)
    return plots.image_grid(np.stack(sheet), row_labels=labels, title=dataset.name)


def _compared(summary: RunSummary) -> ComparedRun:
    rotated = mig_after_rotation(summary) if "mig" in summary.scores else None
    return ComparedRun(
        summary.label, summary.scores, summary.steps, rotated, summary.run.status, summary.health
    )


def _animation(summary: RunSummary) -> bytes:
    labels = plots.traversal_labels(summary.order, summary.kl, summary.names)
    return plots.traversal_gif_bytes(summary.traversals, labels)


def _explorer_beside(page: Path) -> str:
    """The name of the explorer's page in the folder of another page; empty if there is none."""
    return next((name for name in EXPLORERS if (page.parent / name).is_file()), "")


def _banner(run: Run, steps: int, label: str = "") -> str:
    """A warning for a run that is not finished; empty for a finished run."""
    if run.status == "finished":
        return ""
    subject = f"{label}: this run" if label else "This run"
    reason = f" ({run.reason})" if run.reason else ""
    status = {
        "diverged": f"{subject} diverged{reason}.",
        "interrupted": f"{subject} was interrupted{reason}.",
        "running": f"{subject} is still running.",
    }.get(run.status, f"{subject} is {run.status}{reason}.")
    return (
        f"{status} Logged up to step {steps:,} of {run.config.steps:,}; "
        "everything below is from its last checkpoint."
    )


def _seconds(run: Run) -> str:
    seconds = getattr(run, "seconds", None) or (run.history[-1].get("seconds") if run.history else None)
    if not seconds or not math.isfinite(seconds):
        return ""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _write(path: Path, content: bytes) -> Path:
    atomic.write(path, content)
    return path
