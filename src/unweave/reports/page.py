"""Self-contained HTML pages about runs: one file, no request to anywhere."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from unweave import atomic, plots
from unweave.errors import UnweaveError
from unweave.reports.narrative import Subject, findings, rows, verdict
from unweave.reports.rendering import Picture, image, png, render, writer
from unweave.reports.run_summary import RunLike, RunSummary, gather, labels_of, settings, turned_back_mig


def write_run_report(run: RunLike, path: str | Path | None = None) -> Path:
    """Writes one page about a run and returns its path (default ``report.html`` in the run's folder).

    It holds the verdict, the scores with intervals, reconstructions, traversals (still and moving), the latent
    geometry where two factors span a plane, training curves, the KL of each latent, the config, the versions and
    the command that makes the run again. In the run's own folder the pictures are also kept as ``pictures/``.

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
    evidence = gather(run)
    pictures = _pictures(evidence)
    space = run.dataset().space
    page = render(
        "run.html",
        title=" · ".join([run.config.data.name, *run.config.method]),
        banner=_banner(run, evidence.steps),
        verdict=verdict(evidence.scores, evidence.grid.names if evidence.grid else None, len(evidence.kl)),
        evidence=evidence,
        scored=bool(run.scores),
        rows=rows([evidence.scores]),
        pictures={name: image(*picture) for name, picture in pictures.items()},
        factors=None if space is None else list(space.names),
        shown=len(evidence.order),
        commands=[run.command, f"unweave evaluate {run.folder}", f"unweave report {run.folder}"],
        settings=settings(run.config),
        seconds=_seconds(run),
        versions=dict(getattr(run, "versions", {})),
        writer=writer(),
    )
    if path is None:
        for name, (content, kind, _, _) in pictures.items():
            _write(run.folder / "pictures" / f"{name}.{kind}", content)
    return _write(Path(path) if path is not None else run.folder / "report.html", page.encode())


def write_comparison_report(
    runs: Sequence[RunLike] | Mapping[str, RunLike],
    path: str | Path,
    title: str | None = None,
    intro: str | None = None,
) -> Path:
    """Writes one page about two or more runs side by side and returns its path.

    Args:
        runs: the runs, or name -> run; runs without names are called after what their configs differ in.
        path: the HTML file.
        title: of the page.
        intro: a paragraph at its head (plain text); the findings below it follow from the scores alone.

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
    named = dict(runs) if isinstance(runs, Mapping) else dict(zip(labels_of(list(runs)), runs, strict=True))
    if len(named) < 2:
        raise UnweaveError(f"a comparison needs two runs or more, got {len(named)}")
    everything = [gather(run, label) for label, run in named.items()]
    subjects = [
        Subject(e.label, e.scores, e.steps, turned_back_mig(e) if "mig" in e.scores else None, e.run.status)
        for e in everything
    ]
    tables = [settings(e.run.config) for e in everything]
    keys = list(dict.fromkeys(key for table in tables for key in table))
    histories = {e.label: e.run.history for e in everything if e.run.history}
    page = render(
        "comparison.html",
        title=title or " and ".join(named),
        intro=intro,
        banners=[banner for e in everything if (banner := _banner(e.run, e.steps, e.label))],
        findings=findings(subjects),
        labels=list(named),
        rows=rows([e.scores for e in everything]),
        names=next((e.grid.names for e in everything if e.grid is not None), None),
        held_out=any(e.grid is not None and e.grid.held_out.any() for e in everything),
        geometry=[image(*png(figure, alt)) for figure, alt in _geometries(everything)],
        curves=image(*png(plots.curves(histories), "training curves")) if histories else None,
        models=[
            {name: image(*picture) for name, picture in _pictures(e, geometry=False).items()}
            | {"label": e.label}
            for e in everything
        ],
        commands={e.label: e.run.command for e in everything},
        settings=[(key, [table.get(key, "") for table in tables]) for key in keys],
        differing={key for key in keys if len({table.get(key) for table in tables}) > 1},
        seconds={e.label: _seconds(e.run) for e in everything},
        writer=writer(),
    )
    return _write(Path(path), page.encode())


def dataset_sheet(dataset: Any, *, columns: int = 10) -> Figure:
    """A sheet of a data set: random images, then one row per factor in which only that factor varies.

    Example:
        >>> from unweave.data import XYSquares
        >>> len(dataset_sheet(XYSquares()).axes)
        1
    """
    rng = np.random.default_rng(0)
    space = dataset.space
    if space is None:
        return plots.image_grid(dataset.sample(4 * columns, rng).images, columns=columns, title=dataset.name)
    # Around an image of the data, not around the middle of every range, where all hues would be the same.
    [start] = dataset.evaluation(1, rng)
    sheet, labels = [dataset.sample(columns, rng).images], ["random"]
    for name in space.names:
        points = space.traversal(name, start, columns)
        chosen = np.unique(np.rint(np.linspace(0, len(points) - 1, min(columns, len(points)))).astype(int))
        try:
            images = dataset.images(points[chosen])
        except UnweaveError:
            continue  # the user's own images need not hold every combination of factors
        white = np.full(
            (columns - len(images), *images.shape[1:]), 255 if images.dtype == np.uint8 else 1, images.dtype
        )
        sheet.append(np.concatenate([images, white]))
        labels.append(name)
    return plots.image_grid(np.stack(sheet), row_labels=labels, title=dataset.name)


def _pictures(evidence: RunSummary, *, geometry: bool = True) -> dict[str, Picture]:
    e = evidence
    labels = plots.traversal_labels(e.order, e.kl)
    made = {
        "reconstructions": png(
            plots.reconstructions(e.originals, e.reconstructed),
            "images of the data above, reconstructions below",
        ),
        "traversals": png(
            plots.traversals(e.sweeps, labels, low=e.span[0], high=e.span[1]),
            f"one row per latent, swept from {e.span[0]:g} to {e.span[1]:g}",
        ),
        "sweeps": (
            plots.traversal_gif_bytes(e.sweeps, labels),
            "gif",
            0.0,
            "all latents sweeping back and forth",
        ),
        "kl": png(plots.kl_bars(e.kl, scales=e.scales), "KL of each latent"),
    }
    if geometry and e.run.history:
        made["curves"] = png(plots.curves(e.run.history), "training curves")
    if geometry:
        for figure, alt in _geometries([e]):
            made["geometry"] = png(figure, alt)
    return made


def _geometries(everything: Sequence[RunSummary]) -> list[tuple[Figure, str]]:
    """One figure if all grids are of the same factors, else one for each run."""
    having = [(e, e.grid) for e in everything if e.grid is not None]
    if not having:
        return []
    first = having[0][1]
    same = all(
        grid.names == first.names and np.array_equal(grid.factors, first.factors) for _, grid in having
    )
    if not same:
        return [figure for e, _ in having for figure in _geometries([e])]
    figure = plots.comparison(
        {e.label: grid.codes for e, grid in having},
        first.factors,
        held_out=first.held_out,
        scores=[e.scores["geometry"].value for e, _ in having],
        names=first.names,
        latents=[grid.latents for _, grid in having],
    )
    return [(figure, "the factor grid and where it lies in latent space")]


def _banner(run: RunLike, steps: int, label: str = "") -> str:
    """A warning for a run that is not finished; empty for one that is."""
    if run.status == "finished":
        return ""
    subject = f"{label}: this run" if label else "This run"
    reason = f" ({run.reason})" if run.reason else ""
    told = {
        "diverged": f"{subject} diverged{reason}.",
        "interrupted": f"{subject} was interrupted{reason}.",
        "running": f"{subject} is still running.",
    }.get(run.status, f"{subject} is {run.status}{reason}.")
    return (
        f"{told} Logged up to step {steps:,} of {run.config.steps:,}; all below is from its last good state."
    )


def _seconds(run: RunLike) -> str:
    taken = getattr(run, "seconds", None) or (run.history[-1].get("seconds") if run.history else None)
    if not taken or not math.isfinite(taken):
        return ""
    return f"{taken:.0f} s" if taken < 120 else f"{taken / 60:.0f} min"


def _write(path: Path, content: bytes) -> Path:
    atomic.write(path, content)
    return path
