"""Disks that become full, disks that are read-only, and folders of another user: real ones, mounted for one child.

A child gets a name space of its own, so that what it mounts is seen by nobody else and gone when it ends.
"""

import ctypes
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from campaign.children import Ended, in_child, say
from campaign.kills import STUDY, TINY, Case, Scene, scenes

LEVELS = 20
NOBODY = 65534
UNAVAILABLE = "disks cannot be mounted here, so full and read-only ones are not tried: run this as root"
_NEW_NAMESPACE, _READ_ONLY, _REMOUNT, _PRIVATE = 0x00020000, 1, 32, (1 << 18) | 16384
_WHOLE = 64 << 20


def mount(place: Path, size: int = _WHOLE, flags: int = 0) -> None:
    """Mount a disk in memory that takes ``size`` bytes, or change the one that is mounted there."""
    options = f"size={size},mode=755".encode()
    if _system().mount(b"tmpfs", os.fsencode(place), b"tmpfs", flags, options):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(place))


def leave() -> None:
    """Give this process a name space of its own for what it mounts."""
    if _system().unshare(_NEW_NAMESPACE) or _system().mount(b"none", b"/", None, _PRIVATE, None):
        raise OSError(
            ctypes.get_errno(), "only root can mount disks: run the campaign as root, or without --disks"
        )


def available(folder: Path) -> bool:
    """Whether this process may mount disks: root may, except in some containers."""
    place = folder / "cases" / "mount"
    place.mkdir(parents=True, exist_ok=True)

    def work() -> None:
        leave()
        mount(place)

    return os.geteuid() == 0 and in_child(work).code == 0


def _system() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _apart(place: Path, work: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    """The outcome of work that is done in a child with a name space of its own."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "disk").mkdir(parents=True)
    answer = place / "answer.json"

    def alone() -> None:
        leave()
        answer.write_text(json.dumps(work()))

    ended = in_child(alone, seconds=300.0)
    found = json.loads(answer.read_text()) if answer.exists() else ["wrong", f"{ended.kind}: {ended.errors}"]
    shutil.rmtree(place)
    return found[0], found[1]


def full(scene: Scene, level: int, place: Path) -> tuple[str, str]:
    """A command on a disk that has room for ``level`` twentieths of what it writes; then again with enough."""

    def work() -> tuple[str, str]:
        disk = place / "disk"
        mount(disk)
        begun = _size(scene.place(disk / "case"))
        room = begun + (_size(scene.reference) - begun) * level // LEVELS
        mount(disk, max(4096, room), _REMOUNT)
        first = say(scene.words(disk / "case"))
        if first.kind not in ("ok", "sentence"):
            return "wrong", f"{first.kind}: {first.errors[-600:]}"
        if first.kind == "sentence" and not first.errors.strip() and not first.output.strip():
            return "wrong", "it failed without a word"
        mount(disk, flags=_REMOUNT)
        problem = scene.problem(disk / "case", say(scene.words(disk / "case")))
        if problem:
            return "wrong", f"full at {room} bytes: {problem}"
        return ("survived" if first.kind == "ok" else "told"), ""

    return _apart(place, work)


def _size(folder: Path) -> int:
    """Bytes of a folder on a disk in memory, which is taken page by page."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in folder.rglob("*") if path.is_file())


def commands(place: Path) -> dict[str, list[str]]:
    """Commands on a folder with a finished run ``done``, an interrupted one ``begun`` and a sweep ``swept``."""
    train = ["train", *TINY, "--no-report", "--out"]
    sweep = ["sweep", str(place / "study.yaml"), "--no-report", "--executor", "inline", "--out"]
    root = ["--root", str(place)]
    return {
        "train a new run": [*train, str(place / "new")],
        "train a finished run": [*train, str(place / "done")],
        "train an interrupted run": [*train, str(place / "begun")],
        "train another config": [*train, str(place / "done"), "seed=9"],
        "evaluate": ["evaluate", str(place / "done"), "--metrics", "mig,elbo"],
        "evaluate an interrupted run": ["evaluate", str(place / "begun"), "--metrics", "mig"],
        "report": ["report", str(place / "done")],
        "a new sweep": [*sweep, str(place / "another")],
        "a finished sweep": [*sweep, str(place / "swept")],
        "report of a sweep": ["report", str(place / "swept")],
        "list": ["runs", "list", *root],
        "show": ["runs", "show", str(place / "done"), *root],
        "compare": ["runs", "compare", "done", "begun", *root],
        "check": ["runs", "check", *root],
        "repair": ["runs", "check", "--repair", *root],
        "log": ["runs", "log", str(place / "swept")],
    }


class Library:
    """A folder of runs that commands must leave as it is, because they may not write there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "library"

    def _fill(self) -> None:
        self.folder.mkdir()
        (self.folder / "study.yaml").write_text(STUDY)
        known = commands(self.folder)
        for name in ("train a finished run", "evaluate", "a finished sweep"):
            assert say(known[name]).kind == "ok", name

        def stopped() -> None:
            from unweave.runs import Config, Run

            steps = iter(range(10))
            run = Run.create(Config.read(words=TINY), self.folder / "begun")
            run.train(checkpoint_seconds=0.0, stop=lambda: next(steps) == 3)

        assert in_child(stopped).kind == "ok"

    def case(self, how: str, name: str, place: Path) -> tuple[str, str]:
        """One command where it may not write: it works, or ends with a sentence, and everything is as it was."""
        if not self.folder.exists():
            self._fill()

        def work() -> tuple[str, str]:
            disk = place / "disk"
            mount(disk)
            shutil.copytree(self.folder, disk / "runs")
            if how == "another user's":
                (disk / "runs" / "done").chmod(0o700)
            if how == "read-only":
                mount(disk, flags=_REMOUNT | _READ_ONLY)
            before = _content(disk)
            ended = say(commands(disk / "runs")[name], user=None if how == "read-only" else NOBODY)
            return _judged(ended, before == _content(disk))

        outcome, seen = _apart(place, work)
        return outcome, seen and f"{name} in a {how} folder: {seen}"


def _judged(ended: Ended, unchanged: bool) -> tuple[str, str]:
    if ended.kind not in ("ok", "sentence"):
        return "wrong", f"{ended.kind}: {ended.errors[-600:]}"
    if not unchanged:
        return "wrong", "something was changed"
    if ended.kind == "sentence" and not (ended.errors + ended.output).strip():
        return "wrong", "it failed without a word"
    return ("survived" if ended.kind == "ok" else "told"), ""


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def cases(seed: int, folder: Path) -> Iterator[Case]:
    """Every level of a full disk for every command, and every command where it may not write, in any order."""
    if not available(folder):
        print(UNAVAILABLE)
        return
    planned: list[Case] = []
    for name, scene in scenes(folder).items():
        for level in range(LEVELS):
            place = folder / "cases" / f"full-{name}-{level}"
            planned.append((f"full disk, {name}", f"full {name} {level}", _of(full, scene, level, place)))
    library = Library(folder)
    for how in ("read-only", "another user's"):
        for name in commands(folder):
            place = folder / "cases" / f"{how.split()[0]}-{name.replace(' ', '-')}"
            planned.append((f"{how} folder", f"{how} {name}", _of(library.case, how, name, place)))
    random.Random(seed).shuffle(planned)
    yield from planned


def _of(work: Callable[..., tuple[str, str]], *arguments: object) -> Callable[[], tuple[str, str]]:
    return lambda: work(*arguments)
