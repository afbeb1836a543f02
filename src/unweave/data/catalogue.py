"""The data sets and the state of their files: rendered here, found, missing; and whether the files are right."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unweave.data.files import OriginalFile, data_folder
from unweave.data.registry import DATASETS
from unweave.errors import UnweaveError, plain, unknown

MADE = {"DSprites", "ColoredSprites", "BusySprites", "Shapes3D"}
"""Sets that have original files but need none."""

LIKENESSES = {"Shapes3D"}
"""Those of them whose rendering resembles the original; that of the others is the original, pixel for pixel."""


@dataclass(frozen=True)
class CatalogueEntry:
    """One data set of the catalogue.

    ``state`` is ``made here``, ``here`` (its files are), ``partly here`` or ``missing``.

    Example:
        >>> next(entry for entry in catalogue() if entry.name == "Circles").state
        'made here'
    """

    name: str
    state: str
    description: str
    here: tuple[OriginalFile, ...]
    missing: tuple[OriginalFile, ...]
    stand_in: str


def catalogue() -> list[CatalogueEntry]:
    """Every data set and which of its files are found.

    Example:
        >>> {entry.state for entry in catalogue()} <= {"made here", "here", "partly here", "missing", "yours"}
        True
    """
    entries = []
    for name, cls in DATASETS.items():
        here = tuple(file for file in cls.originals if file.find() is not None)
        missing = tuple(file for file in cls.originals if file not in here)
        if not cls.originals or name in MADE:
            state = "yours" if name in ("Folder", "Arrays") else "made here"
        else:
            state = (
                "here" if not any(file.needed for file in missing) else "partly here" if here else "missing"
            )
        entries.append(CatalogueEntry(name, state, cls.description, here, missing, cls.stand_in))
    return entries


def where_to_get(entries: Sequence[CatalogueEntry]) -> list[str]:
    """One paragraph for every set with missing files: which files, from where, where to put them, what to use now.

    Example:
        >>> lines = where_to_get([entry for entry in catalogue() if entry.name == "Circles"])
        >>> lines
        []
    """
    paragraphs = []
    for entry in entries:
        if not entry.missing:
            continue
        first = entry.missing[0]
        folders = ", ".join(dict.fromkeys(str(data_folder() / file.folder) for file in entry.missing))
        names = "; ".join(file.summary for file in entry.missing)
        paragraphs.append(
            f"{entry.name}: {names}\n  of {first.origin}, {first.address}\n  into {folders}\n"
            f"  meanwhile: {entry.stand_in}"
        )
    return paragraphs


@dataclass(frozen=True)
class FileCheck:
    """The result of checking one original file: ``right``, ``wrong``, ``not verified`` or ``missing``.

    Example:
        >>> FileCheck("Shapes3D", "3dshapes.h5", "missing", "").result
        'missing'
    """

    dataset: str
    file: str
    result: str
    detail: str


def check(
    names: Sequence[str] = (), tell: Callable[[Path, int], None] = lambda path, done: None
) -> list[FileCheck]:
    """Compare the original files with the published sizes and hashes.

    Args:
        names: of data sets; none: all that have files.
        tell: called with a file and the number of its bytes read so far.

    Example:
        >>> check(["circles"])
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: Circles has no original files: it is made here
    """
    by_plain = {plain(name): name for name in DATASETS}
    for name in names:
        if plain(name) not in by_plain:
            raise unknown("dataset", name, DATASETS)
        if not DATASETS[by_plain[plain(name)]].originals:
            raise UnweaveError(f"{by_plain[plain(name)]} has no original files: it is made here")
    chosen = [by_plain[plain(name)] for name in names] or list(DATASETS)
    verdicts = []
    for name in chosen:
        for file in DATASETS[name].originals:
            path = file.find()
            if path is None:
                result, detail = "missing", f"expected in {data_folder() / file.folder}"
            elif not file.verifiable(path):
                result, detail = "not verified", f"neither size nor hash of {path} is known"
            else:
                problem = file.wrong(path, functools.partial(tell, path))
                result, detail = "wrong" if problem else "right", problem or str(path)
            verdicts.append(FileCheck(name, file.name, result, detail))
    return verdicts
