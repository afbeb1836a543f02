import re
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import unweave
from unweave.cli import cli

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    _, code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)  # the first is the file of the next test
    assert "steps=500" in code
    exec(code.replace("steps=500", "steps=1"), {})
    value, *interval = map(float, re.findall(r"-?[\d.]+", capsys.readouterr().out))
    assert 0 <= value <= 1
    if interval:  # an untrained model may have none
        low, high = interval
        assert low <= value <= high


def test_the_part_of_ones_own_is_a_decoder_with_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _ = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "my_parts.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    decoder = {"name": "./my_parts.py:TinyDecoder", "width": 16}
    vae = unweave.VAE.assemble((3, 16, 16), latents=2, encoder="MLP", decoder=decoder)
    assert vae.decoder(torch.zeros(5, 2)).shape == (5, 3, 16, 16)
    assert vae.decoder[0].out_features == 16


def test_the_commands_exist() -> None:
    named = set(re.findall(r"^    unweave (\w+)", README, re.MULTILINE))
    assert named >= {"train", "evaluate", "report", "data", "options"}
    listed = CliRunner().invoke(cli, ["--help"]).output
    for command in named:
        assert f"  {command} " in listed
