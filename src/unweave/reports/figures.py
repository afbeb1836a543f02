"""The figures of a page as files for papers: SVG, PDF or PNG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from unweave import atomic, plots
from unweave.errors import UnweaveError
from unweave.reports.latent_map import latent_map_figures
from unweave.reports.rendering import DPI
from unweave.reports.run_summary import RunSummary

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


def save_figures(figures: "Mapping[str, Figure]", folder: Path, *kinds: str) -> list[Path]:
    """Writes figures into a folder in each of some kinds of files, and returns their paths.

    Example:
        >>> import tempfile
        >>> made = save_figures({"kl": plots.kl_bars([1.0])}, Path(tempfile.mkdtemp()), "svg", "pdf")
        >>> [path.name for path in made]
        ['kl.svg', 'kl.pdf']
    """
    written = []
    for kind in kinds:
        if kind not in KINDS:
            raise UnweaveError(f"figures are written as {', '.join(KINDS)}, got {kind!r}")
    for name, figure in figures.items():
        for kind in kinds:
            path = folder / f"{name}.{kind}"
            atomic.write(path, plots.to_bytes(figure, kind, dpi=DPI))
            written.append(path)
    return written


def _slug(label: str) -> str:
    return "-".join("".join(c if c.isalnum() or c in ".=" else " " for c in label).split()) or "run"
