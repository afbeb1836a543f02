import errno
import logging
import os
from pathlib import Path

import pytest
import torch

from unweave.errors import UnweaveError
from unweave.training.checkpoints import Checkpoints


def filled(folder: Path, *steps: int) -> Checkpoints:
    checkpoints = Checkpoints(folder)
    for step in steps:
        checkpoints.save({"step": step, "weights": torch.full((1000,), float(step))})
    return checkpoints


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path, 1, 2, 30)
    assert [path.name for path in checkpoints.paths()] == ["step-00000002.pt", "step-00000030.pt"]
    assert checkpoints.latest()["weights"][0] == 30


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "text"])
def test_a_damaged_file_is_named_and_the_one_before_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    checkpoints = filled(tmp_path, 1, 2)
    newest = checkpoints.paths()[-1]
    content = bytearray(newest.read_bytes())
    if damage == "flipped":
        at = content.find(torch.full((1000,), 2.0).numpy().tobytes()) + 2003
        content[at] ^= 1
    newest.write_bytes(
        {"cut": content[: len(content) // 2], "empty": b"", "text": b"hello"}.get(damage, content)
    )
    with caplog.at_level(logging.WARNING, logger="unweave"):
        state = checkpoints.latest()
    assert state["step"] == 1
    assert "step-00000002.pt is damaged" in caplog.text


def test_nothing_intact_is_nothing(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path, 1)
    checkpoints.paths()[0].write_bytes(b"")
    assert checkpoints.latest() is None
    assert Checkpoints(tmp_path / "never").latest() is None


def test_a_full_disk_is_told_and_the_old_state_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = filled(tmp_path, 1)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnweaveError, match=r"cannot write .*step-00000002\.pt: the disk is full"):
        filled(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001.pt"]
    assert checkpoints.latest()["step"] == 1


def test_loading_runs_no_code(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {tmp_path / 'exploded'}",)

    torch.save({"step": 5, "bomb": Bomb()}, tmp_path / "step-00000005.pt")
    assert Checkpoints(tmp_path).latest() is None
    assert not (tmp_path / "exploded").exists()
