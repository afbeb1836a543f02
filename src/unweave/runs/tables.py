"""Runs as tables of other software: CSV, Parquet, pandas."""

import csv
import io
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unweave import atomic
from unweave.errors import UnweaveError
from unweave.runs.run_index import RunEntry

if TYPE_CHECKING:
    from pandas import DataFrame


def to_pandas(entries: Sequence[RunEntry]) -> "DataFrame":
    """Runs as a pandas data frame: a row each, its folder, and a column for each key of any of them.

    Example:
        >>> to_pandas([RunEntry(Path("runs/a"), {"seed": 0, "mig": 0.5})])  # doctest: +SKIP
           folder  seed  mig
        0  runs/a     0  0.5
    """
    try:
        import pandas
    except ImportError as error:
        raise UnweaveError(
            "a data frame needs pandas: pip install pandas; or export the runs as .csv"
        ) from error
    columns, rows = _table(entries)
    return pandas.DataFrame(rows, columns=columns)


def export(entries: Sequence[RunEntry], path: Path) -> Path:
    """Write runs as a table, one row each: ``.csv``, or ``.parquet`` (with the extra ``parquet``).

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "runs.csv"
        >>> print(export([RunEntry(Path("runs/a"), {"seed": 0, "mig": 0.5})], path).read_text().strip())
        folder,seed,mig
        runs/a,0,0.5
    """
    columns, rows = _table(entries)
    if path.suffix == ".csv":
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        atomic.write(path, buffer.getvalue())
        return path
    if path.suffix != ".parquet":
        raise UnweaveError(
            f"runs are exported as .csv or .parquet, got {path.name}: change the file's ending"
        )
    return _parquet(columns, rows, path)


def _table(entries: Sequence[RunEntry]) -> tuple[list[str], list[list[Any]]]:
    """The keys of any of the runs, after their folder, and a row of values for each run."""
    columns = list(dict.fromkeys(key for entry in entries for key in entry.facts))
    return ["folder", *columns], [[str(entry.folder), *(entry[key] for key in columns)] for entry in entries]


def _parquet(columns: Sequence[str], rows: Sequence[Sequence[Any]], path: Path) -> Path:
    """Through DuckDB's own reader of JSON: its insertion of rows takes a millisecond for each."""
    try:
        import duckdb
    except ImportError as error:
        raise UnweaveError(
            "Parquet needs DuckDB: pip install 'unweave[parquet]'; or export as .csv"
        ) from error
    kinds = [_kind([row[i] for row in rows]) for i in range(len(columns))]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        lines = Path(folder) / "runs.jsonl"
        lines.write_text("".join(_line(row, kinds) for row in rows))
        # Columns are numbered in the file: a key may hold any character.
        types = ", ".join(f"c{i}: {_quoted(kind)}" for i, kind in enumerate(kinds))
        names = ", ".join(f'c{i} AS "{name.replace(chr(34), 2 * chr(34))}"' for i, name in enumerate(columns))
        source = f"read_json({_quoted(str(lines))}, format = 'newline_delimited', columns = {{{types}}})"
        try:
            database.execute(f"COPY (SELECT {names} FROM {source}) TO {_quoted(str(path))} (FORMAT parquet)")
        except duckdb.Error as error:
            raise UnweaveError(f"cannot write {path}: {str(error).splitlines()[0]}") from error
    return path


def _line(row: Sequence[Any], kinds: Sequence[str]) -> str:
    return (
        json.dumps(
            {f"c{i}": _plain(value, kind) for i, (value, kind) in enumerate(zip(row, kinds, strict=True))}
        )
        + "\n"
    )


def _plain(value: Any, kind: str) -> Any:
    """As JSON: a column of texts holds texts only, and numbers that JSON lacks are texts that DuckDB reads."""
    if value is None or isinstance(value, str):
        return value
    if kind == "VARCHAR" or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _kind(values: Sequence[Any]) -> str:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool) for value in present):
        return "BOOLEAN"
    if present and all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        return "BIGINT"
    if present and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return "DOUBLE"
    return "VARCHAR"
