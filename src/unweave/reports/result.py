"""The page of a reproduced figure or table: our numbers beside the published ones."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from unweave import artefacts, atomic
from unweave.errors import UnweaveError
from unweave.papers import PAPERS
from unweave.recipes.claims import FindingRecord, Verdict
from unweave.recipes.reproduce import COST, RESULT, Cost, chance, read_result
from unweave.reports.charts import LARGEST, themed
from unweave.reports.rendering import image, render, writer
from unweave.runs.sweep import MANIFEST, Sweep

MEANINGS: dict[Verdict, str] = {
    "agrees": "the claim shows (p below 0.05 where chance plays a part, corrected for the number of tests), and our "
    "number is the published one within its tolerance, or within an interval that is no wider than half the effect",
    "same direction": "the claim shows, but our number is not surely the published one, or the paper gives none",
    "by construction": "an identity or a value that the code solves for: a check of the code, no evidence",
    "does not show at this scale": "neither direction is sure with the runs of this scale",
    "opposite": "a significant effect against the claim",
}
"""What each verdict means."""


@dataclass(frozen=True)
class ClaimRow:
    """One claim as a number: ours, its interval, the published one, both as places on a line from 0 to 100.

    Example:
        >>> ClaimRow("MIG", "0.3", "", "0.2", "exact", "agrees", 60.0, None, 40.0).verdict
        'agrees'
    """

    what: str
    ours: str
    interval: str
    published: str
    p: str
    verdict: str
    at: float | None = None
    span: tuple[float, float] | None = None
    published_at: float | None = None


def write_result_report(folder: Path, path: Path | None = None) -> Path:
    """Writes the page of a result that ``unweave reproduce`` stored, and returns its path (``report.html`` beside it).

    The claim and the verdict come first, then our figure beside the published numbers, every stand-in and deviation
    from the paper's protocol, the table, the runs, the cost and the command.

    Args:
        folder: of the result: ``result.json``, ``cost.json`` and its pictures.
        path: the HTML file.

    Example:
        >>> import tempfile
        >>> from unweave.recipes.catalogue import RECIPES
        >>> from unweave.recipes.reproduce import conclude
        >>> folder, result, _ = conclude(RECIPES["isa-b3"], "smoke", Path(tempfile.mkdtemp()), None)
        >>> page = write_result_report(folder).read_text()
        >>> result.claim in page, result.command in page
        (True, True)
    """
    if not (folder / RESULT).exists():
        raise UnweaveError(f"{folder} has no {RESULT}: unweave reproduce ID writes one")
    result = read_result(folder / RESULT)
    place = path if path is not None else folder / "report.html"
    cost = Cost(**artefacts.read_json(folder / COST)) if (folder / COST).exists() else None
    page = render(
        "result.html",
        title=f"{result.id}: {result.title}",
        result=result,
        paper=paper_of(result.id),
        kind=result.verdict.split(" ", 1)[0],
        meaning=MEANINGS[result.verdict],
        pictures=[_picture(folder, name, f"{result.title}: {name}") for name in result.pictures],
        claims=[claim_row(found) for found in result.findings],
        head=result.rows[0] if result.rows else [],
        rows=result.rows[1:],
        runs=_runs(folder, place.parent),
        cost=None if cost is None else cost.text,
        writer=writer(),
    )
    atomic.write(place, page)
    return place


def paper_of(name: str) -> str:
    """The paper of a recipe by its id, as a reference; empty for a recipe from outside of unweave.

    Example:
        >>> paper_of("sbd-fig4").startswith("Watters")
        True
    """
    paper = PAPERS.get(name.partition("-")[0].upper())
    return "" if paper is None else f"{paper.short}, {paper.title}"


def claim_row(found: FindingRecord) -> ClaimRow:
    """A finding as a row of the page.

    Example:
        >>> from unweave.recipes.claims import Finding
        >>> row = claim_row(Finding("MIG", 0.3, published=0.25, low=0.2, high=0.4, p=0.01).to_json())
        >>> row.ours, row.published, row.interval, round(row.at)
        ('0.3', '0.25', '0.2 to 0.4', 50)
    """
    value, published, low, high = found["value"], found["published"], found["low"], found["high"]
    ends = [each for each in (value, published, low, high) if each is not None]
    at, published_at, span = None, None, None
    if len(ends) > 1 and max(ends) > min(ends):
        least, width = min(ends), max(ends) - min(ends)
        at = None if value is None else _share(value, least, width)
        published_at = None if published is None else _share(published, least, width)
        span = (
            None if low is None or high is None else (_share(low, least, width), _share(high, least, width))
        )
    return ClaimRow(
        found["what"],
        _number(value) if value is not None else "not finite",
        f"{_number(low)} to {_number(high)}" if low is not None and high is not None else "",
        _number(published) if published is not None else "not given",
        _probability(found),
        found["verdict"],
        at,
        span,
        published_at,
    )


def _probability(found: FindingRecord) -> str:
    if found["p"] is None:
        return "exact"
    adjusted = found.get("corrected")
    corrected = "" if adjusted is None or adjusted == found["p"] else f" (Holm: {chance(adjusted)})"
    return chance(found["p"]) + corrected


def _share(value: float, least: float, width: float) -> float:
    return round(4 + 92 * (value - least) / width, 1)


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def _picture(folder: Path, name: str, alt: str) -> Markup:
    """A picture of the result: its SVG in the colours of the page, or its PNG if there is none or it is too large."""
    vector, pixels = folder / f"{name}.svg", folder / f"{name}.png"
    if vector.exists() and vector.stat().st_size <= LARGEST:
        content = vector.read_text()
        points = float(content.partition('width="')[2].partition("pt")[0] or 600)
        return themed(content, alt, 1.25 * points * 100 / 72)
    if not pixels.exists():
        return Markup("")
    return image(pixels.read_bytes(), "png", 0, alt)


def _runs(folder: Path, page: Path) -> list[tuple[str, str, str, str]]:
    """Variant, seed, status and place of every run behind a result."""
    if not (folder / MANIFEST).exists():
        return []
    made = []
    for member in Sweep(folder).members:
        place = member.run.folder
        target = place / "report.html" if (place / "report.html").is_file() else place
        address = quote(os.path.relpath(target.resolve(), page.resolve()).replace(os.sep, "/"))
        made.append((member.variant, str(member.run.config.seed), member.run.status, address))
    return made
