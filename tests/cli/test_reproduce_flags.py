"""`unweave reproduce` hands every change of a part on to the recipes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from unweave import cli
from unweave.recipes import dry_run
from unweave.recipes.dry_run import DryRun
from unweave.recipes.reproduce import Cost
from unweave.runs.config import read_words


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Mapping[str, Any]]:
    """The changes that a dry run receives; names of parts are not looked up."""
    monkeypatch.chdir(tmp_path)
    changes: list[Mapping[str, Any]] = []

    def forecast(_: Any, __: Any, ___: Any, given: Mapping[str, Any]) -> DryRun:
        changes.append(given)
        return DryRun("sbd-fig4", "nothing to train", 0, "none", [], Cost(0, 0.0, 0.0), "nothing")

    monkeypatch.setattr(dry_run, "dry_run", forecast)
    monkeypatch.setattr("unweave.cli.reproduce._read_changes", read_words)
    return changes


@pytest.mark.parametrize(
    "slot",
    [
        *("data", "encoder", "decoder", "posterior", "prior"),
        *("likelihood", "objective", "pairing", "sampling", "model"),
    ],
)
@pytest.mark.parametrize("part", ["SpatialBroadcast", "my_parts:Tiny", "./my_parts.py:Tiny", "/a/b.py:Tiny"])
def test_a_flag_names_the_part_of_a_slot(received: list[Mapping[str, Any]], slot: str, part: str) -> None:
    cli.main(["reproduce", "sbd-fig4", "--dry-run", f"--{slot}", part])
    assert received == [{slot: {"name": part}}]


def test_options_are_flags_or_words(received: list[Mapping[str, Any]]) -> None:
    words = [
        "--decoder",
        "my_parts:Tiny",
        "--decoder.width",
        "4",
        "--prior.subspaces=[2,2]",
        "objective.beta=2",
    ]
    cli.main(["reproduce", "sbd-fig4", "--dry-run", *words, "steps=5"])
    decoder = {"name": "my_parts:Tiny", "width": 4}
    assert received == [
        {"decoder": decoder, "prior": {"subspaces": [2, 2]}, "objective": {"beta": 2}, "steps": 5}
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce", "sbd-fig4", "--decodr", "X"], "--decoder"),
        (["reproduce", "sbd-fig4", "--decodr.width", "4"], "--decodr.width"),
        (["reproduce", "sbd-fig4", "--decoder.width"], "--decoder.width needs a value"),
        (["reproduce", "sbd-fgi4"], "did you mean sbd-fig4?"),
        (["reproduce", "steps=3"], "which figure or table?"),
    ],
)
def test_a_wrong_flag_is_one_sentence(
    received: list[Mapping[str, Any]],
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(words)
    printed = capsys.readouterr().err
    assert end.value.code == 2
    assert message in printed
    assert len(printed.strip().splitlines()) == 1
    assert received == []
