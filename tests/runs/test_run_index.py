import csv
import json
import logging
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from unweave.errors import UnweaveError
from unweave.runs.check import damage
from unweave.runs.run_index import Condition, RunIndex
from unweave.runs.tables import export


def make(root: Path, name: str, *, status: str = "finished", **facts: object) -> Path:
    """A run folder as the index reads it."""
    folder = root / name
    folder.mkdir(parents=True)
    config = {
        "data": {"name": "DSprites"},
        "objective": {"name": facts.pop("objective", "FactorVAE"), "gamma": facts.pop("gamma", 10.0)},
        "decoder": {"name": "Deconv", "channels": [32, 32]},
        "steps": 100,
        "seed": facts.pop("seed", 0),
    }
    (folder / "run.json").write_text(
        json.dumps({"identity": name * 8, "created": "2026-01-01", "config": config})
    )
    (folder / "status.json").write_text(json.dumps({"status": status, "step": 100, "seconds": 5.0}))
    (folder / "history.jsonl").write_text('{"step": 50, "total": 9.5, "kl_per_latent": [1.0]}\n')
    (folder / "scores.json").write_text(json.dumps({k: {"name": k, "value": v} for k, v in facts.items()}))
    if status == "finished":
        (folder / "model.safetensors").write_bytes(save({"weight": torch.zeros(2)}))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make(tmp_path, "study/a", gamma=10.0, mig=0.1)
    make(tmp_path, "study/b", gamma=20.0, mig=0.3, seed=1)
    make(tmp_path, "study/c", gamma=40.0, mig=0.2, seed=2)
    make(tmp_path, "d", objective="BetaVAE", status="diverged")
    return tmp_path


def names(store: RunIndex, *conditions: str, sort: str | None = None) -> list[str]:
    return [entry.folder.name for entry in store.find(conditions, sort=sort)]


def test_questions_are_answered(root: Path) -> None:
    store = RunIndex(root)
    assert names(store) == ["d", "a", "b", "c"]
    assert names(store, "objective=FactorVAE", "data=dSprites", "objective.gamma>10") == ["b", "c"]
    assert names(store, "objective=factor-vae", "objective.gamma<=10") == ["a"]
    assert names(store, "objective!=FactorVAE") == ["d"]
    assert names(store, "status=diverged") == ["d"]
    assert names(store, "mig>=0.2", sort="-mig") == ["b", "c"]
    assert names(store, sort="mig") == ["a", "c", "b", "d"], "those without the key come last"
    assert names(store, "seed=2") == names(store, "seed=2.0") == ["c"]
    assert names(store, "decoder.channels=32 32", "objective.gamma=40") == ["c"]
    entry = store.find(["seed=1"])[0]
    assert entry["mig"] == 0.3
    assert (entry["step"], entry["last.total"], entry["seconds"]) == (100, 9.5, 5.0)


def test_the_index_follows_the_folders(root: Path) -> None:
    store = RunIndex(root)
    assert store.refresh() == 4
    assert store.refresh() == 0, "nothing changed, nothing is read"
    new = make(root, "study/e", gamma=50.0, mig=0.9)
    (root / "study" / "a" / "scores.json").unlink()
    assert names(store, "mig>0.15", sort="-mig") == ["e", "b", "c"]
    scores = root / "study" / "b" / "scores.json"
    replacement = scores.with_suffix(".new")
    replacement.write_text(json.dumps({"mig": {"value": 0.01}}))
    os.replace(replacement, scores)
    assert names(store, "mig>0.15", sort="-mig") == ["e", "c"]
    store.remove([new])
    assert not new.exists()
    assert names(store, "mig>0.15") == ["c"]


def test_the_index_is_made_anew_when_it_is_damaged_or_gone(root: Path) -> None:
    store = RunIndex(root)
    before = [entry.facts for entry in store.find()]
    store.close()
    store.path.write_bytes(b"this is no database at all, whatever its name says" * 100)
    assert [entry.facts for entry in RunIndex(root).find()] == before
    fresh = RunIndex(root)
    assert fresh.rebuild() == 4
    assert [entry.facts for entry in fresh.find()] == before


@pytest.mark.parametrize("name", ["run.json", "status.json", "scores.json"])
def test_a_corrupted_line_is_reported_and_its_run_left_out(
    root: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = root / "study" / "b" / name
    text = path.read_text()
    path.write_text(text[: len(text) // 2] + "\x00\x01" + text[len(text) // 2 + 2 :])
    store = RunIndex(root)
    with caplog.at_level(logging.WARNING, "unweave"):
        store.rebuild()
    assert names(store) == ["d", "a", "c"]
    assert list(store.problems()) == [root / "study" / "b"]
    assert f"cannot read {path}" in caplog.text
    assert [sentence for sentence in damage(root / "study" / "b") if name in sentence]


def test_a_corrupted_line_of_history_is_reported_and_passed_over(root: Path) -> None:
    folder = root / "study" / "b"
    with (folder / "history.jsonl").open("a") as file:
        file.write('{"step": 60, "tot\x00\n{"step": 70, "total": 8.0}\n{"step": 80, "to')
    assert [sentence for sentence in damage(folder) if "history" in sentence] == [
        f"{folder / 'history.jsonl'}, line {line}, is no record: it is skipped" for line in (2, 4)
    ]
    assert RunIndex(root).find(["seed=1"])[0]["last.total"] == 8.0


def test_a_run_whose_process_is_gone_is_interrupted(root: Path) -> None:
    make(root, "e", status="running", seed=9)
    assert RunIndex(root).find(["seed=9"])[0]["status"] == "interrupted"


def test_runs_are_located_by_folder_label_and_identity(root: Path) -> None:
    store = RunIndex(root)
    make(root, "other/ab")
    assert store.locate(str(root / "d")) == store.locate("d") == root / "d"
    assert store.locate("study/c") == root / "study" / "c"
    assert store.locate("study/cstudy/c") == root / "study" / "c"
    with pytest.raises(UnweaveError, match="may be any of 2 runs"):
        store.locate("a")
    with pytest.raises(UnweaveError, match="there is no run zzz"):
        store.locate("zzz")


def test_tables_hold_every_run_and_key(root: Path) -> None:
    found = RunIndex(root).find()
    with export(found, root / "out" / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["objective"], row["objective.gamma"], row["mig"]) for row in rows] == [
        ("BetaVAE", "10.0", ""),
        ("FactorVAE", "10.0", "0.1"),
        ("FactorVAE", "20.0", "0.3"),
        ("FactorVAE", "40.0", "0.2"),
    ]
    import duckdb

    path = export(found, root / "out" / "runs.parquet")
    table = duckdb.sql(f"SELECT folder, \"objective.gamma\", mig, seed FROM '{path}' ORDER BY mig").fetchall()
    assert table[:3] == [
        (str(root / "study" / name), gamma, value, seed)
        for name, gamma, value, seed in (("a", 10.0, 0.1, 0), ("c", 40.0, 0.2, 2), ("b", 20.0, 0.3, 1))
    ]
    assert table[3][2] is None
    with pytest.raises(UnweaveError, match="change the file's ending"):
        export(found, root / "runs.xlsx")


def test_mistakes_are_told(root: Path) -> None:
    store = RunIndex(root)
    with pytest.raises(UnweaveError, match=r"unknown key 'objective.gama': did you mean objective.gamma"):
        store.find(["objective.gama>1"])
    for wrong in ("objective", "mig>high", "=3"):
        with pytest.raises(UnweaveError, match="expected a condition"):
            Condition.read(wrong)
    with pytest.raises(UnweaveError, match="there is no folder"):
        RunIndex(root / "nowhere")
    with pytest.raises(UnweaveError, match="is not the folder of a run"):
        store.remove([root])
    assert root.exists()
