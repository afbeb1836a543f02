"""The page of a reproduced result holds its claim, numbers, verdict, deviations and command, and nothing is loaded."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unweave import plots
from unweave.errors import UnweaveError
from unweave.recipes.claims import Finding
from unweave.recipes.recipe import Conclusion, Recipe
from unweave.recipes.reproduce import conclude
from unweave.reports import write_result_report
from unweave.reports.result import claim_row


def conclusion(job: Any) -> Conclusion:
    job.note("Stand-in: <other> data.")
    findings = [
        Finding("difference of MIG", 0.3, published=0.25, low=0.25, high=0.35, p=0.0004),
        Finding("rank correlation", 0.1, low=-0.2, high=0.4, p=0.4),
    ]
    return Conclusion(
        [["model", "MIG"], ["A", "0.10"], ["B", "0.40"]], findings, {"bars": plots.kl_bars([2.0, 1.0])}
    )


RECIPE = Recipe("sbd-fig99", "Two & two", "B beats A.", "MIG 0.35 against 0.10 (table 9)", None, conclusion)


@pytest.fixture
def concluded(tmp_path: Path) -> Path:
    folder, _, _ = conclude(RECIPE, "small", tmp_path, None, kinds=("png", "svg"))
    return folder


def test_the_page_has_claim_numbers_verdict_deviations_and_command(
    concluded: Path, read: Callable[[Path], Any]
) -> None:
    path = write_result_report(concluded)
    assert path == concluded / "report.html"
    page = read(path)
    assert page.pictures[0] == "Two & two: bars"
    for text in (
        "Watters et al. 2019, Spatial Broadcast Decoder",
        "The claim: B beats A.",
        "does not show at this scale",
        "MIG 0.35 against 0.10 (table 9)",
        "difference of MIG agrees ours 0.3 0.25 to 0.35 published 0.25 p < 0.001",
        "rank correlation does not show at this scale ours 0.1 −0.2 to 0.4 published not given p 0.40",
        "Stand-in: <other> data.",
        "fewer or shorter runs than the paper's",
        "unweave reproduce sbd-fig99 --scale small",
        "B 0.40",
    ):
        assert text in page.text, text
    assert "var(--line-0)" in path.read_text().partition("<h1>")[2], "the figure follows the theme"


def test_a_figure_too_large_for_a_page_is_shown_as_png(
    concluded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unweave.reports.result.LARGEST", 10)
    assert '<img alt="Two &amp; two: bars"' in write_result_report(concluded).read_text()


def test_places_on_the_line_are_those_of_the_numbers() -> None:
    row = claim_row(Finding("a", 0.3, published=0.25, low=0.2, high=0.4, p=0.01).to_json())
    assert row.span == (4, 96)
    assert row.at == 50 and row.published_at == 27
    only = claim_row(Finding("a", 3.0).to_json())
    assert only.at is None and only.span is None and only.published == "not given"


def test_without_a_result_there_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(UnweaveError, match=re.escape("has no result.json: unweave reproduce ID writes one")):
        write_result_report(tmp_path)
