"""The whole campaign of faults, with a table at the end: `make torture`, or `python tests/faults/torture.py --help`.

It can be stopped and started again: what was tried is recorded in the folder and not repeated.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from campaign import damages, fuzz, kills
from campaign.children import warm

Case = tuple[str, Callable[[], tuple[str, str]]]
OUTCOMES = ("survived", "recovered", "told", "wrong")
SEED = 20


class Table:
    """What was tried and how it ended, kept in a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.jsonl"
        self.done: set[str] = set()
        self.counts: dict[str, Counter[str]] = {}
        self.wrong: list[str] = []
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            self._count(*json.loads(line))

    def add(self, name: str, counts: dict[str, Counter[str]], wrong: list[str]) -> None:
        """Record a case, or a batch of them."""
        plain = {kind: dict(found) for kind, found in counts.items()}
        with self.path.open("a") as file:
            file.write(json.dumps([name, plain, wrong]) + "\n")
        self._count(name, plain, wrong)
        for sentence in wrong:
            print(f"WRONG {name}: {sentence}", flush=True)

    def _count(self, name: str, counts: dict[str, dict[str, int]], wrong: list[str]) -> None:
        self.done.add(name)
        self.wrong += wrong
        for kind, found in counts.items():
            self.counts.setdefault(kind, Counter()).update(found)

    def show(self) -> str:
        """The table."""
        rows = [f"{'fault':32}{'tried':>8}" + "".join(f"{name:>11}" for name in OUTCOMES)]
        for kind, found in sorted(self.counts.items()):
            total = sum(found.values())
            rows.append(f"{kind:32}{total:>8}" + "".join(f"{found[name]:>11}" for name in OUTCOMES))
        return "\n".join(rows)


def single(
    table: Table,
    part: str,
    found: Iterator[Case],
    late: Callable[[], bool],
    most: int,
) -> None:
    """Cases that end in one outcome each."""
    for number, (kind, case) in enumerate(found):
        name = f"{part} {number}"
        if late() or number >= most:
            return
        if name in table.done:
            continue
        outcome, seen = case()
        if outcome:
            table.add(name, {kind: Counter([outcome])}, [seen] if outcome == "wrong" else [])


def batches(
    table: Table,
    part: str,
    found: Iterator[fuzz.Counted],
    late: Callable[[], bool],
) -> None:
    """Cases that come in batches."""
    names = {"ok": "survived", "sentence": "told", "traceback": "wrong", "hang": "wrong", "memory": "wrong"}
    for name, counted, wrong in found:
        counts: dict[str, Counter[str]] = {}
        for (kind, outcome), many in counted.items():
            counts.setdefault(f"{part}: {kind}", Counter())[names[outcome]] += many
        table.add(name, counts, wrong)
        if late():
            return


def main() -> None:
    """The campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=None, help="where results are kept [default: a new one]"
    )
    parser.add_argument("--minutes", type=float, default=120.0, help="after which it ends")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--damages", type=int, default=1000)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--constructors", type=int, default=5_000)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="torture-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    for left in ("cases", "reference", "trained", "finished", "interrupted"):
        shutil.rmtree(folder / left, ignore_errors=True)
    os.environ["UNWEAVE_CACHE"] = str(folder / "cache")
    ends = time.monotonic() + 60 * given.minutes

    def late() -> bool:
        return time.monotonic() > ends

    warm()
    fuzz.silence()
    table = Table(folder)
    if given.kills:
        single(table, "kill", kills.cases(SEED, folder), late, given.kills)
    if given.damages:
        single(table, "damage", damages.cases(SEED, folder), late, given.damages)
    for part, name, make, most in (
        ("constructor", "constructor", fuzz.constructors, given.constructors),
        ("command line", "line", fuzz.lines, given.lines),
    ):
        begun = sum(1 for done in table.done if done.startswith(f"{name}-"))
        if most > begun * fuzz.BATCH and not late():
            found = make(SEED + begun, folder, most - begun * fuzz.BATCH)
            batches(table, part, _after(found, begun), late)
    print(table.show())
    print(f"{len(table.wrong)} wrong; results in {table.path}")
    sys.exit(1 if table.wrong else 0)


def _after(found: Iterator[fuzz.Counted], number: int) -> Iterator[fuzz.Counted]:
    """Batches with names that go on after those of an earlier session."""
    for name, counts, wrong in found:
        kind, _, own = name.partition("-")
        yield f"{kind}-{int(own) + number}", counts, wrong


if __name__ == "__main__":
    main()
