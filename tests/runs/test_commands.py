"""The commands about many runs, as a user types them."""

from pathlib import Path

import numpy as np
import pytest

from unweave import cli
from unweave.runs import Run
from unweave.runs.sweep import Sweep

pytestmark = pytest.mark.usefixtures("few_images")


def run(*words: str) -> int:
    try:
        cli.main(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a study with a run that diverges has been swept."""
    folder = tmp_path_factory.mktemp("commands")
    rng = np.random.default_rng(0)
    np.savez(folder / "own.npz", images=rng.random((60, 32, 32)), factors=rng.integers(0, 3, (60, 2)))
    base = (
        f"base: {{data: {folder / 'own.npz'}, latents: 2, batch_size: 4, steps: 3, "
        "encoder: {channels: [4, 4], hidden: [8]}, decoder: {channels: [4, 4], hidden: [8]}}\n"
    )
    (folder / "rates.yaml").write_text(base + "grid: {learning_rate: [1e-3, 1e30]}\nseeds: 1\n")
    (folder / "search.yaml").write_text(base + "search: {objective.beta: [1, 4]}\nseeds: 1\ntarget: elbo\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run("sweep", "rates.yaml", "--executor", "inline", "--quiet") == 0
    return folder


@pytest.fixture(autouse=True)
def inside(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


def test_sweep_leaves_runs_and_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert Sweep("runs/rates").statuses == {"finished": 1, "diverged": 1}
    assert "1 of 2 runs diverged" in Path("runs/rates/report.html").read_text()
    assert run("sweep", "rates.yaml", "--dry-run", "--seeds", "3") == 0
    told = capsys.readouterr().out
    assert "6 runs (2 variants x 3 seeds): 1 finished, 4 new, 1 diverged" in told
    assert "4 to do, about" in told
    assert run("sweep", "rates.yaml", "--dry-run") == 0
    assert "to do" not in capsys.readouterr().out
    assert run("report", "runs/rates", "--out", "elsewhere.html") == 0
    assert Path("elsewhere.html").exists()


def test_runs_are_listed_shown_compared_and_exported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("runs", "list", "status=diverged", "--columns", "seed,learning_rate,reason") == 0
    told = capsys.readouterr().out
    assert "1e+30" in told
    assert "the loss is" in told
    assert "1 runs" in told
    assert run("runs", "list", "data=arrays", "learning_rate<1", "--out", "table.csv") == 0
    capsys.readouterr()
    assert Path("table.csv").read_text().count("\n") == 2
    fine, wild = (member.run.folder for member in Sweep("runs/rates").members)
    assert run("runs", "show", fine.name) == 0
    assert "finished" in capsys.readouterr().out
    assert run("runs", "compare", fine.name, wild.name) == 0
    told = capsys.readouterr().out
    assert "learning_rate" in told
    assert "latents " not in told
    assert run("runs", "log", wild.name) == 0
    assert "diverged at step" in capsys.readouterr().out
    assert run("runs", "check") == 0
    assert "0 damaged files or lines" in capsys.readouterr().out
    assert run("runs", "track", fine.name) == 0
    assert list(Path("runs/tensorboard").rglob("events.out.tfevents.*"))


def test_runs_are_removed_only_when_asked_twice(capsys: pytest.CaptureFixture[str]) -> None:
    config = Run(Sweep("runs/rates").members[0].run.folder).config
    Run.create(config, Path("other/run"))
    assert run("runs", "rm", "status=new", "--root", "other", "--yes") == 0
    assert not Path("other/run").exists()
    assert run("runs", "rm", "status=failed", "--yes") == 0
    assert "no run meets" in capsys.readouterr().out


def test_tune_searches_and_writes_the_same_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tune", "search.yaml", "--trials", "1", "--executor", "inline") == 0
    told = capsys.readouterr().out
    assert "target elbo" in told
    assert "elbo -" in told
    assert "report: runs/search/report.html" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "nothing.yaml"], "there is no config file nothing.yaml"),
        (["sweep", "search.yaml"], "use unweave tune search.yaml"),
        (["tune", "rates.yaml"], "has no search"),
        (["sweep", "rates.yaml", "--executor", "slurn"], "unknown executor 'slurn': did you mean slurm?"),
        (["sweep", "rates.yaml", "--track", "wandbb"], "unknown tracker 'wandbb': did you mean wandb?"),
        (["sweep", "rates.yaml", "--metrics", "migg"], "unknown metric 'migg'"),
        (["runs", "list", "mgi>1"], "unknown key 'mgi'"),
        (["runs", "show", "nothing"], "there is no run nothing"),
        (["runs", "list", "--root", "nowhere"], "there is no folder nowhere"),
        (["runs", "list", "--sort", "-mgi"], "unknown key 'mgi'"),
        (["report", "runs"], "runs is not the folder of a run"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.strip().splitlines()) == 1
