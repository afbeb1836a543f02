"""Codes and factors from files of any origin: npz, npy, csv and parquet."""

import csv
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.errors import UnweaveError
from unweave.metrics.metric import ARRAYS, Encoded

CODES = ("z*", "code*", "latent*", "mean*", "mu*")
"""Columns of a table that are codes, if none are named; those of ``SCALES`` are scales, all others factors."""
SCALES = ("scale*", "sigma*", "std*")
NEITHER = ("image", "kl_z*")
"""Columns of what ``unweave encode`` writes that are neither codes nor scales nor factors."""


def load_encoded(
    path: Path | str, *, latents: Sequence[str] | None = None, factors: Sequence[str] | None = None
) -> Encoded:
    r"""The arrays of a file.

    * npz: ``codes`` (or ``means``), and ``factors``, ``scales``, ``factor_names`` and ``latent_names`` if it has them;
    * npy: codes alone;
    * csv and parquet: a named column for each latent and each factor. Columns called z..., code..., latent..., mean...
      or mu... are codes, scale..., sigma... or std... scales, all others factors; words are classes. (Parquet needs
      duckdb, ``pip install 'unweave[parquet]'``.)

    Args:
        path: of the file.
        latents: names of the columns of a table that are codes, or patterns such as ``"z*"``.
        factors: likewise of the factors; all other columns by default.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "codes.csv"
        >>> _ = path.write_text("z0,z1,shape\n0.1,0.2,square\n0.3,0.1,heart\n")
        >>> encoded = load_encoded(path)
        >>> encoded.codes.shape, encoded.factor_names, encoded.factors.tolist()
        ((2, 2), ('shape',), [[1], [0]])

    """
    path = Path(path)
    if not path.is_file():
        raise UnweaveError(f"{path} does not exist" if not path.exists() else f"{path} is not a file")
    kind = path.suffix.lower()
    if kind in (".csv", ".parquet", ".pq"):
        table = _read_csv(path) if kind == ".csv" else _read_parquet(path)
        return _of_columns(path, table, latents, factors)
    if latents is not None or factors is not None:
        raise UnweaveError(f"columns have names in csv and parquet files only, got {path.name}")
    if kind == ".npy":
        return Encoded.of(_load(path))
    if kind == ".npz":
        return _of_arrays(path)
    raise UnweaveError(f"{path} must be an npz, npy, csv or parquet file, got the ending {kind or 'none'!r}")


def load_codes(path: Path | str) -> NDArray[np.float64]:
    r"""The codes (n, latents) of a file as :func:`load_encoded` reads it, whatever else it holds.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "codes.csv"
        >>> _ = path.write_text("image,z0,z1,std_z0\na.png,0.1,0.2,0.5\n")
        >>> load_codes(path).tolist()
        [[0.1, 0.2]]

    """
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".parquet", ".pq"):
        return load_encoded(path).codes
    if not path.is_file():
        raise UnweaveError(f"{path} does not exist" if not path.exists() else f"{path} is not a file")
    table = _read_csv(path) if path.suffix.lower() == ".csv" else _read_parquet(path)
    names = _matching("codes", path, table, CODES)
    _check_numbers(path, table, names)
    return np.stack([table[name] for name in names], axis=1).astype(np.float64)


def _load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except Exception as error:  # whatever numpy raises for a file that is not its own
        raise UnweaveError(f"{path} is not a file of arrays: {str(error).splitlines()[0]}") from None


def _of_arrays(path: Path) -> Encoded:
    names = (*ARRAYS, "means", "factor_names", "latent_names")
    try:
        with _load(path) as file:
            arrays = {name: file[name] for name in file.files if name in names}
    except UnweaveError:
        raise
    except Exception as error:  # a damaged archive, or objects that would have to be unpickled
        raise UnweaveError(f"{path} is not an npz file of arrays: {str(error).splitlines()[0]}") from None
    codes = arrays.get("codes", arrays.get("means"))
    if codes is None:
        raise UnweaveError(
            f"{path} must hold an array codes (n, latents), and factors (n, K) and scales if known; "
            f"write it with np.savez({str(path)!r}, codes=..., factors=...)"
        )
    named = {key: arrays[key].tolist() for key in ("factor_names", "latent_names") if key in arrays}
    return Encoded.of(codes, arrays.get("factors"), arrays.get("scales"), **named)


def _read_csv(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnweaveError(f"{path} is not a csv file: {error}") from None
    if len(rows) < 2:
        raise UnweaveError(
            f"{path} must have a line of names and a line for each sample, got {len(rows)} lines"
        )
    wrong = next((k for k, row in enumerate(rows) if len(row) != len(rows[0])), None)
    if wrong is not None:
        raise UnweaveError(
            f"{path} has {len(rows[0])} names, but line {wrong + 1} has {len(rows[wrong])} values"
        )
    return {name.strip(): _values(column) for name, *column in zip(*rows, strict=True)}


def _values(column: Sequence[str]) -> NDArray[Any]:
    """Whole numbers, numbers, or words."""
    for kind in (np.int64, np.float64):
        try:
            return np.array(column, dtype=kind)
        except ValueError:
            continue
    return np.array([each.strip() for each in column])


def _read_parquet(path: Path) -> dict[str, NDArray[Any]]:
    try:
        import duckdb
    except ImportError:
        raise UnweaveError("parquet files need duckdb: pip install 'unweave[parquet]'") from None
    try:
        with duckdb.connect() as database:
            found = database.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchnumpy()
    except duckdb.Error as error:
        raise UnweaveError(f"{path} is not a parquet file: {str(error).splitlines()[0]}") from None
    columns = {}
    for name, column in found.items():
        if np.ma.is_masked(column):
            raise UnweaveError(f"the column {name} of {path} has empty cells: fill or leave out these rows")
        plain = np.asarray(column)
        columns[name] = plain.astype(str) if plain.dtype.kind == "O" else plain
    return columns


def _of_columns(
    path: Path, table: dict[str, NDArray[Any]], latents: Sequence[str] | None, factors: Sequence[str] | None
) -> Encoded:
    codes = _matching("codes", path, table, latents or CODES)
    scales = [
        name for name in table if name not in codes and any(fnmatchcase(name.lower(), p) for p in SCALES)
    ]
    scales = scales if len(scales) == len(codes) else []
    rest = [
        name
        for name in table
        if name not in codes and name not in scales and not any(fnmatchcase(name.lower(), p) for p in NEITHER)
    ]
    chosen = rest if factors is None else _matching("factors", path, table, factors)
    _check_numbers(path, table, [*codes, *scales])
    classes = {
        name: table[name] if table[name].dtype.kind in "iufb" else _numbered(table[name]) for name in chosen
    }
    return Encoded.of(
        np.stack([table[name] for name in codes], axis=1),
        np.stack(list(classes.values()), axis=1) if classes else None,
        np.stack([table[name] for name in scales], axis=1) if scales else None,
        factor_names=list(classes) or None,
        latent_names=codes,
    )


def _check_numbers(path: Path, table: dict[str, NDArray[Any]], names: Sequence[str]) -> None:
    for name in names:
        if table[name].dtype.kind not in "iufb":
            raise UnweaveError(
                f"the column {name} of {path} must hold numbers, got words such as {table[name][0]!r}"
            )


def _numbered(words: NDArray[Any]) -> NDArray[Any]:
    return np.unique(words, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _matching(what: str, path: Path, table: dict[str, NDArray[Any]], patterns: Sequence[str]) -> list[str]:
    """The columns that match a pattern, in the order of the file; every pattern that was given must match."""
    found = [name for name in table if any(fnmatchcase(name.lower(), p.lower()) for p in patterns)]
    idle = [p for p in patterns if not any(fnmatchcase(name.lower(), p.lower()) for name in table)]
    if not found or (idle and patterns is not CODES):
        raise UnweaveError(
            f"no column of {path} is called {', '.join(idle or patterns)}, which the {what} should be; "
            f"there are {', '.join(table)}"
        )
    return found
