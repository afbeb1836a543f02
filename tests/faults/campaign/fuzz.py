"""Command lines, config files, input files and constructors that nobody would write, and many that somebody would."""

import contextlib
import functools
import io
import json
import os
import random
import resource
import shutil
import signal
import struct
import sys
import time
import traceback
import typing
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from campaign import models
from campaign.children import MEMORY, SECONDS, in_child, waited

BATCH = 25
"""Inputs that one child takes."""

Counted = tuple[Counter[tuple[str, str]], list[str]]
"""A batch: how often each kind of input had each outcome, and what was wrong."""

Batch = Callable[[random.Random, Path], Iterator[tuple[str, str, str]]]

HOSTILE = (
    *(
        "",
        "-1",
        "0",
        "nan",
        "inf",
        "-inf",
        "1e308",
        "1e-320",
        "9" * 400,
        "true",
        "none",
        "null",
        "[]",
        "[[]]",
        "{}",
    ),
    *(
        "${x}",
        "${oc.env:HOME}",
        "a\x1b[31mb",
        "💥",
        "'",
        '"',
        "[",
        "{",
        "%s",
        "../..",
        "/dev/null",
        "/dev/zero",
        "~",
    ),
    *(
        "1_000",
        "0x10",
        "1e1000",
        "-0.0",
        "9223372036854775808",
        "3.5",
        "@",
        "!!python/object:os.system",
        "&a",
        "*a",
    ),
    *(
        ": :",
        "[1,[2,[3]]]",
        "{a: b}",
        "1e9",
        "[1000000000]",
        "[0]",
        "[-1]",
        "[1e308]",
        "a" * 5000,
        "[bold]",
        "[/]",
    ),
    *(
        "0.5",
        "2",
        "-3.5",
        "1e-30",
        "off",
        "yes",
        "[2,2]",
        "[0.5]",
        "\u202e",
        "x:y",
        "./no.py:Thing",
        "os:system",
    ),
)
TINY_PARTS = {
    "encoder": (
        ["encoder=MLP", "encoder.hidden=[8]"],
        ["encoder=Conv", "encoder.channels=[4,4]", "encoder.hidden=[8]"],
    ),
    "decoder": (
        ["decoder=MLP", "decoder.hidden=[8]"],
        ["decoder=Deconv", "decoder.channels=[4,4]", "decoder.hidden=[8]"],
        ["decoder=SpatialBroadcast", "decoder.depth=2", "decoder.width=4"],
    ),
}
SLOTS = ("posterior", "prior", "likelihood", "objective", "pairing", "sampling", "optimizer", "schedule")
KEYS = (
    "latents",
    "steps",
    "batch_size",
    "learning_rate",
    "seed",
    "standardise",
    "averaged",
    "capacity",
    "data.size",
)


def _valid(hint: Any, default: Any, chance: random.Random) -> str | None:
    """A value for an option that looks right; none: leave it at its default."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return str(chance.choice(inner))
    if hint is bool:
        return chance.choice(["true", "false"])
    if hint is float and isinstance(default, float):
        return f"{default * chance.uniform(0.5, 2) + chance.choice([0.0, 0.1]):.4g}"
    if hint is int and isinstance(default, int):
        return str(max(0, default + chance.choice([-1, 0, 1])))
    return None


def train_words(chance: random.Random, hostile: float) -> list[str]:
    """The words of a small training; each may be replaced by something else with probability ``hostile``."""
    from unweave.runs.config import SLOTS as PARTS
    from unweave.slots import options_of, type_hints

    data = chance.choice(["circles", "circles", "circles", "xysquares", "pinwheel"])
    size = ["data.size=32"] if data == "circles" else []
    words = [f"data={data}", *size, f"latents={chance.randint(1, 4)}", f"steps={chance.randint(1, 2)}"]
    words += [f"batch_size={chance.randint(2, 5)}", f"seed={chance.randrange(5)}"]
    for choices in TINY_PARTS.values():
        words += choices[0] if data == "pinwheel" else chance.choice(choices)
    for slot in chance.sample(SLOTS, chance.choice([0, 1, 1, 2, 3])):
        name = chance.choice(sorted(PARTS[slot].parts))
        words.append(f"{slot}={name}")
        part = PARTS[slot].parts[name]
        hints = type_hints(part)
        for option, parameter in options_of(part).items():
            value = _valid(hints.get(option), parameter.default, chance)
            if value is not None and chance.random() < 0.3:
                words.append(f"{slot}.{option}={value}")
            elif chance.random() < hostile:
                words.append(f"{slot}.{option}={chance.choice(HOSTILE)}")
    for number, word in enumerate(words):
        if chance.random() < hostile:
            words[number] = f"{word.split('=')[0]}={chance.choice(HOSTILE)}"
    if chance.random() < hostile:
        words.append(f"{chance.choice(KEYS)}={chance.choice(HOSTILE)}")
    if chance.random() < hostile / 2:
        words.append(chance.choice(HOSTILE))
    return words


def _config_file(chance: random.Random, path: Path) -> None:
    """A YAML file: a config, and then perhaps something else."""
    import yaml

    from unweave.runs.study import nested

    given = (word.partition("=") for word in train_words(chance, 0.05))
    text = yaml.safe_dump(nested({key: _plain(value) for key, _, value in given}), allow_unicode=True)
    if chance.random() < 0.5:
        place = chance.randrange(len(text))
        text = text[:place] + chance.choice(HOSTILE) + text[place + chance.randrange(4) :]
    path.write_bytes(text.encode("utf-8", "replace"))


def _plain(value: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(value)
    except (yaml.YAMLError, ValueError, RecursionError):
        return value


def _npz(chance: random.Random, path: Path, scored: bool) -> None:
    """Arrays of images, or of codes if they are to be scored: as they should be, odd, or damaged."""
    import numpy as np

    rng = np.random.default_rng(chance.randrange(1 << 30))
    arrays = {
        "images": rng.integers(0, 256, (12, 16, 16), dtype=np.uint8),
        "factors": np.arange(12)[:, None] % 4,
    }
    if scored:
        arrays = {"codes": rng.normal(size=(300, 3)), "factors": rng.integers(0, 3, (300, 2))}
    if chance.random() < 0.4:  # an array of another shape, kind or name
        shapes = [(6, 8, 8), (6, 8, 8, 3), (0, 8, 8), (6,), (6, 8, 8, 2), (2, 3, 4, 5, 6), (6, 2), (300, 0)]
        kinds = ["u1", "f4", "f8", "i8", "?", "c8", "U3"]
        name = chance.choice(["images", "codes", "factors", "scales", "x"])
        arrays[name] = np.zeros(chance.choice(shapes), chance.choice(kinds))
    if chance.random() < 0.2:
        del arrays[chance.choice(sorted(arrays))]
    (np.savez if chance.random() < 0.5 else np.savez_compressed)(path, **arrays)
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([0, 0, 0, 1, 3, 20])):
        content[chance.randrange(len(content))] = chance.randrange(256)
    cut = chance.choice([len(content)] * 5 + [len(content) // 2])
    path.write_bytes(bytes(content[:cut]))


def _npz_bomb(chance: random.Random, path: Path) -> None:
    rows = chance.choice([10**6, 10**9, 10**15, 10**30, -5])
    order = chance.choice([True, False])
    header = f"{{'descr': '|u1', 'fortran_order': {order}, 'shape': ({rows}, 64, 64), }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(10**5)
        archive.writestr(f"{chance.choice(['images', 'factors'])}.npy", content)


def _pictures(chance: random.Random, folder: Path) -> None:
    import PIL.Image

    folder.mkdir()
    mode = chance.choice(["L", "RGB"])
    for number in range(chance.randint(1, 3)):
        buffer = io.BytesIO()
        kind = chance.choice(["PNG", "PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
        size = (chance.randint(1, 40), chance.randint(1, 40))
        other = chance.choice(["L", "RGB", "RGBA", "1", "P"])
        PIL.Image.new(mode if chance.random() < 0.9 or kind == "JPEG" else other, size).save(buffer, kind)
        content = bytearray(buffer.getvalue())
        for _ in range(chance.choice([0, 0, 0, 0, 1, 3, 20])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        if kind == "PNG" and chance.random() < 0.2:  # as large as a header can say, with a right checksum
            sides = struct.pack(
                ">II", chance.choice([13300, 60000, 2**31 - 1]), chance.choice([1, 13300, 2**31 - 1])
            )
            content[16:24] = sides
            content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
        (folder / f"{number}.{kind.lower()}").write_bytes(bytes(content))
    if chance.random() < 0.1:
        os.mkfifo(folder / "pipe.png")


def _images(chance: random.Random, path: Path) -> Path:
    """A folder of pictures or a file of arrays; where it is."""
    if chance.random() < 0.5:
        _pictures(chance, path)
        return path
    file = path.with_suffix(".npz")
    _npz(chance, file, scored=chance.random() < 0.3)
    return file


def _json_of_run(chance: random.Random, folder: Path) -> None:
    """The folder of a run with strange JSON in its files."""
    folder.mkdir()
    values: list[Any] = [
        None,
        5,
        [1],
        {},
        "x",
        {"value": "x"},
        {"config": 5},
        {"identity": []},
        {"status": {}},
        -1e400,
    ]
    config = {"data": {"name": "Circles"}, "steps": chance.choice([10, "x", None, -1, [1]]), "seed": 0}
    content = {
        "identity": "ab",
        "config": config,
        "command": chance.choice(values),
        "versions": chance.choice(values),
    }
    (folder / "run.json").write_text(json.dumps(content if chance.random() < 0.8 else chance.choice(values)))
    for name in ("status.json", "scores.json", "scored.json", "data.json"):
        mapping = {
            "status": chance.choice(values),
            "seconds": chance.choice(values),
            "mig": chance.choice(values),
        }
        if chance.random() < 0.7:
            (folder / name).write_text(
                json.dumps(mapping if chance.random() < 0.7 else chance.choice(values))
            )
    (folder / "config.yaml").write_text(
        chance.choice(["data: circles", "5", "[", "", "data: {name: Circles}"])
    )
    lines = [json.dumps(chance.choice([*values, {"step": 1, "total": 2.0}, {"step": "x"}])) for _ in range(3)]
    (folder / "history.jsonl").write_text("\n".join(lines))


def line(chance: random.Random, place: Path, number: int) -> tuple[str, list[str]]:
    """One command line with the files that it names; its kind and its words."""
    kind = chance.choices(
        ["valid training", "training", "config file", "npz", "pictures", "run files", "model", "other"],
        [30, 25, 8, 8, 6, 8, 10, 15],
    )[0]
    quick = ["--no-report", "--quiet", "--out", str(place / f"run{number}")]
    if kind == "valid training":
        return kind, ["train", *train_words(chance, 0.0), *quick]
    if kind == "training":
        return kind, ["train", *train_words(chance, 0.12), *quick]
    if kind == "config file":
        path = place / f"c{number}.yaml"
        _config_file(chance, path)
        return kind, ["train", str(path), *quick]
    if kind == "npz":
        path = place / f"a{number}.npz"
        scored = chance.random() < 0.5
        if chance.random() < 0.2:
            _npz_bomb(chance, path)
        else:
            _npz(chance, path, scored)
        short = ["latents=2", "steps=1", "batch_size=2", *TINY_PARTS["encoder"][0], *TINY_PARTS["decoder"][0]]
        return kind, ["score", str(path)] if scored else ["train", str(path), *short, *quick]
    if kind == "pictures":
        folder = place / f"p{number}"
        _pictures(chance, folder)
        short = ["data.size=16", "latents=2", "steps=1", "batch_size=2"]
        short += [*TINY_PARTS["encoder"][0], *TINY_PARTS["decoder"][0]]
        return kind, ["train", str(folder), *short, *quick]
    if kind == "run files":
        folder = place / f"r{number}" / "run"
        folder.parent.mkdir()
        _json_of_run(chance, folder)
        root = ["--root", str(folder.parent)]
        commands = [["runs", "list", *root], ["runs", "check", *root], ["runs", "show", str(folder), *root]]
        commands += [["evaluate", str(folder)], ["runs", "check", "--repair", *root]]
        return kind, chance.choice([*commands, ["runs", "compare", "run", "run", *root]])
    if kind == "model":
        return kind, models.line(chance, place, number, HOSTILE, functools.partial(_images, chance))
    first = ["runs", "train", "evaluate", "score", "report", "options", "metrics", "papers", "sweep", "data"]
    first += ["tune", "agreement", "prior", "theory", "reproduce"]
    words = [chance.choice(first)]
    more = [
        "list",
        "show",
        "check",
        "log",
        "--root",
        "--sort",
        "--out",
        "--help",
        "-h",
        "--version",
        "circles",
        "a=b",
    ]
    more += [
        "--threads",
        "--device",
        "--metrics",
        "steps>3",
        "mig>x",
        "--columns",
        "--debug",
        "--quiet",
        "compare",
    ]
    words += [chance.choice([*more, *HOSTILE]) for _ in range(chance.randint(0, 4))]
    words += ["--dry-run"] if words[0] == "reproduce" else []  # a whole paper takes longer than anybody waits
    return kind, [word for word in words if word != "--debug"]


def _execute(words: list[str]) -> tuple[str, str]:
    """Execute a command in this process: its outcome, and what it printed if that is wrong."""
    from unweave import cli

    late = []
    started = time.monotonic() - waited()

    def too_long(*_: object) -> None:
        if (left := SECONDS - (time.monotonic() - waited() - started)) > 0:
            signal.setitimer(signal.ITIMER_REAL, left + 0.1)
            return
        late.append(True)
        raise TimeoutError("it takes too long")

    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    output, errors = io.StringIO(), io.StringIO()
    code: object = 0
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            cli.main(words)
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        if not late:
            return "traceback", f"{words!r:.600}\n{traceback.format_exc(limit=-4)}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if late:  # whatever the command made of the interruption
        return "hang", repr(words)
    return _judged(words, code, output.getvalue(), errors.getvalue())


def _judged(words: list[str], code: object, output: str, errors: str) -> tuple[str, str]:
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > MEMORY:
        return "memory", repr(words)
    raw = [c for c in errors + output if not c.isprintable() and c not in "\n\t"]
    if raw and words[:1] != ["data"]:
        return "traceback", f"raw characters {raw[:5]} of {words!r:.300}"
    if code and not errors.strip():
        return "traceback", f"failed without a word: {words!r:.300}"
    return ("ok" if not code else "sentence"), ""


def lines(seed: int, folder: Path, number: int) -> Counted:
    """A batch of command lines: what they were counted as, by kind, and what was wrong."""
    models.library(folder)
    return counted(seed, folder, number, "line", _line_batch)


def _line_batch(chance: random.Random, place: Path) -> Iterator[tuple[str, str, str]]:
    os.chdir(place)
    for number in range(BATCH):
        kind, words = line(chance, place, number)
        outcome, seen = _execute(words)
        made = place / f"run{number}"
        if outcome == "ok" and words[0] == "train" and "--out" in words:
            if not (made / "model.safetensors").is_file():
                outcome, seen = "traceback", f"it ended well and trained nothing: {words!r:.600}"
        elif outcome == "sentence" and made.exists() and not _has_begun(made):
            outcome, seen = "traceback", f"it failed and left a run: {words!r:.600}"
        shutil.rmtree(made, ignore_errors=True)
        yield kind, outcome, seen


def _has_begun(run: Path) -> bool:
    """Whether a run has taken a step, or has diverged in its first."""
    from unweave.runs.history import read_history
    from unweave.runs.status import is_diverged

    return bool(read_history(run / "history.jsonl")) or is_diverged(run)


def counted(seed: int, folder: Path, number: int, name: str, batch: Batch) -> Counted:
    """A batch of inputs in a child of its own: what they were counted as, by kind, and what was wrong."""
    place = folder / "cases" / f"{name}{number}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    answers = place / "answers.jsonl"

    def work() -> None:
        chance = random.Random(f"{seed} {name} {number}")
        with answers.open("w", buffering=1) as file:
            for answer in batch(chance, place):
                file.write(json.dumps(answer) + "\n")

    ended = in_child(work, seconds=BATCH * SECONDS)
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    for kind, outcome, seen in map(json.loads, answers.read_text().splitlines() if answers.exists() else ()):
        counts[kind, outcome] += 1
        wrong += [seen] if outcome in ("traceback", "hang", "memory") else []
    if ended.signal or ended.code:
        counts[name, "hang" if ended.signal == 9 else "traceback"] += 1
        wrong.append(f"batch {number} ended with {ended.code or ended.signal}: {ended.errors[-500:]}")
    shutil.rmtree(place, ignore_errors=True)
    return counts, wrong


def silence() -> None:
    """No warnings of numpy or torch in the output of children."""
    import warnings

    warnings.simplefilter("ignore")
    sys.setrecursionlimit(1000)
