"""The whole campaign of faults, with a table at the end: `make torture`, or `python tests/faults/torture.py --help`.

It can be stopped and started again: what was tried is recorded in the folder and not repeated.
"""

import argparse
import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).parent))

from campaign import constructors, damages, disks, fuzz, kills, models, workers
from campaign.children import warm
from campaign.record import Table, write

SEED = 20
PARTS = ("constructors", "kills", "damages", "repairs", "models", "disks", "lines", "workers", "ray")


def single(table: Table, part: str, found: Iterator[kills.Case], late: Callable[[], bool], most: int) -> None:
    """Cases that end in one outcome each."""
    for kind, name, case in found:
        if late() or table.cases(part) >= most:
            return
        if name not in table.done:
            outcome, seen = case()
            # A case without an outcome could not be made: the file that it damages does not exist, for example.
            counts = {kind: Counter([outcome])} if outcome else {}
            table.add(part, name, counts, [seen] if outcome == "wrong" else [])


def batches(
    table: Table, part: str, make: Callable[[int], fuzz.Counted], late: Callable[[], bool], most: int
) -> None:
    """Cases that come in batches."""
    outcomes = {
        "ok": "survived",
        "sentence": "told",
        "traceback": "wrong",
        "hang": "wrong",
        "memory": "wrong",
    }
    titles = {"constructors": "constructor", "lines": "command line"}
    for number in range(-(-most // fuzz.BATCH)):
        name = f"{part} {number}"
        if late():
            return
        if name in table.done:
            continue
        counted, wrong = make(number)
        counts: dict[str, Counter[str]] = {}
        for (kind, outcome), many in counted.items():
            counts.setdefault(f"{titles[part]}: {kind}", Counter())[outcomes[outcome]] += many
        table.add(part, name, counts, wrong)


def main() -> None:
    """The campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where results are kept [default: a new one]")
    parser.add_argument("--minutes", type=float, default=240.0, help="after which it ends")
    for part, most in zip(PARTS, (5000, 1000, 1000, 1000, 1000, 1000, 10_000, 1000, 1000), strict=True):
        parser.add_argument(f"--{part}", type=int, default=most, help=f"at most so many [default: {most}]")
    parser.add_argument(
        "--again", choices=PARTS, action="append", default=[], help="forget what is known of a part"
    )
    parser.add_argument(
        "--write", action="store_true", help="write the counts into benchmarks/results and docs"
    )
    parser.add_argument("--retry", action="store_true", help="try again what was wrong, after a repair")
    parser.add_argument("--table", action="store_true", help="try nothing: show what is known")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="torture-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    held = None if given.table else _hold(folder)
    table = Table(folder)
    if held:
        if given.again or given.retry:
            table.forget(lambda row: row["part"] in given.again or (given.retry and bool(row["wrong"])))
        _try(table, folder, {part: getattr(given, part) for part in PARTS}, 60 * given.minutes)
    print(table.show())
    print(f"{len(table.wrong)} wrong; results in {table.path}")
    if given.write:
        write(table)
    sys.exit(1 if table.wrong else 0)


def _hold(folder: Path) -> TextIO:
    """One process at a time writes into a folder."""
    file = (folder / "lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"another process works in {folder}; --table shows what it has found so far")
    return file


def _try(table: Table, folder: Path, most: dict[str, int], seconds: float) -> None:
    """All parts of the campaign that are not complete, in turn."""
    for left in ("cases", "reference", "trained", "finished", "interrupted", "library", "models"):
        shutil.rmtree(folder / left, ignore_errors=True)
    os.environ["UNWEAVE_CACHE"] = str(folder / "cache")
    ends = time.monotonic() + seconds

    def late() -> bool:
        return time.monotonic() > ends

    warm()
    fuzz.silence()
    makes: dict[str, Callable[[], Iterator[kills.Case]]] = {
        "kills": lambda: kills.cases(SEED, folder),
        "damages": lambda: damages.cases(SEED, folder),
        "repairs": lambda: damages.repairs(SEED, folder),
        "models": lambda: models.cases(SEED, folder),
        "disks": lambda: disks.cases(SEED, folder),
        "workers": lambda: workers.cases(SEED, folder, ("worker", "sweep")),
        "ray": lambda: workers.cases(SEED, folder, ("ray worker", "ray node")),
    }
    batch = {"constructors": constructors.constructors, "lines": fuzz.lines}
    for part in PARTS:
        if part in batch:
            batches(table, part, lambda n, make=batch[part]: make(SEED, folder, n), late, most[part])  # type: ignore[misc]
        elif most[part] and not late():
            single(table, part, makes[part](), late, most[part])


if __name__ == "__main__":
    main()
