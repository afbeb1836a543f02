"""What was tried and how it ended: kept in a file while the campaign runs, and in the docs when it is told to."""

import json
import platform
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "benchmarks" / "results" / "torture.json"
DOCS = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table of the campaign -->", "<!-- end of the table -->"
OUTCOMES = ("survived", "recovered", "told", "wrong")
TRAININGS = ("valid training", "training", "config file")


class Table:
    """The cases of a campaign; each line of its file is one, or a batch of them, with the commit that was tried."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.jsonl"
        self.rows: list[dict[str, Any]] = []
        if self.path.exists():
            self.rows = [json.loads(line) for line in self.path.read_text().splitlines()]
        self.done = {row["name"] for row in self.rows}
        self.commit = _commit()
        self.moment = time.monotonic()

    @property
    def wrong(self) -> list[str]:
        """What was wrong."""
        return [sentence for row in self.rows for sentence in row["wrong"]]

    @property
    def counts(self) -> dict[str, Counter[str]]:
        """How often each kind of fault had each outcome."""
        found: dict[str, Counter[str]] = {}
        for row in self.rows:
            for kind, outcomes in row["counts"].items():
                found.setdefault(kind, Counter()).update(outcomes)
        return found

    def cases(self, part: str) -> int:
        """How many cases of a part of the campaign had an outcome."""
        return sum(1 for row in self.rows if row["part"] == part and row["counts"])

    def add(self, part: str, name: str, counts: dict[str, Counter[str]], wrong: list[str]) -> None:
        """Record a case, or a batch of them."""
        now = time.monotonic()
        row = {"part": part, "name": name, "counts": counts, "wrong": wrong, "commit": self.commit}
        row["seconds"], self.moment = round(now - self.moment, 2), now
        self.rows.append(row)
        self.done.add(name)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        for sentence in wrong:
            print(f"WRONG {name}: {sentence}", flush=True)

    def forget(self, is_forgotten: Callable[[dict[str, Any]], bool]) -> None:
        """Let some cases be tried again; what is known of them goes to another file."""
        gone = [row for row in self.rows if is_forgotten(row)]
        self.rows = [row for row in self.rows if row not in gone]
        self.done = {row["name"] for row in self.rows}
        with self.path.with_name("forgotten.jsonl").open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in gone)
        self.path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))

    def show(self) -> str:
        """The table."""
        rows = [f"{'fault':32}{'tried':>8}" + "".join(f"{name:>11}" for name in OUTCOMES)]
        for kind, found in sorted(self.counts.items()):
            rows.append(f"{kind:32}{found.total():>8}" + "".join(f"{found[name]:>11}" for name in OUTCOMES))
        return "\n".join(rows)

    def content(self) -> dict[str, Any]:
        """The counts as they are kept."""
        commits = {
            part: Counter(row["commit"] for row in self.rows if row["part"] == part) for part in self._parts()
        }
        return {
            "command": "make torture",
            "date": time.strftime("%Y-%m-%d"),
            "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
            "commits": {part: dict(found) for part, found in commits.items()},
            "seconds": round(sum(row["seconds"] for row in self.rows)),
            "counts": {
                kind: {name: found[name] for name in OUTCOMES} for kind, found in sorted(self.counts.items())
            },
            "wrong": self.wrong,
        }

    def _parts(self) -> list[str]:
        return list(dict.fromkeys(row["part"] for row in self.rows))


def summary(content: dict[str, Any]) -> dict[str, int]:
    """The numbers that the campaign is judged by."""
    counts: dict[str, dict[str, int]] = content["counts"]

    def tried(*words: str) -> int:
        return sum(
            sum(found.values()) for kind, found in counts.items() if any(word in kind for word in words)
        )

    trainings = [f"command line: {kind}" for kind in TRAININGS]
    return {
        "kills": tried("kill "),
        "between two writes": tried("kill between"),
        "in sweeps": tried(", sweep") - tried("full disk, sweep"),
        "Ray workers and nodes": tried("kill of a Ray"),
        "damaged files": tried("damage, "),
        "repairs": tried("repair, "),
        "full disks": tried("full disk"),
        "read-only": tried("read-only"),
        "another user": tried("another user"),
        "command lines": tried("command line: "),
        "trainings": tried(*trainings),
        "trained": sum(counts.get(kind, {}).get("survived", 0) for kind in trainings),
        "constructors": tried("constructor: "),
        "wrong": sum(found["wrong"] for found in counts.values()),
    }


def markdown(content: dict[str, Any]) -> str:
    """The counts as a section of the docs."""
    total = summary(content)
    groups: dict[str, Counter[str]] = {}
    for kind, found in content["counts"].items():
        groups.setdefault(kind.split(": ")[0], Counter()).update(found)
    rows = [f"| fault | tried | {' | '.join(OUTCOMES)} |", "|---|" + "---|" * (1 + len(OUTCOMES))]
    for kind, found in groups.items():
        rows.append(f"| {kind} | {found.total():,} | {' | '.join(f'{found[name]:,}' for name in OUTCOMES)} |")
    commits = sorted({commit for found in content["commits"].values() for commit in found})
    told = [
        f"{total['kills']:,} kills ({total['between two writes']:,} between two writes, {total['in sweeps']:,} in "
        f"sweeps, {total['Ray workers and nodes']} of Ray workers or nodes), {total['damaged files']:,} damaged files,",
        f"{total['repairs']:,} more that were repaired,",
        f"{total['full disks']:,} full disks, {total['read-only']:,} commands in a read-only folder and "
        f"{total['another user']:,} in another user's, {total['command lines']:,} command lines,",
        f"{total['constructors']:,} constructors: **{total['wrong']:,} wrong**. Of {total['trainings']:,} fuzzed "
        f"trainings {total['trained']:,} passed validation and trained.",
        f"({content['date']}, {content['seconds'] / 60:.0f} minutes beside other work, commit {', '.join(commits)}, "
        "`benchmarks/results/torture.json`.)",
    ]
    return "\n".join([*told, "", *rows])


def write(table: Table) -> None:
    """Keep the counts in the repository, and put them into the docs."""
    content = table.content()
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    before, rest = DOCS.read_text().split(BEGIN)
    DOCS.write_text(f"{before}{BEGIN}\n{markdown(content)}\n{END}{rest.split(END)[1]}")


def _commit() -> str:
    """The commit that is tried, with a plus sign if its sources have been changed."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return git("rev-parse", "--short=9", "HEAD") + (
        "+" if git("status", "--porcelain", "src", "tests/faults") else ""
    )
