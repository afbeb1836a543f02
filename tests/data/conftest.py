"""Folders of a test's own, and the tiny files in the original formats."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder and a cache folder of the test's own."""
    monkeypatch.setenv("UNWEAVE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def formats() -> Path:
    """The folder of tiny files in the original formats, which lies beside the repository."""
    places = [folder / "shared" / "data" / "formats" for folder in Path(__file__).parents]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        pytest.skip("the tiny files in the original formats are not part of the repository")
    return found


@pytest.fixture
def link(place: Path, formats: Path) -> Callable[..., None]:
    """Puts files in the original formats into a folder of the data folder."""

    def put(folder: str, *names: str) -> None:
        (place / folder).mkdir(exist_ok=True)
        for name in names:
            (place / folder / name).symlink_to(formats / name)

    return put


@pytest.fixture
def is_mapped() -> Callable[[Any], bool]:
    """Whether an array is a view of a mapped file."""

    def check(array: Any) -> bool:
        while array is not None and not isinstance(array, np.memmap):
            array = getattr(array, "base", None)
        return isinstance(array, np.memmap)

    return check
