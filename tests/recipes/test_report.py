"""The report on claims: where a claim stands follows from its verdicts, and no sentence outlives its number."""

import tomllib
from pathlib import Path

import pytest

from unweave.errors import UnweaveError
from unweave.papers import linked
from unweave.recipes.catalogue import PAPERS, RECIPES
from unweave.recipes.claims import Finding, corrected, equal, higher, worst
from unweave.recipes.published_results import published_results
from unweave.recipes.report import MEANINGS, filled, report_page, sentence, standing
from unweave.recipes.reproduce import Result

HIGH, LOW = [0.9, 0.8, 0.85, 0.95, 0.9], [0.1, 0.2, 0.15, 0.1, 0.2]
NOISE, OTHER = [0.5, 0.1, 0.9, 0.3, 0.7], [0.4, 0.2, 0.8, 0.35, 0.75]
DOCS = Path(__file__).parents[2] / "docs" / "results"


def made_up(*findings: Finding, name: str = "sbd-fig4") -> Result:
    judged = corrected(findings)
    records = [finding.to_json() for finding in judged]
    return Result(name, "small", "", "", "", "", [], records, worst([f.verdict for f in judged]), [], [], "")


SHOWS, SILENT, AGAINST = higher("a", HIGH, LOW), higher("b", NOISE, OTHER), higher("c", LOW, HIGH)


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([SHOWS], "Holds"),
        ([SHOWS, equal("d", 1.0, 1.0)], "Holds"),
        ([equal("d", 1.0, 1.0)], "Computed, not trained"),
        ([SHOWS, SILENT], "Holds in part"),
        ([SILENT], "Does not show"),
        ([SHOWS, AGAINST], "Opposite"),
        ([SILENT, AGAINST], "Opposite"),
    ],
)
def test_where_a_claim_stands(findings: list[Finding], expected: str) -> None:
    assert standing(made_up(*findings)) == expected


def test_what_was_solved_for_carries_no_claim() -> None:
    result = made_up(SHOWS, equal("d", 1.0, 1.0))
    result.findings[0]["verdict"] = "by construction"
    assert standing(result) == "Computed, not trained"
    result.findings[1]["verdict"] = "by construction"
    assert standing(result) == "By construction"


def test_a_sentence_has_the_corrected_p_and_says_whether_runs_were_enough() -> None:
    [shows, silent] = made_up(SHOWS, SILENT).findings
    assert sentence(shows).startswith("a: 0.73 (95 % interval 0.65")
    assert "p < 0.001" in sentence(shows) and "power" not in sentence(shows)
    assert f"{silent['detectable']:.3g} would have shown with 80 % power" in sentence(silent)
    silent["corrected"] = 0.5
    assert "p = 0.5" in sentence(silent)


def test_numbers_are_filled_in_and_missing_ones_are_errors() -> None:
    results = {"sbd-fig4": made_up(SHOWS, SILENT)}
    assert filled("by {sbd-fig4#0}.", results).startswith("by 0.73 ([sbd-fig4](sbd.md#sbd-fig4), 0.65")
    for gone in ("{sbd-fig4#2}", "{sbd-fig5#0}"):
        with pytest.raises(UnweaveError, match="not among the published results"):
            filled(gone, results)


def test_the_published_report_is_that_of_the_published_results() -> None:
    results = {
        name: known.result
        for name, known in published_results().items()
        if known.result is not None and not known.result.changes
    }
    opinions = tomllib.loads((DOCS / "opinions.toml").read_text())
    page = linked(report_page(PAPERS, list(RECIPES.values()), results, opinions))
    assert (DOCS / "report.md").read_text() == page, "python docs/make_results.py writes it"
    assert set(opinions) == {"all", *PAPERS}
    counted = [line.split("|")[2:-1] for line in page.splitlines() if line.startswith("| **")]
    assert sum(int(cell) for row in counted for cell in row) == len(RECIPES)
    assert len(counted) == len(MEANINGS)
