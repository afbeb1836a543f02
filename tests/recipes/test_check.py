"""Stored verdicts are computed again: what was changed by hand is found, and so are runs of an older plan."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unweave.cli import cli
from unweave.errors import UnweaveError
from unweave.recipes.catalogue import RECIPES
from unweave.recipes.check import check, table
from unweave.recipes.claims import Finding, corrected, higher, paired, worst
from unweave.recipes.evidence import EVIDENCE
from unweave.recipes.published_results import evidence, published_results
from unweave.recipes.reproduce import RESULT, Result, conclude, plan, read_result, train
from unweave.runs.executors import Inline

A, B = [0.9, 0.7, 0.8, 0.95, 0.85], [0.5, 0.6, 0.4, 0.65, 0.3]


def result_of(*findings: Finding, name: str = "sbd-fig4") -> Result:
    judged = corrected(findings)
    stored = json.loads(json.dumps([finding.to_json() for finding in judged]))
    verdict = worst([finding.verdict for finding in judged])
    return Result(name, "small", "", "", "", "", [], stored, verdict, [], [], "")


def test_what_is_stored_comes_out_again() -> None:
    assert check(result_of(higher("one", A, B, published=0.3), paired("two", A, B))).ok


@pytest.mark.parametrize(
    ("key", "value"),
    [("value", 0.36), ("low", 0.1), ("high", 0.9), ("p", 0.04), ("corrected", 0.001), ("verdict", "agrees")],
)
def test_a_number_that_was_changed_is_found(key: str, value: Any) -> None:
    result = result_of(higher("one", A, B), paired("two", A, B))
    result.findings[0][key] = value  # type: ignore[literal-required]
    [sentence] = check(result).wrong
    assert key in sentence and "one" in sentence


def test_a_changed_seed_changes_more_than_its_verdict() -> None:
    result = result_of(higher("one", A, B))
    computed = result.findings[0]["computed"]
    assert computed is not None
    computed["a"][2] = 0.2
    wrong = " ".join(check(result).wrong)
    assert all(word in wrong for word in ("value", "low", "high", "p is"))


def test_a_verdict_that_was_changed_is_found() -> None:
    result = dataclasses.replace(result_of(higher("one", A, B)), verdict="agrees")
    assert check(result).wrong == ["sbd-fig4: the verdict is same direction, not agrees"]


def test_findings_without_values_are_named() -> None:
    result = result_of(Finding("no values", 1.0, p=0.01))
    assert check(result).unproved == ["no values"]


def test_p_is_corrected_over_the_paper_too() -> None:
    results = [result_of(higher("a", A, B)), result_of(higher("b", A, B), name="sbd-fig7")]
    head, first, _ = table([*results, result_of(higher("c", A, B), name="fac-fig5")])[:3]
    p = higher("a", A, B).p
    assert p is not None
    row = dict(zip(head, first, strict=True))
    assert row["n"] == "5 + 5" and row["p"] == f"{p:.3f}" == row["p (Holm, result)"]
    assert row["p (Holm, paper)"] == f"{2 * p:.3f}"


def test_a_replication_has_other_seeds_and_is_recorded_run_by_run(tmp_path: Path) -> None:
    recipe, changes = RECIPES["sbd-fig4"], {"seeds": {"count": 2, "first": 100}}
    sweep = plan([recipe], "smoke", tmp_path, changes)["sbd-fig4"]
    assert sweep is not None
    train([sweep], Inline())
    folder, result, _ = conclude(recipe, "smoke", tmp_path, sweep, changes)
    assert folder.name == "sbd-fig4+seeds-2-first-seed-100" and "--seeds 2 --first-seed 100" in result.command
    assert "An independent replication: 2 seeds, 100 to 101." in result.notes
    stored = json.loads((folder / EVIDENCE).read_text())
    assert [run["seed"] for run in stored["runs"]] == [100, 101, 100, 101]
    assert {run["status"] for run in stored["runs"]} == {"finished"}
    [found] = [each for each in read_result(folder / RESULT).findings if each["p"] is not None][:1]
    assert found["computed"] is not None and len(found["computed"]["a"]) == 2
    mine = {**stored["common"], **stored["variants"][stored["runs"][0]["variant"]]}
    assert mine["steps"] == sweep.members[0].run.config.steps and "seed" not in mine
    assert check(result, recipe, stored).ok
    plain = dataclasses.replace(result, changes="")
    assert check(plain, recipe, stored).stale == "0 of its 4 runs are among the 4 that are planned today"
    assert check(plain, recipe, None).stale == "no record of its runs"


def test_one_seed_for_all_replicas_is_refused() -> None:
    with pytest.raises(UnweaveError, match="count it several times"):
        RECIPES["sbd-fig4"].study("small", {"seed": 3})
    refused = CliRunner().invoke(cli, ["reproduce", "sbd-fig4", "seed=3", "--dry-run"])
    assert refused.exit_code != 0 and "--first-seed 3" in str(refused.exception)


def test_every_published_result_comes_out_as_it_is_stored() -> None:
    for name, known in published_results().items():
        if known.result is not None:
            assert check(known.result, RECIPES.get(known.result.id), evidence(name)).wrong == []
