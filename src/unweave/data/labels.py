"""Factors of the user's own images: from a table beside them, or from the names of their folders."""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError

TABLE = "labels.csv"
"""Read by default, if the folder has it."""

MOST_VALUES, CLASSES = 20, 10
"""A column of numbers with more different values than the first is cut into so many classes of equal size."""

NAMED = 5
"""Files that an error names at most."""


@dataclass(frozen=True)
class Labels:
    """The factors of some images.

    Args:
        space: names and numbers of classes.
        classes: (n, K) of each image.
        values: what each class stands for: a word, a number, or the mean of the numbers in it.
        source: where they come from, for people.
        by_table: whether a file holds them, else the names of folders.

    Example:
        >>> folders(Path("/p"), (Path("/p/cats/a.png"), Path("/p/dogs/b.png"))).values[0].tolist()
        ['cats', 'dogs']
    """

    space: FactorSpace
    classes: NDArray[np.int64]
    values: tuple[NDArray[Any], ...]
    source: str
    by_table: bool

    @property
    def summary(self) -> str:
        """One line: each factor with its number of classes.

        Example:
            >>> folders(Path("/p"), (Path("/p/cats/a.png"), Path("/p/dogs/b.png"))).summary
            'names of folders give the factor folder (2 classes)'
        """
        factors = ", ".join(
            f"{name} ({size} classes)" for name, size in zip(self.space.names, self.space.sizes, strict=True)
        )
        return f"{self.source} the factor{'s' if len(self.space) > 1 else ''} {factors}"


def find_labels(root: Path, files: tuple[Path, ...], choice: str = "auto") -> Labels | None:
    """The factors of image files.

    Args:
        root: the folder.
        files: the images in it.
        choice: a csv file (absolute, or in the folder); ``folders``; ``none``; ``auto``: ``labels.csv`` if the folder
            has one, else the names of the folders if every image lies in one and they differ.

    Example:
        >>> find_labels(Path("/p"), (Path("/p/a.png"),)) is None
        True
    """
    if choice == "none" or not files:
        return None
    if choice == "folders":
        return folders(root, files)
    if choice != "auto":
        return table(root / choice, root, files)
    if (root / TABLE).is_file():
        return table(root / TABLE, root, files)
    tops = {file.relative_to(root).parts[:-1][:1] for file in files}
    return folders(root, files) if len(tops) > 1 and () not in tops else None


def folders(root: Path, files: tuple[Path, ...]) -> Labels:
    """One factor: the folder, directly below `root`, in which each image lies.

    Example:
        >>> folders(Path("/p"), (Path("/p/b/1.png"), Path("/p/a/x/2.png"))).classes.tolist()
        [[1], [0]]
    """
    parts = [file.relative_to(root).parts for file in files]
    if any(len(each) < 2 for each in parts):
        outside = next(file for file, each in zip(files, parts, strict=True) if len(each) < 2)
        raise UnweaveError(
            f"{outside} lies in no subfolder, so folders are no classes: omit data.labels=folders"
        )
    return _labels({"folder": np.array([each[0] for each in parts])}, "names of folders give", by_table=False)


def table(path: Path, root: Path, files: tuple[Path, ...]) -> Labels:
    r"""The columns of a csv file whose first column names the images, by path below `root` or by name.

    Columns of words, and of numbers with at most 20 different values, have a class for each value; other numbers are
    cut into ten classes of equal size.

    Example:
        >>> import tempfile
        >>> root = Path(tempfile.mkdtemp())
        >>> _ = (root / "labels.csv").write_text("file,kind\nb.png,dog\na.png,cat\n")
        >>> table(root / "labels.csv", root, (root / "a.png", root / "b.png")).classes.tolist()
        [[0], [1]]
    """
    names, rows = _read(path)
    places = _places(path, [row[0].strip() for row in rows])
    found = [_place(file, root, places) for file in files]
    missing = [file.name for file, place in zip(files, found, strict=True) if place is None]
    if missing:
        raise UnweaveError(
            f"{path} has no line for {len(missing):,} of {len(files):,} images ({_few(missing)}): "
            f"add them, or use data.labels=none"
        )
    columns = {}
    for k, name in enumerate(names[1:], 1):
        cells = [rows[place][k].strip() for place in found if place is not None]
        if empty := [file.name for file, cell in zip(files, cells, strict=True) if not cell]:
            raise UnweaveError(
                f"the column {name!r} of {path} is empty for {len(empty):,} images ({_few(empty)}): "
                f"fill or remove the column, or use data.labels=none"
            )
        columns[name] = _numbers(cells)
    return _labels(columns, f"{path.name} gives", by_table=True)


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    if not path.is_file():
        raise UnweaveError(f"there is no table {path}: give a csv file, folders or none as data.labels")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnweaveError(f"{path} is not a csv file: {error}") from None
    if len(rows) < 2 or len(rows[0]) < 2:
        raise UnweaveError(
            f"{path} must have a line of names and a line for each image: its file name, then its labels"
        )
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise UnweaveError(f"{path} has {len(rows[0])} names, but line {number} has {len(row)} values")
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names):
        raise UnweaveError(f"the names of the columns of {path} must differ, got {', '.join(names)}")
    return names, rows[1:]


def _places(path: Path, keys: list[str]) -> dict[str, int]:
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        raise UnweaveError(f"{path} has several lines for {_few(twice)}: keep one of each")
    return {key: row for row, key in enumerate(keys)}


def _place(file: Path, root: Path, places: dict[str, int]) -> int | None:
    """The row of a file: by its path in the folder, its name, or either without the ending."""
    inside = file.relative_to(root)
    names = (inside.as_posix(), inside.name, inside.with_suffix("").as_posix(), inside.stem)
    return next((places[name] for name in names if name in places), None)


def _numbers(cells: Sequence[str]) -> NDArray[Any]:
    """Numbers, if all of them are; else words."""
    try:
        values = np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array(cells)
    return values if np.isfinite(values).all() else np.array(cells)


def _labels(columns: dict[str, NDArray[Any]], source: str, *, by_table: bool) -> Labels:
    made = [_classes(column) for column in columns.values()]
    space = FactorSpace(list(columns), [len(values) for _, values in made])
    classes = np.stack([classes for classes, _ in made], axis=1).astype(np.int64)
    return Labels(space, classes, tuple(values for _, values in made), source, by_table)


def _classes(column: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Class of each cell, and what each class stands for."""
    values, classes = np.unique(column, return_inverse=True)
    if column.dtype.kind != "f" or len(values) <= MOST_VALUES:
        return classes.reshape(-1), values
    bounds = np.unique(np.quantile(column, np.linspace(0, 1, CLASSES + 1)[1:-1]))
    cut = np.unique(np.searchsorted(bounds, column, side="right"), return_inverse=True)[1].reshape(-1)
    return cut, np.array([column[cut == c].mean() for c in range(cut.max() + 1)])


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED:,} more"
