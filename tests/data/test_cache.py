import errno
import logging
from pathlib import Path

import numpy as np
import pytest

from unweave import atomic
from unweave.data.cache import cache_folder, cached

CONTENT = np.arange(1000, dtype=np.uint8).reshape(20, 50)


class Maker:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> np.ndarray:
        self.calls += 1
        return CONTENT.copy()


def test_made_once_and_found_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    maker = Maker()
    for _ in range(3):
        np.testing.assert_array_equal(cached(tmp_path / "deep" / "a", CONTENT.shape, maker), CONTENT)
    assert maker.calls == 1
    assert [f.name for f in (tmp_path / "deep").iterdir()] == ["a"]
    assert not caplog.records


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:500])


def flip_one_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-7] ^= 1
    file.write_bytes(content)


def flip_header(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[0] ^= 1
    file.write_bytes(content)


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [truncate, flip_one_bit, flip_header, empty])
def test_damaged_file_is_made_again_with_a_warning(damage, tmp_path, caplog) -> None:  # type: ignore[no-untyped-def]
    maker = Maker()
    cached(tmp_path / "a", CONTENT.shape, maker)
    damage(tmp_path / "a")
    np.testing.assert_array_equal(cached(tmp_path / "a", CONTENT.shape, maker), CONTENT)
    assert maker.calls == 2
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("unweave", logging.WARNING)
    assert str(tmp_path / "a") in record.getMessage()
    assert "it is made again" in record.getMessage()
    cached(tmp_path / "a", CONTENT.shape, maker)
    assert maker.calls == 2


def test_file_of_another_shape_is_not_taken(tmp_path: Path) -> None:
    maker = Maker()
    cached(tmp_path / "a", CONTENT.shape, maker)
    cached(tmp_path / "a", (50, 20), lambda: CONTENT.T.copy())
    np.testing.assert_array_equal(cached(tmp_path / "a", (50, 20), maker), CONTENT.T)


def test_unwritable_folder_keeps_the_data_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    np.testing.assert_array_equal(cached(tmp_path / "file" / "a", CONTENT.shape, Maker()), CONTENT)
    (record,) = caplog.records
    assert "cannot write the cache file" in record.getMessage()
    assert "UNWEAVE_CACHE" in record.getMessage()


def test_full_disk_leaves_nothing_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    np.testing.assert_array_equal(cached(tmp_path / "a", CONTENT.shape, Maker()), CONTENT)
    assert "No space left on device" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_parts_of_killed_processes_are_swept_at_once_and_those_being_written_stay(tmp_path: Path) -> None:
    killed, written = tmp_path / "a.1.part", tmp_path / "a.2.part"
    for file in (killed, written):
        file.write_bytes(b"torn")
    with written.open("rb") as held:
        atomic.hold(held.fileno())
        cached(tmp_path / "a", CONTENT.shape, Maker())
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a", "a.2.part"]


def test_folder_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.setenv("UNWEAVE_CACHE", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "unweave"
