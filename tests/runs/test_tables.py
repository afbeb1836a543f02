from pathlib import Path

import pytest

from unweave import runs
from unweave.errors import UnweaveError
from unweave.runs import Config, Run
from unweave.runs.run_index import RunEntries, RunEntry
from unweave.runs.tables import export

ENTRIES = RunEntries(
    [
        RunEntry(Path("runs/a'b"), {"seed": 0, "mig": 0.5, "fine": True, 'a "key", {odd}': "x", "mixed": 1}),
        RunEntry(Path("runs/b"), {"seed": 2**40, "mig": float("nan"), "fine": None, "mixed": "one"}),
        RunEntry(Path("runs/c"), {"seed": None, "mig": float("-inf"), "fine": False, "late": "ü\n"}),
    ]
)


def test_parquet_holds_every_value_with_its_type(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = export(ENTRIES, tmp_path / "it's" / "runs.parquet")
    found = duckdb.read_parquet(str(path))
    assert found.columns == ["folder", "seed", "mig", "fine", 'a "key", {odd}', "mixed", "late"]
    assert [str(kind) for kind in found.types] == [
        *("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "VARCHAR", "VARCHAR")
    ]
    first, second, third = found.fetchall()
    assert first == ("runs/a'b", 0, 0.5, True, "x", "1", None)
    assert second[:2] == ("runs/b", 2**40)
    assert second[2] != second[2]
    assert second[3:] == (None, None, "one", None)
    assert third == ("runs/c", None, float("-inf"), False, None, None, "ü\n")
    assert duckdb.read_parquet(str(export([], tmp_path / "none.parquet"))).fetchall() == []


def test_found_runs_are_a_data_frame(tmp_path: Path) -> None:
    pytest.importorskip(
        "pandas", reason="pandas is not installed here; `make trackers-test` runs this with it"
    )
    for seed in (0, 1, 2):
        Run.create(Config.read(words=["data=circles", f"seed={seed}"]), tmp_path / str(seed))
    frame = runs.find(["seed>0"], tmp_path).to_pandas()
    assert frame["seed"].tolist() == [1, 2]
    assert frame["folder"].tolist() == [str(tmp_path / "1"), str(tmp_path / "2")]
    assert frame["data"].tolist() == ["Circles", "Circles"]


def test_without_pandas_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(UnweaveError, match="a data frame needs pandas: pip install pandas; or export"):
        ENTRIES.to_pandas()
