"""A short sample of the campaign of faults; `make torture` is the whole of it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from unweave import cli

sys.path.insert(0, str(Path(__file__).parent))

from campaign import fuzz
from campaign.disks import UNAVAILABLE
from campaign.record import BEGIN, DOCS, END, RESULTS, Table, markdown, summary

TORTURE = Path(__file__).parent / "torture.py"


SAMPLES = {
    "short": {
        "constructors": 120,
        "kills": 5,
        "damages": 8,
        "repairs": 4,
        "models": 4,
        "disks": 4,
        "lines": 40,
    },
    "long": {
        "constructors": 250,
        "kills": 8,
        "damages": 12,
        "repairs": 6,
        "models": 6,
        "disks": 5,
        "lines": 75,
    },
}
NOT_SAMPLED = {"workers": 0, "ray": 0}


def torture(folder: Path, sample: str) -> "subprocess.CompletedProcess[str]":
    """A sample in one process: it imports torch once and forks a child for each case."""
    counts = [
        word for part, most in {**SAMPLES[sample], **NOT_SAMPLED}.items() for word in (f"--{part}", str(most))
    ]
    return subprocess.run(
        [sys.executable, str(TORTURE), "--folder", str(folder), *counts],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


Campaign = tuple[Path, str, "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module", params=["short", pytest.param("long", marks=pytest.mark.slow)])
def campaign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("torture")
    return folder, request.param, torture(folder, request.param)


def test_nothing_is_wrong(campaign: Campaign) -> None:
    _, _, ended = campaign
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert "\n0 wrong; " in ended.stdout


def test_every_kind_of_fault_was_tried(campaign: Campaign) -> None:
    folder, sample, ended = campaign
    counts = Table(folder).content()["counts"]
    kinds = {kind.split(",")[0].split(":")[0] for kind in counts}
    assert {"kill between two writes", "damage", "constructor", "command line", "repair"} <= kinds
    assert "full disk" in kinds or UNAVAILABLE in ended.stdout
    most = SAMPLES[sample]["lines"]
    assert counts["command line: valid training"]["survived"] >= most // 10, "many pass validation and train"


@pytest.mark.slow
def test_a_campaign_goes_on_where_it_stopped(campaign: Campaign) -> None:
    """The end of what is recorded is forgotten, as if the campaign had been killed: that is tried again, no more."""
    folder, sample, first = campaign
    path = folder / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: -len(lines) // 12]))
    again = torture(folder, sample)
    assert again.stdout == first.stdout, "the table is the same"
    names = [json.loads(line)["name"] for line in path.read_text().splitlines()]
    assert len(names) == len(set(names)) == len(lines)


def test_the_docs_tell_the_counts_of_the_campaign() -> None:
    """The table of docs/reliability.md is the one that the script has counted, and the campaign is complete."""
    content = json.loads(RESULTS.read_text())
    assert f"{BEGIN}\n{markdown(content)}\n{END}" in DOCS.read_text()
    assert content["wrong"] == []
    assert summary(content)["wrong"] == 0


@pytest.mark.parametrize("words", [(), ("raise TimeoutError",)])
def test_a_command_that_hangs_is_counted_as_one(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Even if what interrupts it is caught and told as a sentence."""
    monkeypatch.setattr(fuzz, "SECONDS", 0.2)

    def hangs(given: list[str]) -> None:
        try:
            signal.pause()
        except TimeoutError:
            if given:
                raise
            sys.exit(2)

    monkeypatch.setattr(cli, "main", hangs)
    before = signal.getsignal(signal.SIGALRM)
    try:
        assert fuzz._execute(list(words))[0] == "hang"
    finally:
        signal.signal(signal.SIGALRM, before)
