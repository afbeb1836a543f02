"""Self-contained HTML pages about runs: one file that loads nothing else."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from unweave import artefacts, atomic, plots
from unweave.data import Dataset
from unweave.errors import UnweaveError
from unweave.reports.latent_map import latent_map
from unweave.reports.narrative import ComparedRun, findings, headline, score_rows
from unweave.reports.rendering import Picture, image, png, render, writer
from unweave.reports.run_summary import RunSummary, mig_after_rotation, run_labels, settings, summarise
from unweave.runs.run import Run


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
    pictures = _pictures(summary)
    space = run.dataset().space
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
        rows=score_rows([summary.scores]),
        pictures={name: image(*picture) for name, picture in pictures.items()},
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
        for name, (content, kind, _, _) in pictures.items():
            _write(run.folder / "pictures" / f"{name}.{kind}", content)
    if path is None:
        artefacts.write(run.folder / "report.html", page)
        return run.folder / "report.html"
    return _write(Path(path), page.encode())


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
    page = render(
        "comparison.html",
        title=title or " and ".join(named),
        intro=intro,
        banners=[banner for each in summaries if (banner := _banner(each.run, each.steps, each.label))],
        findings=findings([_compared(summary) for summary in summaries]),
        labels=list(named),
        rows=score_rows([each.scores for each in summaries], [each.health for each in summaries]),
        names=next((each.grid.names for each in summaries if each.grid is not None), None),
        held_out=any(each.grid is not None and each.grid.held_out.any() for each in summaries),
        geometry=[image(*png(figure, alt)) for figure, alt in _geometries(summaries)],
        curves=image(*png(plots.curves(histories), "training curves")) if histories else None,
        models=[
            {name: image(*picture) for name, picture in _pictures(each, geometry=False).items()}
            | {"label": each.label}
            for each in summaries
        ],
        commands={each.label: each.run.command for each in summaries},
        settings=[(key, [table.get(key, "") for table in tables]) for key in keys],
        differing={key for key in keys if len({table.get(key) for table in tables}) > 1},
        seconds={each.label: _seconds(each.run) for each in summaries},
        writer=writer(),
    )
    return _write(Path(path), page.encode())


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


def _pictures(summary: RunSummary, *, geometry: bool = True) -> dict[str, Picture]:
    labels = plots.traversal_labels(summary.order, summary.kl, summary.names)
    made = {
        "reconstructions": png(
            plots.reconstructions(summary.originals, summary.reconstructed),
            "images of the data above, reconstructions below",
        ),
        "traversals": png(
            plots.traversals(summary.traversals, labels, low=summary.span[0], high=summary.span[1]),
            f"one row per latent, varied from {summary.span[0]:g} to {summary.span[1]:g}",
        ),
        "sweeps": (
            plots.traversal_gif_bytes(summary.traversals, labels),
            "gif",
            0.0,
            "all latents varied back and forth",
        ),
        "kl": png(plots.kl_bars(summary.kl, scales=summary.scales, names=summary.names), "KL of each latent"),
    }
    if geometry and summary.run.history:
        made["curves"] = png(plots.curves(summary.run.history), "training curves")
    if geometry:
        for figure, alt in _geometries([summary]):
            made["geometry"] = png(figure, alt)
    return made


def _geometries(summaries: Sequence[RunSummary]) -> list[tuple[Figure, str]]:
    """One figure if all grids have the same factors, else one for each run."""
    with_grid = [(each, each.grid) for each in summaries if each.grid is not None]
    if not with_grid:
        return []
    first = with_grid[0][1]
    same = all(
        grid.names == first.names and np.array_equal(grid.factors, first.factors) for _, grid in with_grid
    )
    if not same:
        return [figure for each, _ in with_grid for figure in _geometries([each])]
    figure = plots.comparison(
        {each.label: grid.codes for each, grid in with_grid},
        first.factors,
        held_out=first.held_out,
        scores=[each.scores["geometry"].value for each, _ in with_grid],
        names=first.names,
        latents=[grid.latents for _, grid in with_grid],
    )
    return [(figure, "the factor grid and its image in latent space")]


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
