"""Completion by bash, which cuts words at ``=``."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from unweave.cli import cli
from unweave.cli.completion import KeyValueBash, rejoined


def completed(monkeypatch: pytest.MonkeyPatch, words: str, position: int) -> list[str]:
    """What is offered for words as bash cuts them."""
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(position))
    monkeypatch.setenv("_UNWEAVE_COMPLETE", "bash_complete")
    shell = KeyValueBash(cli, {}, "unweave", "_UNWEAVE_COMPLETE")
    return [item.value for item in shell.get_completions(*shell.get_completion_args())]


def test_commands_flags_and_data_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(monkeypatch, "unweave tra", 1) == ["train", "traverse"]
    assert completed(monkeypatch, "unweave train circles --min", 3) == ["--minutes"]
    assert completed(monkeypatch, "unweave train circ", 2)[0] == "circles"


def test_keys_and_values_of_words_that_bash_has_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(monkeypatch, "unweave train circles objective = Fac", 5) == ["FactorVAE"]
    assert completed(monkeypatch, "unweave train circles prior =", 4)[0] == "StandardNormal"
    assert completed(monkeypatch, "unweave train circles objective = FactorVAE deco", 6) == [
        "decoder=",
        *(f"{key}=" for key in completed_keys("decoder.")),
    ]
    assert "objective.gamma=" in completed(monkeypatch, "unweave train circles objective.ga", 3)


def completed_keys(start: str) -> list[str]:
    from unweave.cli.completion import _keys

    return [key for key in _keys() if key.startswith(start)]


def test_other_shells_get_whole_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_UNWEAVE_COMPLETE", "zsh_complete")
    shell = BashComplete(cli, {}, "unweave", "_UNWEAVE_COMPLETE")
    found = shell.get_completions(["train", "circles"], "objective=Fac")
    assert [item.value for item in found] == ["objective=FactorVAE"]


@pytest.mark.parametrize(
    ("cut", "typed"),
    [
        (["train", "a", "=", "1", "b", "=", "2"], ["train", "a=1", "b=2"]),
        (["train", "--out", "runs"], ["train", "--out", "runs"]),
        ([], []),
    ],
)
def test_words_are_put_together(cut: list[str], typed: list[str]) -> None:
    assert rejoined(cut) == typed


def test_bash_reads_the_script(tmp_path: Path) -> None:
    script = KeyValueBash(cli, {}, "unweave", "_UNWEAVE_COMPLETE").source()
    (tmp_path / "unweave").write_text(f"#!{sys.executable}\nfrom unweave.cli import main\n\nmain()\n")
    (tmp_path / "unweave").chmod(0o755)
    told = subprocess.run(
        ["bash", "-c", f"{script}\ncompopt() {{ :; }}\nCOMP_WORDS=({tmp_path}/unweave mod) COMP_CWORD=1\n"
         f"_unweave_completion {tmp_path}/unweave\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""],
        capture_output=True,
        text=True,
        check=True,
        env={"_UNWEAVE_COMPLETE": "", "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert told.stdout == "models\n"
