"""`unweave demo`: two trainings, two pages; what it shows is what it promises."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent.parent / "explorer"))

from page_content import kept_in

from unweave.cli import cli
from unweave.recipes import demo
from unweave.runs import Config, Run

FOLDERS = ("deconv", "spatialbroadcast")


def test_it_writes_a_page_about_both_and_one_to_touch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ["data=circles", "data.size=32", "steps=2", "batch_size=4", "latents=3", "encoder=MLP"]
    configs = {
        "DeConv VAE": Config.read(words=[*small, "decoder=Deconv", "decoder.channels=[4,4,4]"]),
        "Spatial Broadcast VAE": Config.read(
            words=[*small, "decoder=SpatialBroadcast", "decoder.width=4", "seed=5"]
        ),
    }
    monkeypatch.setattr(demo, "demo_configs", lambda seed: configs)
    given = CliRunner().invoke(cli, ["demo", "--out", str(tmp_path / "demo")])
    assert given.exit_code == 0, given.output
    for name, config in zip(FOLDERS, configs.values(), strict=True):
        run = Run(tmp_path / "demo" / name)
        assert (run.status, run.config.identity) == ("finished", config.identity)
    text = (tmp_path / "demo" / "report.html").read_text()
    assert f"<h1>{demo.TITLE}</h1>" in text
    assert all(name in text for name in configs)
    facts = json.loads(kept_in(tmp_path / "demo" / "explore.html", "facts"))
    assert [run["label"] for run in facts["runs"]] == list(configs)


@pytest.mark.slow
def test_one_decoder_maps_the_plane_and_the_other_folds_it(tmp_path: Path) -> None:
    """The command as it stands, in minutes: what SBD figure 4 shows."""
    given = CliRunner().invoke(cli, ["demo", "--out", str(tmp_path / "demo"), "--quiet"])
    assert given.exit_code == 0, given.output
    folded, flat = (Run(tmp_path / "demo" / name).scores["geometry"]["value"] for name in FOLDERS)
    assert flat > 0.9
    assert folded < 0.5
