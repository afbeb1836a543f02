"""Whether the tests notice when the mathematics is wrong: semantic mutations of the source, one at a time.

    python benchmarks/mutants.py --list                      # the mutations that would be made
    python benchmarks/mutants.py --count 400 --json benchmarks/results/mutants.json
    python benchmarks/mutants.py --module priors --only 3f2a9c41d0

Signs, operators, comparisons, constants, axes, reductions (min, max, mean, sum), dropped terms, factors, keywords, calls
and elements, swapped arguments and branches of functional, objectives, priors, likelihoods, metrics, training, data and
of the identity and evaluation of runs. The mutations are chosen by a hash of the seed and of the mutation itself, so a
change of one module does not change the choice in another. Those of `KNOWN` are always made.

The working tree is only read: source and tests are copied to a folder of each worker. A first pass over the tests of a
module records which functions each test enters; a mutant meets the tests that enter the mutated function, the fastest
files first, until one fails. Processes are forked from a parent that has imported torch and pytest, which saves the
seconds that an import takes. A mutant that needs far more processor time than the tests took before counts as timed
out, that is as killed.

Results are appended to a file in the state folder: killed mutants are not run again, survivors are run again once source
or tests have changed. Survivors that cannot be killed, because the mutation does not change the meaning, are explained
in `mutants_explained.toml`. The exit code is 0 if no survivor is unexplained and at least 95 % were killed.
"""

import argparse
import contextlib
import fnmatch
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mutations import MODULES, Mutant, apply, chosen, every

ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = Path(__file__).with_name("mutants_explained.toml")
REQUIRED = 0.95

TESTS: dict[str, tuple[str, ...]] = {
    "functional": ("tests/functional/*", "src/unweave/functional/*", "tests/objectives/*", "tests/priors/*"),
    "objectives": ("tests/objectives/*", "src/unweave/objectives/*", "tests/priors/*", "tests/golden/test_golden.py"),
    "priors": ("tests/priors/*", "src/unweave/priors/*", "tests/golden/test_golden.py"),
    "likelihoods": ("tests/test_likelihoods*", "src/unweave/likelihoods*", "tests/objectives/*", "tests/golden/test_golden.py"),
    "metrics": ("tests/metrics/*", "src/unweave/metrics/*", "tests/golden/test_golden.py"),
    "training": ("tests/training/*", "src/unweave/training/*", "tests/runs/test_run.py", "tests/golden/test_golden.py"),
    "data": ("tests/data/*", "src/unweave/data/*", "tests/golden/test_golden.py"),
    "runs": (
        *("tests/runs/test_config*", "tests/runs/test_evaluation*", "tests/runs/test_data_identity*", "tests/runs/test_run.py"),
        *("src/unweave/runs/config.py", "src/unweave/runs/evaluation.py", "tests/golden/test_golden.py"),
    ),
}  # fmt: skip
"""The tests that concern a module, in the order in which they are run."""

WARM = (
    *("torch", "torch.nn", "torch.optim", "torch.distributions", "torch.utils.data", "numpy", "scipy.stats"),
    *("scipy.optimize", "scipy.special", "scipy.linalg", "scipy.ndimage", "scipy.integrate", "scipy.spatial"),
    *("sklearn.linear_model", "sklearn.ensemble", "sklearn.feature_selection", "sklearn.svm", "sklearn.tree"),
    *(
        "sklearn.metrics",
        "sklearn.mixture",
        "sklearn.decomposition",
        "omegaconf",
        "click",
        "click.testing",
        "rich",
    ),
    *(
        "rich.progress",
        "PIL.Image",
        "PIL.ImageDraw",
        "safetensors.torch",
        "h5py",
        "hypothesis",
        "pytest",
        "yaml",
    ),
    *(
        "_pytest.doctest",
        "_pytest.assertion.rewrite",
        "pytest_timeout",
        "xdist.plugin",
        "jinja2",
        "matplotlib.pyplot",
    ),
    *(
        "lightgbm",
        "concurrent.futures",
        "multiprocessing",
        "unittest.mock",
        "sqlite3",
        "urllib.request",
        "tarfile",
    ),
)
"""What the parent imports before it forks; nothing of unweave."""

OPTIONS = (
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-q",
    "--no-header",
    "--tb=line",
    "-W",
    "ignore",
    "--hypothesis-seed=0",
    "-m",
    "not slow",
)


def warm() -> None:
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    for name in WARM:
        try:
            __import__(name)
        except ImportError:
            print(f"not there: {name}", file=sys.stderr)
    import torch

    torch.set_num_threads(1)


def copy_tree(root: Path, slot: Path) -> None:
    """Source, tests and what tests read, with their times."""
    slot.mkdir(parents=True, exist_ok=True)
    for name in (
        "src",
        "tests",
        "docs",
        "benchmarks",
        "examples",
        "pyproject.toml",
        "README.md",
        "Makefile",
        "CITATION.cff",
    ):
        if (root / name).is_dir():
            shutil.copytree(root / name, slot / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (root / name).exists():
            shutil.copy2(root / name, slot / name)


def fingerprint(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(f"{file.name}{file.stat().st_size}".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def test_files(root: Path, module: str) -> list[str]:
    """The test files and files with doctests of a module, in the order of `TESTS`."""
    names = sorted(
        str(path.relative_to(root)) for top in ("tests", "src") for path in (root / top).rglob("*.py")
    )
    names = [name for name in names if name.startswith("src") or Path(name).name.startswith("test_")]
    names = [name for name in names if Path(name).name != "__init__.py"]
    return list(
        dict.fromkeys(name for pattern in TESTS[module] for name in names if fnmatch.fnmatch(name, pattern))
    )


class Selected:
    """A pytest plugin: only the tests of a list, the fastest first; notes the first that fails."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (i for i in items if i.nodeid in self.seconds), key=lambda i: self.seconds[i.nodeid]
        )

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid} (collection)"


class Recorder:
    """A pytest plugin: how long each test takes and which functions of unweave it enters."""

    def __init__(self, source: Path) -> None:
        self.prefix = str(source) + "/"
        self.entered: set[str] = set()
        self.tests: dict[str, dict[str, Any]] = {}
        self.collecting: list[str] = []
        self.failed: list[str] = []

    def trace(self, frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if code.co_filename.startswith(self.prefix):
            self.entered.add(f"{code.co_filename[len(self.prefix) :]}:{code.co_qualname}")

    def pytest_collection_finish(self, session: Any) -> None:
        self.collecting = sorted(self.entered)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.entered.clear()
        self.tests[nodeid] = {"seconds": time.process_time()}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        test = self.tests[nodeid]
        test["seconds"] = round(time.process_time() - test["seconds"], 3)
        test["enters"] = sorted(self.entered)


def in_child(slot: Path, log: Path, cpu: float, work: Callable[[], int]) -> int:
    """Fork; in the child, run ``work`` in a copy of the tree with its own output; the parent gets the process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        os.setsid()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 5))
        os.chdir(slot)
        temporary = slot / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        tempfile.tempdir = None
        os.environ |= {"PYTHONPATH": str(slot / "src"), "TMPDIR": str(temporary)}
        sys.path[:] = [
            str(slot / "src"),
            *(p for p in sys.path if p and not p.endswith("/src") and "benchmarks" not in p),
        ]
        code = work()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def poll(process: int, end: float) -> str | None:
    """How a child ended: "passed", "failed", "timeout"; none while it runs. Its group of processes ends with it."""
    done, status = os.waitpid(process, os.WNOHANG)
    if not done and time.monotonic() < end:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # the child, or what it has left behind
    if not done:
        os.waitpid(process, 0)
        return "timeout"
    if os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "failed"
    return {0: "passed", 1: "failed"}.get(os.WEXITSTATUS(status), "error")


class Baseline:
    """Seconds and entered functions of every test, recorded once for a state of the source and of the test file."""

    def __init__(self, state: Path, slot: Path) -> None:
        self.folder = state / "baseline"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.slot = slot
        self.source = fingerprint(slot / "src")
        self.conftests = fingerprint(*sorted((slot / "tests").rglob("conftest.py")))
        self.files: dict[str, dict[str, Any]] = {}

    def of(self, file: str) -> dict[str, Any]:
        if file not in self.files:
            key = fingerprint(self.slot / file)
            path = self.folder / f"{file.replace('/', '.')}-{self.source}-{self.conftests}-{key}.json"
            if not path.exists():
                self._record(file, path)
            self.files[file] = json.loads(path.read_text())
        return self.files[file]

    def _record(self, file: str, path: Path) -> None:
        import threading

        import pytest

        def work() -> int:
            recorder = Recorder(self.slot / "src/unweave")
            threading.settrace(recorder.trace)
            sys.settrace(recorder.trace)
            pytest.main([*OPTIONS, "--timeout=600", file], plugins=[recorder])
            sys.settrace(None)
            recorded = {"tests": recorder.tests, "collecting": recorder.collecting, "failed": recorder.failed}
            path.write_text(json.dumps(recorded))
            return 0

        log = path.with_suffix(".log")
        process, end = in_child(self.slot, log, 900, work), time.monotonic() + 1800
        while (ended := poll(process, end)) is None:
            time.sleep(0.02)
        if ended != "passed":
            print(f"{file}: no baseline ({ended}), see {log}", file=sys.stderr)
            path.write_text(json.dumps({"tests": {}, "collecting": [], "failed": []}))
        failed = json.loads(path.read_text())["failed"]
        if failed:
            print(
                f"{file}: fails without any mutation, these tests are not used: {failed[:3]}", file=sys.stderr
            )

    def tests_for(self, mutant: Mutant, budget: float) -> list[tuple[str, dict[str, float]]]:
        """Files and their tests that concern a mutant, with the seconds of each, up to a budget of seconds in all.

        Tests that enter the mutated function; the other tests of such a file too, for a module's fixture may have
        entered it for them. Outside functions: the tests that enter any function of the file.
        """
        scope, plans = f"{mutant.file}:{mutant.scope}", []
        pool = test_files(self.slot, mutant.module)
        for loose in (False, True):
            for number, file in enumerate(pool):
                recorded = self.of(file)
                good = {
                    n: t
                    for n, t in recorded["tests"].items()
                    if n not in recorded["failed"] and "enters" in t
                }
                entered = {
                    n
                    for n, t in good.items()
                    if any(_enters(e, scope, mutant.file, loose) for e in t["enters"])
                }
                collecting = any(_enters(e, scope, mutant.file, loose) for e in recorded["collecting"])
                if entered or collecting:
                    own = {n: t["seconds"] for n, t in good.items() if n in entered or collecting}
                    others = {n: t["seconds"] for n, t in good.items() if n not in own}
                    plans.append((number, file, own, others))
            if plans:
                break
        near = len(
            set(pool)
            & set(
                fnmatch.filter(pool, TESTS[mutant.module][0]) + fnmatch.filter(pool, TESTS[mutant.module][1])
            )
        )
        plans.sort(key=lambda plan: (plan[0] >= near, min(sum(plan[2].values()), 5.0) if plan[2] else 5.0))
        chosen_plans, left = [], budget
        for _, file, own, _ in plans:
            tests: dict[str, float] = {}
            for name, seconds in sorted(own.items(), key=lambda item: item[1]):
                if seconds <= left:
                    tests[name] = seconds
                    left -= seconds
            chosen_plans.append((file, tests))
        for index, (_, file, _, others) in enumerate(plans):
            spare = {name: seconds for name, seconds in others.items() if seconds < 5.0}
            if index < 4 and sum(spare.values()) < left:
                chosen_plans.append((file, spare))
                left -= sum(spare.values())
        return [plan for plan in chosen_plans if plan[1]]


def _enters(entered: str, scope: str, file: str, loose: bool) -> bool:
    if not loose and not scope.endswith(":"):
        return entered == scope or entered.startswith(f"{scope}.")
    return entered.startswith(f"{file}:")


@dataclass
class Trial:
    """A mutant under test in a copy of the tree."""

    mutant: Mutant
    slot: Path
    plans: list[tuple[str, dict[str, float]]]

    def start(self) -> None:
        """Change the file and start a child that runs the tests."""
        self.path = self.slot / "src/unweave" / self.mutant.file
        self.original, self.times = self.path.read_bytes(), self.path.stat()
        self.path.write_bytes(apply(self.original, self.mutant))
        os.utime(
            self.path, (1e9, 1e9)
        )  # another time than the one in the compiled file, which is thus ignored
        self.report, self.log = self.slot / "report.txt", self.slot / "log.txt"
        self.report.unlink(missing_ok=True)
        cpu = 30 + 4 * sum(seconds for _, tests in self.plans for seconds in tests.values())
        self.begun = time.monotonic()
        self.process, self.end = in_child(self.slot, self.log, cpu, self._tests), self.begun + 60 + 8 * cpu

    def _tests(self) -> int:
        import pytest

        sys.dont_write_bytecode = True
        for file, tests in self.plans:
            plugin = Selected(tests)
            code = int(pytest.main([*OPTIONS, "-x", "--timeout=0", file], plugins=[plugin]))
            if code not in (0, 5):
                self.report.write_text(plugin.failed or f"{file} (pytest ended with {code})")
                return 1
        return 0

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
        result = self.results.get(mutant.id)
        return result is not None and (
            result["status"] in ("killed", "timeout") or result["tests"] == self.tests
        )

    def add(self, mutant: Mutant, status: str, by: str, seconds: float) -> None:
        result = {
            **asdict(mutant),
            "status": status,
            "by": by,
            "seconds": round(seconds, 1),
            "tests": self.tests,
        }
        self.results[mutant.id] = result
        with self.file.open("a") as out:
            out.write(json.dumps(result) + "\n")


def run(mutants: list[Mutant], state: Path, workers: int, budget: float, again: bool) -> Campaign:
    """Test every mutant that has no result yet, ``workers`` at a time."""
    run_folder = Path(tempfile.mkdtemp(prefix="unweave-mutants-"))
    try:
        slots = [run_folder / f"slot{index}" for index in range(workers)]
        copy_tree(ROOT, slots[0])
        campaign = Campaign(state, fingerprint(slots[0] / "src", slots[0] / "tests"))
        waiting = [mutant for mutant in mutants if again or not campaign.finished(mutant)]
        if not waiting:
            return campaign
        warm()
        baseline = Baseline(state, slots[0])
        for module in dict.fromkeys(mutant.module for mutant in waiting):
            for number, file in enumerate(files := test_files(slots[0], module)):
                print(
                    f"\rbaseline of {module}: {number + 1} of {len(files)} {file:70}",
                    end="",
                    flush=True,
                    file=sys.stderr,
                )
                baseline.of(file)
        print(file=sys.stderr)
        for slot in slots[1:]:
            shutil.copytree(slots[0], slot, copy_function=shutil.copy2)
        _all(waiting, slots, baseline, campaign, budget)
        return campaign
    finally:
        shutil.rmtree(run_folder, ignore_errors=True)


def _all(
    waiting: list[Mutant], slots: list[Path], baseline: Baseline, campaign: Campaign, budget: float
) -> None:
    free, trials, total = list(slots), list[Trial](), len(waiting)
    queue = list(reversed(waiting))
    while queue or trials:
        while free and queue:
            trial = Trial(mutant := queue.pop(), free.pop(), baseline.tests_for(mutant, budget))
            trial.start()
            trials.append(trial)
        time.sleep(0.02)
        for trial in list(trials):
            if (ended := trial.ended()) is None:
                continue
            trials.remove(trial)
            free.append(trial.slot)
            status, by = ended if trial.plans else ("survived", "no test enters it")
            mutant = trial.mutant
            campaign.add(mutant, status, by, time.monotonic() - trial.begun)
            done = total - len(queue) - len(trials)
            print(
                f"{done:4} of {total} {status:8} {mutant.id} {mutant.file}:{mutant.line} {mutant.kind}",
                flush=True,
            )
            if status == "survived":
                print(f"       {mutant.original}\n    -> {mutant.mutated}", flush=True)


def explanations() -> dict[str, str]:
    return tomllib.loads(EXPLAINED.read_text()) if EXPLAINED.exists() else {}


def show(mutants: Sequence[Mutant], campaign: Campaign, out: Path | None) -> bool:
    """Print the table and the survivors, write the summary; whether what is required holds."""
    explained = explanations()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    survivors, finished = (
        [],
        [campaign.results[mutant.id] for mutant in mutants if mutant.id in campaign.results],
    )
    for result in finished:
        for row in (result["module"], "all"):
            table[row].update(["made", result["status"]])
        if result["status"] == "survived":
            survivors.append({**result, "explained": explained.get(result["id"], "")})
    columns = ("made", "killed", "timeout", "survived")
    print(f"\n{'module':12}" + "".join(f"{column:>10}" for column in columns) + f"{'share':>10}")
    rows = [row for row in (*MODULES, "all") if table[row]["made"]]
    for row in rows:
        counts = [table[row][column] for column in columns]
        share = (counts[1] + counts[2]) / counts[0]
        print(f"{row:12}" + "".join(f"{count:10}" for count in counts) + f"{share:10.1%}")
    for result in survivors:
        print(f"\n{result['id']} src/unweave/{result['file']}:{result['line']} {result['kind']}")
        print(
            f"    {result['original']}\n -> {result['mutated']}\n    {result['explained'] or 'UNEXPLAINED'}"
        )
    unexplained = [result["id"] for result in survivors if not result["explained"]]
    made, killed = table["all"]["made"], table["all"]["killed"] + table["all"]["timeout"]
    print(f"\n{killed} of {made} killed (required {REQUIRED:.0%}), unexplained survivors: {len(unexplained)}")
    if out is not None:
        names = ("id", "file", "line", "kind", "original", "mutated", "explained")
        summary = {
            "made": made,
            "killed": killed,
            "share": round(killed / max(made, 1), 4),
            "modules": {row: {column: table[row][column] for column in columns} for row in rows},
            "kinds": dict(Counter(result["kind"] for result in finished).most_common()),
            "survivors": [{name: result[name] for name in names} for result in survivors],
        }
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(summary, indent=1) + "\n")
    return made > 0 and killed >= REQUIRED * made and not unexplained


def main() -> int:
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
            print(
                f"{mutant.id} {mutant.file}:{mutant.line} [{mutant.kind}]\n    {mutant.original}\n -> {mutant.mutated}"
            )
        print(f"{len(mutants)} mutations: {dict(Counter(mutant.kind for mutant in mutants).most_common())}")
        return 0
    state = arguments.state or Path(tempfile.gettempdir()) / f"unweave-mutants-{os.getuid()}"
    state.mkdir(parents=True, exist_ok=True)
    campaign = run(mutants, state, arguments.workers, arguments.budget, again=bool(arguments.only))
    return 0 if show(mutants, campaign, arguments.json) else 1


if __name__ == "__main__":
    sys.exit(main())
