import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from unweave.cli import cli

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert "steps=500" in code
    exec(code.replace("steps=500", "steps=1"), {})
    value, *interval = map(float, re.findall(r"-?[\d.]+", capsys.readouterr().out))
    assert 0 <= value <= 1
    if interval:  # an untrained model may have none
        low, high = interval
        assert low <= value <= high


def test_the_commands_exist() -> None:
    named = set(re.findall(r"^    unweave (\w+)", README, re.MULTILINE))
    assert named >= {"train", "evaluate", "report", "data", "options"}
    listed = CliRunner().invoke(cli, ["--help"]).output
    for command in named:
        assert f"  {command} " in listed
