"""A short sample of the campaign of faults; `make torture` is the whole of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TORTURE = Path(__file__).parent / "torture.py"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
    """One process for all samples: it imports torch once and forks a child for each case."""
    folder = tmp_path_factory.mktemp("torture")
    counts = ["--kills", "12", "--damages", "16", "--constructors", "250", "--lines", "75"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, str(TORTURE), "--folder", str(folder), *counts],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return folder, ended


def test_nothing_is_wrong(campaign: tuple[Path, "subprocess.CompletedProcess[str]"]) -> None:
    _, ended = campaign
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert "0 wrong" in ended.stdout


def test_every_kind_of_fault_was_tried(campaign: tuple[Path, "subprocess.CompletedProcess[str]"]) -> None:
    folder, _ = campaign
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    kinds = {kind.split(",")[0].split(":")[0] for _, counts, _ in rows for kind in counts}
    assert {"kill at a write", "damage", "constructor", "command line"} <= kinds
    trained = [counts.get("command line: valid training", {}) for _, counts, _ in rows]
    passed = sum(found.get("survived", 0) for found in trained)
    assert passed >= 8, "many of the command lines pass validation and train"


def test_a_campaign_goes_on_where_it_stopped(
    campaign: tuple[Path, "subprocess.CompletedProcess[str]"],
) -> None:
    folder, first = campaign
    counts = ["--kills", "0", "--damages", "0", "--constructors", "250", "--lines", "75"]
    again = subprocess.run(
        [sys.executable, str(TORTURE), "--folder", str(folder), *counts],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert again.stdout == first.stdout, "nothing is tried twice, and the table is the same"
