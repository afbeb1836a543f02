"""The figures of a page as files for papers: SVG, PDF or PNG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from unweave import atomic, plots
from unweave.errors import UnweaveError
from unweave.reports.latent_map import latent_map_figures
from unweave.reports.rendering import DPI
from unweave.reports.run_summary import RunSummary, run_labels, summarise
from unweave.reports.search import found_of, search_panels
from unweave.reports.sweep_figures import sweep_figures
from unweave.reports.variants import main_score, variant_scores, variants_of
from unweave.runs.run import Run
from unweave.runs.sweep import Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["png", "svg", "pdf"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def run_figures(summary: RunSummary) -> "dict[str, Figure]":
    """Every figure of a run's page by the name of its file.

    Example:
        >>> run_figures.__annotations__["summary"] is RunSummary
        True
    """
    labels = plots.traversal_labels(summary.order, summary.kl, summary.names)
    made = {
        "reconstructions": plots.reconstructions(summary.originals, summary.reconstructed),
        "traversals": plots.traversals(summary.traversals, labels, low=summary.span[0], high=summary.span[1]),
        "kl": plots.kl_bars(summary.kl, scales=summary.scales, names=summary.names),
    }
    if summary.run.history:
        made["curves"] = plots.curves(summary.run.history)
    for figure in geometry_figures([summary]).values():
        made["geometry"] = figure
    if summary.health.has_learned:
        made |= latent_map_figures(summary.run, summary.scores, summary.order)
    return made


def comparison_figures(summaries: Sequence[RunSummary]) -> "dict[str, Figure]":
    """Every figure of a comparison's page by the name of its file; those of one run begin with its label.

    Example:
        >>> comparison_figures([])
        {}
    """
    made = geometry_figures(summaries)
    histories = {each.label: each.run.history for each in summaries if each.run.history}
    if histories:
        made["curves"] = plots.curves(histories)
    for each in summaries:
        own = run_figures(each)
        made |= {f"{_slug(each.label)}-{name}": own[name] for name in ("reconstructions", "traversals", "kl")}
    return made


def geometry_figures(summaries: Sequence[RunSummary]) -> "dict[str, Figure]":
    """The factor grid and its codes: one figure if all grids have the same factors, else one for each run.

    Example:
        >>> geometry_figures([])
        {}
    """
    with_grid = [(each, each.grid) for each in summaries if each.grid is not None]
    if not with_grid:
        return {}
    first = with_grid[0][1]
    same = all(
        grid.names == first.names and grid.factors.tolist() == first.factors.tolist() for _, grid in with_grid
    )
    if not same:
        return {
            f"{_slug(each.label)}-geometry": geometry_figures([each])["geometry"] for each, _ in with_grid
        }
    figure = plots.comparison(
        {each.label: grid.codes for each, grid in with_grid},
        first.factors,
        held_out=first.held_out,
        scores=[each.scores["geometry"].value for each, _ in with_grid],
        names=first.names,
        latents=[grid.latents for _, grid in with_grid],
    )
    return {"geometry": figure}


def write_figures(runs: Sequence[Run] | Sweep, folder: Path, kind: str = "pdf") -> list[Path]:
    """Writes every figure of the page of a run, of several side by side, or of a sweep; returns the paths.

    Args:
        runs: one run, several, or a sweep.
        folder: of the files.
        kind: svg, pdf or png.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> run.train().status
        'finished'
        >>> sorted(path.name for path in write_figures([run], run.folder / "paper", "svg"))
        ['curves.svg', 'geometry.svg', 'kl.svg', 'reconstructions.svg', 'traversals.svg']
    """
    if kind not in KINDS:
        raise UnweaveError(f"figures are written as {', '.join(KINDS)}, got {kind!r}")
    if isinstance(runs, Sweep):
        variants, found = variants_of(runs), found_of(runs)
        scored = variant_scores(variants)
        panels = sweep_figures(variants, scored, main_score(runs.target, scored), joined=found is None)
        if found is not None:
            panels = {**search_panels(found, {}, lambda _: ""), **panels}
        return save_figures({name: panel.figure for name, panel in panels.items()}, folder, kind)
    if len(runs) == 1:
        return save_figures(run_figures(summarise(runs[0])), folder, kind)
    summaries = [summarise(run, label) for label, run in zip(run_labels(runs), runs, strict=True)]
    return save_figures(comparison_figures(summaries), folder, kind)


def save_figures(figures: "Mapping[str, Figure]", folder: Path, *kinds: str) -> list[Path]:
    """Writes figures into a folder in each of some kinds of files, and returns their paths.

    Example:
        >>> import tempfile
        >>> made = save_figures({"kl": plots.kl_bars([1.0])}, Path(tempfile.mkdtemp()), "svg", "pdf")
        >>> [path.name for path in made]
        ['kl.svg', 'kl.pdf']
    """
    written = []
    for name, figure in figures.items():
        for kind in kinds:
            path = folder / f"{name}.{kind}"
            atomic.write(path, plots.to_bytes(figure, kind, dpi=DPI))
            written.append(path)
    return written


def _slug(label: str) -> str:
    return "-".join("".join(c if c.isalnum() or c in ".=" else " " for c in label).split()) or "run"
