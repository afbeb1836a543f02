"""Every file of a run, damaged in every way: never a wrong number in silence, never a traceback, nothing deleted."""

import functools
import io
import json
import os
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from campaign.children import Ended, in_child, say
from campaign.kills import TINY, Case, results

FILES = (
    *(
        "config.yaml",
        "run.json",
        "data.json",
        "status.json",
        "history.jsonl",
        "model.safetensors",
        "codes.npz",
    ),
    *("scores.json", "manifest.jsonl", "checkpoint"),
)


def _flip(at: float) -> Callable[[bytes, random.Random], bytes]:
    def flip(content: bytes, chance: random.Random) -> bytes:
        place = min(len(content) - 1, int(at * len(content)) + chance.randrange(8))
        return content[:place] + bytes([content[place] ^ (1 << chance.randrange(8))]) + content[place + 1 :]

    return flip


def _zeros(content: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(content))
    end = min(len(content), start + 1 + len(content) // 5)
    return content[:start] + bytes(end - start) + content[end:]


def _digit(content: bytes, chance: random.Random) -> bytes:
    """Another number in the place of one: still valid JSON, YAML or weights."""
    places = [i for i, byte in enumerate(content) if 0x31 <= byte <= 0x38]
    place = chance.choice(places or [0])
    return content[:place] + bytes([content[place] + 1]) + content[place + 1 :]


def _line(content: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


KINDS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "flip at the start": _flip(0.0),
    "flip at a quarter": _flip(0.25),
    "flip in the middle": _flip(0.5),
    "flip near the end": _flip(0.95),
    "empty": lambda content, chance: b"",
    "half": lambda content, chance: content[: len(content) // 2],
    "last byte gone": lambda content, chance: content[:-1],
    "zeros": lambda content, chance: bytes(len(content)),
    "some zeros": _zeros,
    "another digit": _digit,
    "a line gone": _line,
    "byte 255": lambda content, chance: content[:9] + b"\xff" + content[9:],
    "list": lambda content, chance: b"[1]",
    "number": lambda content, chance: b"5",
    "noise": lambda content, chance: chance.randbytes(len(content)),
    "more": lambda content, chance: content + chance.randbytes(40),
    "deep": lambda content, chance: b"[" * 6000,
}
PLACES = ("folder", "pipe", "gone", *(("unreadable", "other user") if os.geteuid() == 0 else ()))
"""What can lie in the place of a file; only root can take the part of another user."""


class Scenes:
    """A finished run and an interrupted one, and what they are worth."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        quick = ["--no-report", "--quiet", "--checkpoint-seconds", "0"]
        self.finished = folder / "finished" / "run"
        assert say(["train", *TINY, "--out", str(self.finished), *quick]).kind == "ok"
        assert say(self.evaluate(self.finished)).kind == "ok"
        self.expected = results(self.finished.parent)
        self.interrupted = folder / "interrupted" / "run"

        def stopped() -> None:
            from unweave.runs import Config, Run

            steps = iter(range(10))
            run = Run.create(Config.read(words=TINY), self.interrupted)
            run.train(checkpoint_seconds=0.0, stop=lambda: next(steps) == 3)

        assert in_child(stopped).kind == "ok"

    @staticmethod
    def evaluate(run: Path) -> list[str]:
        """The command that scores a run."""
        return ["evaluate", str(run), "--metrics", "mig,elbo", "--quiet"]

    def case(self, number: int, which: str, name: str, kind: str, seed: int) -> tuple[str, str]:
        """One damaged file and the commands after it."""
        run = self._copy(f"damage-{number}", which)
        path = _place(run, name)
        if not path.exists():
            return self._gone(run)
        before = path.read_bytes()
        user = _harm(path, kind, random.Random(seed))
        after = path.read_bytes() if path.is_file() else None
        if after == before and user is None:
            return self._gone(run)
        outcome, seen = self._after(run, path, which, name, after, user)
        if outcome != "wrong":
            self._gone(run)
        return outcome, seen and f"{which} {name}, {kind}, seed {seed}: {seen}"

    def repaired(self, number: int, which: str, name: str, kind: str, seed: int) -> tuple[str, str]:
        """One damaged file, repaired as far as possible; then the commands of the run must give its results again."""
        run = self._copy(f"repair-{number}", which)
        path = _place(run, name)
        if not path.exists() or _harm(path, kind, random.Random(seed)) is not None:
            return self._gone(run)
        root = ["--root", str(run.parent)]
        repair = say(["runs", "check", "--repair", *root])
        train = say(["train", *TINY, "--out", str(run), "--no-report"])
        scored = say(self.evaluate(run)[:-1])
        check = say(["runs", "check", *root])
        problem = "".join(
            f"{told}: {ended.kind}: {ended.errors[-400:]}; "
            for told, ended in (("repair", repair), ("train", train), ("evaluate", scored), ("check", check))
            if ended.kind != "ok" and (ended.kind != "sentence" or told not in ("repair", "check"))
        )
        differ = self._unlike(results(run.parent))
        # A history has no copy: after the repair its gap is still told.
        clean = "0 damaged files" in check.output or name == "history.jsonl"
        if problem or differ or not clean:
            seen = f"{differ} differ; {problem}{check.output[-300:]}{repair.output[-300:]}"
            return "wrong", f"{which} {name}, {kind}, seed {seed}: {seen}"
        self._gone(run)
        return "recovered", ""

    def _unlike(self, found: dict[str, bytes]) -> list[str]:
        """What is not as in the undamaged run; a repair may compute more scores than there were."""
        differ = [key for key, value in self.expected.items() if "weights" in key and found.get(key) != value]
        for key in (key for key in self.expected if key.endswith("scores")):
            scores, repaired = _values(self.expected[key]), _values(found.get(key))
            assert isinstance(scores, dict)
            if not isinstance(repaired, dict) or any(repaired.get(k) != v for k, v in scores.items()):
                differ.append(key)
        return differ

    def _copy(self, name: str, which: str) -> Path:
        place = self.folder / "cases" / name
        shutil.rmtree(place, ignore_errors=True)
        return Path(
            shutil.copytree(self.finished if which == "finished" else self.interrupted, place / "run")
        )

    @staticmethod
    def _gone(run: Path) -> tuple[str, str]:
        """No outcome; the copy is removed."""
        _restore(run.parent)
        shutil.rmtree(run.parent)
        return "", ""

    def _after(
        self, run: Path, path: Path, which: str, name: str, after: bytes | None, user: int | None
    ) -> tuple[str, str]:
        check = say(["runs", "check", "--root", str(run.parent)], user=user)  # type: ignore[arg-type]
        quick = ["--no-report", "--checkpoint-seconds", "0"]
        train = ["train", *TINY, "--out", str(run), *quick]
        words = self.evaluate(run)[:-1] if which == "finished" else train
        used = in_child(lambda: __import__("unweave.cli").cli.main(words), user=user)
        for ended in (check, used):
            if ended.kind not in ("ok", "sentence"):
                return "wrong", f"{ended.kind}: {ended.errors[-500:]}"
            if ended.kind == "sentence" and not ended.errors.strip():
                return "wrong", "it failed without a word"
        if after is not None and not _kept(path, name, after):
            return "wrong", "the damaged file is gone"
        if used.kind == "sentence":
            return "told", ""
        return self._compare(run, which, name, check, used)

    def _compare(self, run: Path, which: str, name: str, check: Ended, used: Ended) -> tuple[str, str]:
        found = results(run.parent)
        compared = [key for key in self.expected if which == "finished" or not key.endswith("scores")]
        differ = [key for key in compared if _values(found.get(key)) != _values(self.expected[key])]
        said = " ".join((check.output + used.errors + check.errors).split())
        silent = "0 damaged files" in check.output
        if differ and ((silent and which == "finished") or (not used.errors and which != "finished")):
            return "wrong", f"{differ} differ in silence: {said[-300:]}"
        if any("weights" in key or "scores" in key for key in differ):
            return "wrong", f"{differ} differ: {said[-300:]}"
        if differ:
            return "told", ""
        return ("survived" if silent and not used.errors else "recovered"), ""


def _harm(path: Path, kind: str, chance: random.Random) -> int | None:
    """Damage a file; the user as whom the commands are executed, if not the present one."""
    if kind in KINDS:
        path.write_bytes(KINDS[kind](path.read_bytes(), chance))
        return None
    if kind in ("folder", "pipe", "gone"):
        path.unlink()
        if kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        return None
    for folder in (path.parent.parent, path.parent):
        folder.chmod(0o777 if kind == "unreadable" else 0o755)
    if kind == "unreadable":
        path.chmod(0o000)
        for other in path.parent.rglob("*"):
            if other != path:
                other.chmod(0o777 if other.is_dir() else 0o666)
    return 65534


def _place(run: Path, name: str) -> Path:
    """A file of a run by its name; ``checkpoint`` is the newest one."""
    if name != "checkpoint":
        return run / name
    return max((run / "checkpoints").glob("step-*.pt"), default=run / "no")


def _restore(place: Path) -> None:
    for path in place.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755)


def _kept(path: Path, name: str, after: bytes) -> bool:
    """Whether the damaged content is still somewhere, unless it is replaced as a matter of course."""
    if name == "status.json" or (name == "checkpoint" and _is_intact(after)):
        return True  # every session writes its status; an intact checkpoint makes place for newer ones
    if name == "history.jsonl" and _is_torn(after):
        return True  # the steps of a torn last line are taken again
    present = [other.read_bytes() for other in path.parent.iterdir() if other.is_file()]
    grown = name == "manifest.jsonl"  # lines are added to it
    return any(content == after or (grown and content.startswith(after)) for content in present)


def _is_torn(history: bytes) -> bool:
    """Whether all lines of a history but the last are intact: a crash leaves such a file."""
    from unweave.artefacts import opened_line

    lines = [line for line in history.split(b"\n") if line]
    return all(opened_line(line, sealed=True) is not None for line in lines[:-1])


def _is_intact(checkpoint: bytes) -> bool:
    """Whether every checksum of a checkpoint is right: bytes between its parts, or after them, say nothing."""
    import torch

    try:
        if zipfile.ZipFile(io.BytesIO(checkpoint)).testzip() is not None:
            return False
        return bool(torch.load(io.BytesIO(checkpoint), weights_only=True))
    except Exception:  # whatever torch and zipfile raise
        return False


def _values(content: bytes | None) -> object:
    """The values of scores, without the time they took."""
    if content is None or not content.startswith(b"{"):
        return content
    return {key: score.get("value") for key, score in json.loads(content).items()}


def cases(seed: int, folder: Path) -> Iterator[Case]:
    """Every file damaged in every way, with several places each."""
    made = _scenes(folder)
    for number, case in enumerate(_planned(seed, (*KINDS, *KINDS, *PLACES))):
        yield f"damage, {case[0]} run", f"damage {number}", functools.partial(made.case, number, *case)


def repairs(seed: int, folder: Path) -> Iterator[Case]:
    """Every file damaged in every way once, and repaired."""
    made = _scenes(folder)
    for number, case in enumerate(_planned(seed + 1, (*KINDS, "folder", "pipe", "gone"))):
        yield f"repair, {case[0]} run", f"repair {number}", functools.partial(made.repaired, number, *case)


def _planned(seed: int, kinds: tuple[str, ...]) -> list[tuple[str, str, str, int]]:
    chance = random.Random(seed)
    found = [
        (which, name, kind, chance.randrange(1 << 30))
        for which in ("finished", "interrupted")
        for name in FILES
        for kind in kinds
    ]
    chance.shuffle(found)
    return found


_scenes = functools.cache(Scenes)
