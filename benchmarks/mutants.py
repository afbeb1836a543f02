"""Whether the tests notice when the mathematics is wrong: semantic mutations of the source, one at a time.

    python benchmarks/mutants.py --list                      # the mutations that would be made
    python benchmarks/mutants.py --count 400 --json benchmarks/results/mutants.json
    python benchmarks/mutants.py --module priors --only 3f2a9c41d0

Signs, operators, comparisons, constants, axes, reductions (min, max, mean, sum), dropped terms, factors, keywords,
calls and elements, swapped arguments and branches of functional, objectives, priors, likelihoods, metrics, training,
data and of the identity and evaluation of runs (`mutations.py`). The mutations are chosen by a hash of the seed and of
the mutation itself, so a change of one module does not change the choice in another. Those of `KNOWN` are always made.

The working tree is only read: source and tests are copied to a folder of each worker. A first pass over the tests of a
module records which functions each test enters; a mutant meets the tests that enter the mutated function, the fastest
first, until one fails (`forked_tests.py`). Each runs in a process forked from one that has imported torch and pytest,
so that a killed mutant takes about a second. A mutant that needs far more processor time than the tests took before
counts as timed out, that is as killed. At the end the tests that have killed something run once more without any
mutation: what a test has killed that fails there too is not counted and run again without it.

Results are appended to a file in the state folder: killed mutants are not run again, survivors are once source or tests
have changed. Survivors that cannot be killed, because the mutation does not change the meaning, are explained
in `mutants_explained.toml`. The exit code is 0 if no survivor is unexplained and at least 95 % were killed.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forked_tests import Baseline, Plan, copy_tree, fingerprint, in_child, poll, run_tests, test_files, warm
from mutations import MODULES, Mutant, apply, chosen, every, lost

ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = Path(__file__).with_name("mutants_explained.toml")
REQUIRED = 0.95
COLUMNS = ("made", "killed", "timeout", "survived")

GOLDEN = "tests/golden/test_golden.py"
TESTS: dict[str, tuple[str, ...]] = {
    "functional": ("tests/functional/*", "src/unweave/functional/*", "tests/objectives/*", "tests/priors/*"),
    "objectives": (
        *("tests/objectives/*", "src/unweave/objectives/*", "tests/priors/*", "tests/schedules/*"),
        GOLDEN,
    ),
    "priors": ("tests/priors/*", "src/unweave/priors/*", GOLDEN),
    "likelihoods": ("tests/test_likelihoods*", "src/unweave/likelihoods*", "tests/objectives/*", GOLDEN),
    "metrics": ("tests/metrics/*", "src/unweave/metrics/*", GOLDEN),
    "training": ("tests/training/*", "src/unweave/training/*", "tests/runs/test_run*", GOLDEN),
    "data": ("tests/data/*", "src/unweave/data/*", GOLDEN),
    "runs": (
        "tests/runs/test_[cedr]*",
        "src/unweave/runs/config.py",
        "src/unweave/runs/evaluation.py",
        GOLDEN,
    ),
}
"""The tests that concern a module, in the order in which they are run."""


@dataclass
class Trial:
    """A mutant under test in a copy of the tree."""

    mutant: Mutant
    slot: Path
    plans: list[Plan]

    def start(self) -> None:
        """Change the file and start a child that runs the tests."""
        self.path = self.slot / "src/unweave" / self.mutant.file
        self.original, self.times = self.path.read_bytes(), self.path.stat()
        self.path.write_bytes(apply(self.original, self.mutant))
        os.utime(
            self.path, (1e9, 1e9)
        )  # not the time that the compiled file was made for, so that is ignored
        self.report, self.log = self.slot / "report.txt", self.slot / "log.txt"
        self.report.unlink(missing_ok=True)
        seconds = 30 + 4 * sum(sum(tests.values()) for _, tests in self.plans)
        self.begun = time.monotonic()
        self.process = in_child(self.slot, self.log, seconds, self._tests)
        self.end = self.begun + 60 + 8 * seconds

    def _tests(self) -> int:
        sys.dont_write_bytecode = True
        failed = run_tests(self.plans, first=True)
        self.report.write_text("\n".join(failed))
        return 1 if failed else 0

    def ended(self) -> tuple[str, str] | None:
        """Status and the test that noticed, once the child has ended; the file is then as before."""
        ended = poll(self.process, self.end)
        if ended is None:
            return None
        self.path.write_bytes(self.original)
        os.utime(self.path, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))
        by = self.report.read_text() if self.report.exists() else ""
        if ended == "error":
            by = self.log.read_text()[-300:]
        if not self.plans:
            by = "no test enters it"
        return {"passed": "survived", "timeout": "timeout"}.get(ended, "killed"), by


class Campaign:
    """The results of all mutants so far, in a file that grows by a line a mutant."""

    def __init__(self, state: Path, tests: str) -> None:
        self.file = state / "results.jsonl"
        self.tests = tests
        self.results: dict[str, dict[str, Any]] = {}
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                result = json.loads(line)
                self.results[result["id"]] = result

    def finished(self, mutant: Mutant) -> bool:
        """Killed, or survived the tests of today."""
        result = self.results.get(mutant.id)
        if result is None or result["status"] == "doubtful":
            return False
        return result["status"] in ("killed", "timeout") or result["tests"] == self.tests

    def add(self, mutant: dict[str, Any], status: str, by: str, seconds: float) -> None:
        """Note a result."""
        result = {**mutant, "status": status, "by": by, "seconds": round(seconds, 1), "tests": self.tests}
        self.results[mutant["id"]] = result
        with self.file.open("a") as out:
            out.write(json.dumps(result) + "\n")


def run(mutants: list[Mutant], state: Path, workers: int, budget: float, again: bool) -> Campaign:
    """Test every mutant that has no result yet, ``workers`` at a time."""
    folder = Path(tempfile.mkdtemp(prefix="unweave-mutants-"))
    try:
        slots = [folder / f"slot{index}" for index in range(workers)]
        copy_tree(ROOT, slots[0])
        campaign = Campaign(state, fingerprint(slots[0] / "src", slots[0] / "tests"))
        waiting = [mutant for mutant in mutants if again or not campaign.finished(mutant)]
        if waiting:
            warm()
            baseline = Baseline(state, slots[0])
            for slot in slots[1:]:
                shutil.copytree(slots[0], slot, copy_function=shutil.copy2)
            for module in dict.fromkeys(mutant.module for mutant in waiting):
                _record(baseline, module)
                _all([m for m in waiting if m.module == module], slots, baseline, campaign, budget)
            while doubtful := _doubtful(mutants, baseline, campaign):
                _all(doubtful, slots, baseline, campaign, budget)
        return campaign
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _record(baseline: Baseline, module: str) -> None:
    files = test_files(baseline.slot, TESTS[module])
    for number, file in enumerate(files):
        print(
            f"\rbaseline of {module}: {number + 1} of {len(files)} {file:70}",
            end="",
            file=sys.stderr,
            flush=True,
        )
        baseline.of(file)
    print(file=sys.stderr)


def _all(
    waiting: list[Mutant], slots: list[Path], baseline: Baseline, campaign: Campaign, budget: float
) -> None:
    free, trials, total = list(slots), list[Trial](), len(waiting)
    queue = list(reversed(waiting))
    while queue or trials:
        while free and queue:
            mutant = queue.pop()
            files = test_files(baseline.slot, TESTS[mutant.module])
            plans = baseline.plans(files, f"{mutant.file}:{mutant.scope}", budget)
            trial = Trial(mutant, free.pop(), plans)
            trial.start()
            trials.append(trial)
        time.sleep(0.02)
        for trial in list(trials):
            if (ended := trial.ended()) is None:
                continue
            trials.remove(trial)
            free.append(trial.slot)
            status, by = ended
            campaign.add(asdict(trial.mutant), status, by, time.monotonic() - trial.begun)
            _tell(f"{total - len(queue) - len(trials):4} of {total}", trial.mutant, status)


def _tell(count: str, mutant: Mutant, status: str) -> None:
    print(f"{count} {status:8} {mutant.id} {mutant.file}:{mutant.line} {mutant.kind}")
    if status == "survived":
        print(f"       {mutant.original}\n    -> {mutant.mutated}")
    sys.stdout.flush()


def _doubtful(mutants: list[Mutant], baseline: Baseline, campaign: Campaign) -> list[Mutant]:
    """Mutants killed by tests that also fail without any mutation when run as they were; those tests are then out."""
    killed = {
        m.id: campaign.results[m.id]["by"] for m in mutants if campaign.results[m.id]["status"] == "killed"
    }
    plans: dict[str, dict[str, float]] = defaultdict(dict)
    for by in set(killed.values()):
        file = by.split("::")[0]
        if file in baseline.files and by in baseline.files[file]["tests"]:
            plans[file][by] = baseline.files[file]["tests"][by]["seconds"]
    report = baseline.slot / "report.txt"

    def work() -> int:
        report.write_text(json.dumps(run_tests(list(plans.items()), first=False)))
        return 0

    process = in_child(baseline.slot, baseline.slot / "log.txt", 3600, work)
    while poll(process, float("inf")) is None:
        time.sleep(0.02)
    failed = set(json.loads(report.read_text()))
    for test in failed:
        print(f"fails without any mutation, its kills do not count: {test}")
        baseline.files[test.split("::")[0]]["failed"].append(test)
    doubtful = [mutant for mutant in mutants if killed.get(mutant.id) in failed]
    for mutant in doubtful:
        campaign.add(asdict(mutant), "doubtful", killed[mutant.id], 0.0)
    return doubtful


def explanations() -> dict[str, str]:
    """Why a mutant cannot be killed, by its id."""
    written = tomllib.loads(EXPLAINED.read_text()) if EXPLAINED.exists() else {}
    return {mutant: entry["why"] for mutant, entry in written.items()}


def show(mutants: Sequence[Mutant], campaign: Campaign, out: Path | None) -> bool:
    """Print the table and the survivors, write the summary; whether what is required holds."""
    explained = explanations()
    results = [campaign.results[mutant.id] for mutant in mutants if mutant.id in campaign.results]
    survivors = [{**r, "explained": explained.get(r["id"], "")} for r in results if r["status"] == "survived"]
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        for row in (result["module"], "all"):
            table[row].update(["made", result["status"]])
    rows = [row for row in (*MODULES, "all") if table[row]["made"]]
    print(f"\n{'module':12}" + "".join(f"{column:>10}" for column in COLUMNS) + f"{'share':>10}")
    for row in rows:
        counts = [table[row][column] for column in COLUMNS]
        print(f"{row:12}" + "".join(f"{count:10}" for count in counts) + f"{1 - counts[3] / counts[0]:10.1%}")
    for result in survivors:
        print(f"\n{result['id']} src/unweave/{result['file']}:{result['line']} {result['kind']}")
        print(f"    {result['original']}\n -> {result['mutated']}")
        print(f"    {result['explained'] or 'UNEXPLAINED ' + result['by']}")
    unexplained = [result["id"] for result in survivors if not result["explained"]]
    made, killed = table["all"]["made"], table["all"]["killed"] + table["all"]["timeout"]
    print(f"\n{killed} of {made} killed (required {REQUIRED:.0%}), unexplained survivors: {len(unexplained)}")
    if out is not None:
        _write(out, table, rows, results, survivors)
    return made > 0 and killed >= REQUIRED * made and not unexplained


def _write(
    out: Path, table: dict[str, Counter[str]], rows: list[str], results: list[Any], survivors: list[Any]
) -> None:
    names = ("id", "file", "line", "kind", "original", "mutated", "explained")
    made, survived = table["all"]["made"], table["all"]["survived"]
    summary = {
        "made": made,
        "killed": made - survived,
        "share": round(1 - survived / max(made, 1), 4),
        "modules": {row: {column: table[row][column] for column in COLUMNS} for row in rows},
        "kinds": dict(Counter(result["kind"] for result in results).most_common()),
        "survivors": [{name: result[name] for name in names} for result in survivors],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(summary, indent=1) + "\n")


def main() -> int:
    """Read the command line, run, print; 0 if what is required holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=400, help="mutations in all modules together (400)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice (0)")
    parser.add_argument(
        "--module", action="append", choices=list(MODULES), help="only this module; may be repeated"
    )
    parser.add_argument("--workers", type=int, default=1, help="mutants at a time (1)")
    parser.add_argument("--list", action="store_true", help="list the mutations and end")
    parser.add_argument("--all", action="store_true", help="with --list: all that could be chosen")
    parser.add_argument(
        "--only", action="append", metavar="ID", help="only this one, run again; may be repeated"
    )
    parser.add_argument(
        "--budget", type=float, default=60.0, help="seconds of tests that a mutant meets (60)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the summary there")
    parser.add_argument(
        "--state", type=Path, help="folder of results and baselines, to go on with (in the temporary folder)"
    )
    arguments = parser.parse_args()
    modules = arguments.module or list(MODULES)
    if arguments.only:
        mutants = [mutant for mutant in every(ROOT, modules) if mutant.id in arguments.only]
    elif arguments.all:
        mutants = every(ROOT, modules)
    else:
        mutants = chosen(ROOT, arguments.count, arguments.seed, modules)
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant.id} {mutant.file}:{mutant.line} [{mutant.kind}]")
            print(f"    {mutant.original}\n -> {mutant.mutated}")
        print(f"{len(mutants)} mutations: {dict(Counter(mutant.kind for mutant in mutants).most_common())}")
        return 0
    state = arguments.state or Path(tempfile.gettempdir()) / f"unweave-mutants-{os.getuid()}"
    state.mkdir(parents=True, exist_ok=True)
    campaign = run(mutants, state, arguments.workers, arguments.budget, again=bool(arguments.only))
    right = show(mutants, campaign, arguments.json)
    if gone := lost(ROOT):
        print(f"not found in the source any more, correct KNOWN in mutations.py: {'; '.join(gone)}")
    return 0 if right and not gone else 1


if __name__ == "__main__":
    sys.exit(main())
