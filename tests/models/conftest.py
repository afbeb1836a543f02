from pathlib import Path

import pytest

from unweave.runs import Config, Run
from unweave.runs.evaluation import evaluate, relations_of

SMALL = [
    *("latents=3", "batch_size=8", "steps=3", "learning_rate=1e-3"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A small finished run with scores; nothing may change it."""
    config = Config.read(words=["data=circles", "data.size=32", *SMALL])
    run = Run.create(config, tmp_path_factory.mktemp("runs") / "finished", "unweave train circles ...")
    assert run.train().status == "finished"
    relations_of(run, evaluate(run))
    return run


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside, whoever builds a data set fails: a model must not need one."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a data set was built")

    monkeypatch.setattr(Config, "make_dataset", refuse)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
