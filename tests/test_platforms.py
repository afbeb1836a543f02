"""What Linux has and other systems lack, hidden: a run trains, its locks hold, its files are whole."""

import errno
import json
import os
import socket
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from unweave import atomic, file_locks
from unweave.runs import Config, Run
from unweave.runs.locks import is_locked, lock

WORDS = [
    "data=circles",
    "data.size=32",
    "encoder=MLP",
    "encoder.hidden=[6]",
    "decoder=MLP",
    "decoder.hidden=[6]",
]
WORDS += ["latents=2", "batch_size=4", "steps=5"]

ELSEWHERE = """
import os, platform, signal, sys
import numpy, torch, scipy.stats, sklearn, matplotlib  # which are other files on other systems

# Before unweave is imported: no Unix modules, no Linux calls, no signals that Windows lacks.
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "msvcrt", "termios", "pwd", "grp"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hidden())
for name in ("O_DIRECTORY", "O_NONBLOCK", "O_CLOEXEC", "posix_fallocate", "sched_getaffinity", "sched_setaffinity",
             "fork", "statvfs", "getuid", "mkfifo"):
    delattr(os, name)
for name in ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM"):
    delattr(signal, name)
platform.libc_ver = lambda *_: ("", "")

from unweave import cli
cli.main(sys.argv[1:])
"""


def elsewhere(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *words], capture_output=True, text=True, check=False
    )


def test_a_system_without_unix_modules_and_linux_calls_trains_to_the_same_weights(tmp_path: Path) -> None:
    ended = elsewhere("train", *WORDS, "--out", str(tmp_path / "there"), "--no-report")
    assert ended.returncode == 0, ended.stderr
    here = Run.create(Run(tmp_path / "there").config, tmp_path / "here")
    here.train()
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("here", "there"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert not list((tmp_path / "there").glob("*.held")), "no lock is left"
    assert not list(tmp_path.glob(".new-*"))


@pytest.fixture
def no_kernel_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_locks, "KERNEL", False)
    monkeypatch.setattr(file_locks, "msvcrt", None)


@pytest.mark.usefixtures("no_kernel_locks")
def test_a_lock_by_exclusive_creation_holds_until_its_process_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = tmp_path / "lock.held"
    with lock(path) as ours, lock(path) as again:
        assert (ours, again, is_locked(path)) == (True, False, True)
        assert json.loads(holder.read_text()) == {"process": os.getpid(), "host": socket.gethostname()}
    assert not is_locked(path)

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    holder.write_text(json.dumps({"process": ended.pid, "host": socket.gethostname()}))
    assert not is_locked(path), "its process is gone"
    with lock(path) as taken, lock(path) as second:
        assert (taken, second) == (True, False)

    holder.write_text(json.dumps({"process": ended.pid, "host": "another machine"}))
    with lock(path) as got:
        assert not got, "nobody here can tell whether a process of another machine lives"
    assert holder.exists(), "the lock of others stays"


@pytest.mark.usefixtures("no_kernel_locks")
def test_of_two_that_find_a_dead_lock_only_the_judge_removes_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / "lock.held").write_text(json.dumps({"process": ended.pid, "host": socket.gethostname()}))
    (tmp_path / "lock.held.judged").mkdir()  # another process judges right now
    with lock(path) as got:
        assert not got
    assert (tmp_path / "lock.held").exists()


class Windows(types.SimpleNamespace):
    """``msvcrt.locking`` as its manual says: one byte from the present position, refused while another has it."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        super().__init__(taken={})

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        place = (os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        owner = self.taken.get(place)
        if owner not in (None, descriptor) and _is_open(owner, place[0]):
            raise PermissionError(errno.EACCES, "Permission denied")
        self.taken[place] = descriptor


def _is_open(descriptor: int, inode: int) -> bool:
    try:
        return os.fstat(descriptor).st_ino == inode
    except OSError:
        return False


def test_a_lock_of_windows_holds_while_its_file_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_locks, "KERNEL", False)
    monkeypatch.setattr(file_locks, "msvcrt", Windows())
    path = tmp_path / "lock"
    with lock(path) as ours, lock(path) as again:
        assert (ours, again, is_locked(path)) == (True, False, True)
    assert not is_locked(path)
    assert path.stat().st_size == 0, "the locked byte is behind the end: it hides nothing from readers"


@pytest.mark.parametrize("existing", [False, True])
def test_a_folder_is_published_where_folders_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bool
) -> None:
    monkeypatch.setattr(atomic, "_FOLDER", None)
    monkeypatch.setattr(file_locks, "KERNEL", False)
    original = Path.rename

    def rename(path: Path, target: Any) -> Path:
        if Path(target).exists():  # as on Windows
            raise FileExistsError(errno.EEXIST, "File exists")
        return original(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    folder = tmp_path / "run"
    if existing:
        folder.mkdir()
    assert atomic.publish(folder, {"a.txt": b"first"})
    assert not atomic.publish(folder, {"a.txt": b"second"})
    assert (folder / "a.txt").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["run"], "nothing is left beside it"  # noqa: PTH208
    assert folder.stat().st_mode & 0o777 == 0o777 & ~atomic._umask()


def test_room_on_the_disk_is_taken_where_there_is_no_call_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    size = 3 * (1 << 20) + 17
    path = tmp_path / "array"
    with path.open("w+b") as file:
        file.write(b"header")
        file.truncate(size)
        assert os.fstat(file.fileno()).st_blocks * 512 < size, "a hole"
        file.seek(0)
        atomic.reserve(file, size)
    assert path.stat().st_blocks * 512 >= size
    assert path.read_bytes() == b"header" + bytes(size - 6)


def test_names_of_runs_are_names_on_every_system(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from unweave.objectives import BetaVAE\n\n\nclass Own(BetaVAE):\n    pass\n"
    )
    config = Config.read(words=["data=circles", f"objective={tmp_path / 'own.py'}:BetaVAE"])
    assert config.label.startswith("Circles-BetaVAE-")
    assert not set(config.label) & set('<>:"/\\|?*'), config.label
