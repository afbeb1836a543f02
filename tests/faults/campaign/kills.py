"""Kills at every write, rename, sync and removal of a command, and at random times."""

import contextlib
import functools
import io
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from campaign.children import Ended, command, in_child, say

Case = tuple[str, str, Callable[[], tuple[str, str]]]
"""A kind of fault, the name of the case, and what to do: returns the outcome, and what was seen if that is wrong."""

CALLS = ("fsync", "replace", "rename", "unlink", "mkdir", "write")
TINY = [
    *("data=circles", "data.size=32", "latents=2", "batch_size=4", "steps=6", "learning_rate=1e-3"),
    *("encoder=MLP", "encoder.hidden=[8]", "decoder=MLP", "decoder.hidden=[8]"),
]
STUDY = """
base: {data: circles, data.size: 32, latents: 2, batch_size: 4, steps: 3, encoder: {name: MLP, hidden: [8]},
       decoder: {name: MLP, hidden: [8]}}
seeds: 2
"""


class Injector:
    """Counts what a process does to the disk; at the ``at``-th time it is killed.

    Args:
        at: number of the event, from 1; 0: only count.
        counted: file that gets the number of events.
    """

    def __init__(self, at: int = 0, counted: Path | None = None) -> None:
        self.at, self.counted, self.count = at, counted, 0

    def install(self) -> None:
        """Put the injector between Python and the system."""
        for name in CALLS:
            setattr(os, name, self._wrapped(getattr(os, name)))
        fdopen = os.fdopen
        injector = self

        def opened(descriptor: int, *arguments: Any, **options: Any) -> Any:
            file = fdopen(descriptor, *arguments, **options)
            return _File(file, injector) if isinstance(file, io.BufferedWriter) else file

        os.fdopen = opened  # type: ignore[assignment]
        from unweave.runs.history import HistoryWriter

        HistoryWriter.append = self._wrapped(HistoryWriter.append)  # type: ignore[method-assign]

    def event(self) -> None:
        """Something is about to happen."""
        self.count += 1
        if self.counted is not None:
            self.counted.write_text(str(self.count))
        if self.at and self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            self.event()
            return function(*arguments, **options)

        return wrapped


class _File:
    """A file whose writes can be torn in the middle."""

    def __init__(self, file: Any, injector: Injector) -> None:
        self.file, self.injector = file, injector

    def write(self, data: bytes) -> int:
        if self.injector.count + 1 == self.injector.at:
            self.file.write(data[: len(data) // 2])
            self.file.flush()
        self.injector.event()
        return int(self.file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *problem: object) -> None:
        self.file.close()


class Scene:
    """A command, where it works, and what must be there when it has been repeated after a fault."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.reference = folder / "reference" / name
        self.expected: dict[str, bytes] = {}
        self.events, self.seconds = 0, 0.0

    def prepare(self) -> None:
        """The undisturbed command, once: its results and the number of its events."""
        counted = self.folder / f"{self.name}.count"
        self.reference.parent.mkdir(parents=True, exist_ok=True)
        place = self.place(self.reference)
        injector = Injector(counted=counted)
        ended = in_child(command(*self.words(place), before=injector.install))
        assert ended.kind == "ok", ended
        self.events, self.seconds = int(counted.read_text()), ended.seconds
        self.expected = results(place)
        assert self.expected

    def words(self, place: Path) -> list[str]:
        """The command."""
        if self.name == "train":
            quick = ["--no-report", "--quiet", "--checkpoint-seconds", "0"]
            return ["train", *TINY, "--out", str(place / "run"), *quick]
        if self.name == "evaluate":
            return ["evaluate", str(place / "run"), "--metrics", "mig,elbo", "--quiet"]
        study = self.folder / "study.yaml"
        study.write_text(STUDY)
        quick = ["--no-report", "--quiet", "--executor", "inline"]
        return ["sweep", str(study), "--out", str(place / "sweep"), *quick]

    def place(self, place: Path) -> Path:
        """A new folder with what the command needs."""
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        if self.name == "evaluate":
            trained = self.folder / "trained"
            if not trained.exists():
                ended = say(["train", *TINY, "--out", str(trained), "--no-report", "--quiet"])
                assert ended.kind == "ok", ended
            shutil.copytree(trained, place / "run")
        return place

    def case(self, number: int, **fault: Any) -> tuple[str, str]:
        """One fault, then the same command again: how that ended, and what was seen."""
        place = self.place(self.folder / "cases" / f"{self.name}-{number}")
        kill_after = fault.pop("kill_after", None)
        injector = Injector(**fault)
        first = in_child(command(*self.words(place), before=injector.install), kill_after=kill_after)
        if first.kind in ("traceback", "hang", "memory"):
            return "wrong", f"{first.kind}: {first.errors[-600:]}"
        if first.kind == "sentence":
            return "wrong", f"it was to be killed, and ended with a sentence: {first.errors[-400:]}"
        if first.kind != "killed" and "at" in fault:
            return "wrong", f"it was not killed at event {fault['at']}"
        second = say(self.words(place))
        problem = self.problem(place, second)
        if problem:
            return "wrong", f"after {fault or kill_after}: {problem}"
        shutil.rmtree(place)
        return ("recovered" if first.kind == "killed" else "survived"), ""

    def problem(self, place: Path, second: Ended) -> str:
        """What is wrong after the command was repeated without a disturbance; empty if nothing is."""
        if second.kind != "ok":
            return f"the second command ended with {second.kind}: {second.errors[-400:]}"
        if (found := results(place)) != self.expected:
            return f"other results in {[name for name in self.expected if found.get(name) != self.expected[name]]}"
        from unweave.runs.check import damage

        told = [s for run in place.rglob("run.json") for s in damage(run.parent) if "incomplete" not in s]
        return "; ".join(told)


def results(place: Path) -> dict[str, bytes]:
    """Weights, losses and scores of all runs in a folder."""
    from unweave.errors import UnweaveError
    from unweave.runs.history import read_history

    found: dict[str, bytes] = {}
    for path in sorted(place.rglob("model.safetensors")):
        name = path.parent.name
        found[f"{name} weights"] = path.read_bytes()
        with contextlib.suppress(UnweaveError):
            records = read_history(path.parent / "history.jsonl")
            losses = [{k: v for k, v in record.items() if k != "seconds"} for record in records]
            found[f"{name} losses"] = json.dumps(losses).encode()
        scores = path.parent / "scores.json"
        if scores.is_file():
            found[f"{name} scores"] = scores.read_bytes()
    return found


@functools.cache
def scenes(folder: Path) -> dict[str, Scene]:
    """The commands that are disturbed, each done once without a disturbance."""
    found = {name: Scene(name, folder) for name in ("train", "sweep", "evaluate")}
    for scene in found.values():
        scene.prepare()
    return found


def cases(seed: int, folder: Path) -> Iterator[Case]:
    """Kills at every event of every command, and at random times, in any order."""
    chance = random.Random(seed)
    planned: list[Case] = []
    for name, scene in scenes(folder).items():
        for number in range(1, scene.events + 1):
            # It is killed just before the event: after one change of the disk, and before the next.
            when = "between two writes" if number > 1 else "before the first write"
            planned.append((f"kill {when}, {name}", f"kill {name} {number}", _of(scene, number, at=number)))
        for number in range(20):
            moment = chance.uniform(0.0, 1.2 * scene.seconds)
            case = _of(scene, 1000 + number, kill_after=moment)
            planned.append((f"kill at random, {name}", f"kill {name} at random {number}", case))
    chance.shuffle(planned)
    yield from planned


def _of(scene: Scene, number: int, **fault: Any) -> Callable[[], tuple[str, str]]:
    return lambda: scene.case(number, **fault)
