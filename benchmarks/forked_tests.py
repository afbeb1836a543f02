"""Tests in forked processes, for `mutants.py`: a parent that has imported torch and pytest forks a child for each run.

The parent imports nothing of unweave; each child imports it from the copy of the tree that it works in.
"""

import contextlib
import fnmatch
import gc
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WARM = (
    *("torch", "torch.nn", "torch.optim", "torch.distributions", "torch.utils.data", "numpy"),
    *("scipy.stats", "scipy.optimize", "scipy.special", "scipy.linalg", "scipy.ndimage", "scipy.integrate"),
    *("scipy.spatial", "sklearn.linear_model", "sklearn.ensemble", "sklearn.svm"),
    *("sklearn.feature_selection", "sklearn.tree", "sklearn.metrics", "sklearn.mixture"),
    *("sklearn.decomposition", "lightgbm", "omegaconf", "yaml", "click", "click.testing", "rich"),
    *("rich.progress", "PIL.Image", "PIL.ImageDraw", "safetensors.torch", "h5py", "jinja2"),
    *("matplotlib.pyplot", "hypothesis", "pytest", "pytest_timeout", "_pytest.doctest"),
    *("_pytest.assertion.rewrite", "concurrent.futures", "multiprocessing", "unittest.mock", "sqlite3"),
    *("urllib.request", "tarfile"),
)
"""What the parent imports before it forks."""

COPIED = (
    "src",
    "tests",
    "docs",
    "benchmarks",
    "examples",
    "pyproject.toml",
    "README.md",
    "Makefile",
    "CITATION.cff",
)
OPTIONS = (
    *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:unraisableexception", "-p", "no:threadexception"),
    *("-q", "--no-header", "--tb=line", "-W", "ignore", "--hypothesis-seed=0"),
)
Plan = tuple[str, dict[str, float]]
"""A file and the tests of it that are run, with the seconds that each took."""


def warm() -> None:
    """Import what all children need, on one thread each."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    for name in WARM:
        with contextlib.suppress(ImportError):
            __import__(name)
    import hypothesis
    import torch

    torch.set_num_threads(1)
    hypothesis.settings.register_profile("forked", deadline=None, database=None)
    hypothesis.settings.load_profile("forked")
    gc.freeze()  # pytest collects garbage twice a session, which would go through all of torch each time


def copy_tree(root: Path, slot: Path) -> None:
    """Source, tests and what tests read, with their times."""
    slot.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, slot / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (root / name).exists():
            shutil.copy2(root / name, slot / name)


def fingerprint(*paths: Path) -> str:
    """A hash of files, and of the Python files below folders."""
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(f"{file.name} {file.stat().st_size} ".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def test_files(root: Path, patterns: tuple[str, ...]) -> list[str]:
    """The test files and files with doctests that match, in the order of the patterns."""
    paths = [
        path.relative_to(root) for top in ("tests", "src") for path in sorted((root / top).rglob("*.py"))
    ]
    names = [str(p) for p in paths if p.parts[0] == "src" or p.name.startswith("test_")]
    names = [name for name in names if not name.endswith("__init__.py")]
    found = (name for pattern in patterns for name in names if fnmatch.fnmatch(name, pattern))
    return list(dict.fromkeys(found))


def in_child(slot: Path, log: Path, seconds: float, work: Callable[[], int]) -> int:
    """Fork a process that does ``work`` in a copy of the tree with at most that much processor time; its id."""
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
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
        os.chdir(slot)
        shutil.rmtree(slot / "tmp", ignore_errors=True)
        (slot / "tmp").mkdir()
        tempfile.tempdir = None
        os.environ |= {"PYTHONPATH": str(slot / "src"), "TMPDIR": str(slot / "tmp")}
        os.environ["UNWEAVE_CACHE"] = str(_own_cache(slot))
        others = [path for path in sys.path if path and Path(path).name not in ("src", "benchmarks")]
        sys.path[:] = [str(slot / "src"), *others]
        code = work()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _own_cache(slot: Path) -> Path:
    """A cache folder that starts with the files of the user's: what a mutant makes must never get into that one."""
    theirs = Path(os.environ.get("UNWEAVE_CACHE") or "~/.cache/unweave").expanduser()
    own = slot / "cache"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    for file in theirs.glob("*") if theirs.is_dir() else ():
        if file.is_file():
            try:
                os.link(file, own / file.name)
            except OSError:  # another file system
                (own / file.name).symlink_to(file)
    return own


def poll(process: int, end: float) -> str | None:
    """How a child ended: "passed", "failed", "timeout", "error"; none while it runs. Its group ends with it."""
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


class Selected:
    """A pytest plugin: only the given tests, the fastest first; notes those that fail."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Select and sort."""
        chosen = [item for item in items if item.nodeid in self.seconds]
        items[:] = sorted(chosen, key=lambda item: self.seconds[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test that fails."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        """Note a file that cannot be collected."""
        if report.failed:
            self.failed.append(f"{report.nodeid} (collection)")


class Recorder:
    """A pytest plugin: how long each test takes and which functions of unweave it enters."""

    def __init__(self, source: Path) -> None:
        self.prefix = f"{source}/"
        self.entered: set[str] = set()
        self.collecting: list[str] = []
        self.tests: dict[str, dict[str, Any]] = {}
        self.failed: list[str] = []

    def trace(self, frame: Any, event: str, argument: Any) -> None:
        """Note that a function is entered; nothing inside of it is traced."""
        code = frame.f_code
        if code.co_filename.startswith(self.prefix):
            self.entered.add(f"{code.co_filename[len(self.prefix) :]}:{code.co_qualname}")

    def pytest_collection_finish(self, session: Any) -> None:
        """What was entered by imports and parameters of tests."""
        self.collecting = sorted(self.entered)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self.entered.clear()
        self.tests[nodeid] = {"seconds": time.process_time()}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test that fails."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """A test has ended."""
        seconds = time.process_time() - self.tests[nodeid]["seconds"]
        self.tests[nodeid] = {"seconds": round(seconds, 3), "enters": sorted(self.entered)}


def run_tests(plans: list[Plan], first: bool) -> list[str]:
    """In a child: run the tests of each file; the tests that fail, only the first one if that is enough."""
    import pytest

    failed: list[str] = []
    for file, tests in plans:
        plugin = Selected(tests)
        stop = ["-x"] if first else []
        code = int(pytest.main([*OPTIONS, "-m", "not slow", "--timeout=0", *stop, file], plugins=[plugin]))
        if code not in (0, 5):
            failed += plugin.failed or [f"{file} (pytest ended with {code})"]
        if failed and first:
            return failed[:1]
    return failed


class Baseline:
    """Seconds and entered functions of every test, recorded once for a state of the source and of the test file."""

    def __init__(self, state: Path, slot: Path) -> None:
        self.folder = state / "baseline"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.slot = slot
        self.state = fingerprint(slot / "src", *sorted((slot / "tests").rglob("conftest.py")))
        self.files: dict[str, dict[str, Any]] = {}

    def of(self, file: str) -> dict[str, Any]:
        """What is known of the tests of a file."""
        if file not in self.files:
            own = fingerprint(self.slot / file)
            path = self.folder / f"{file.replace('/', '.')}-{self.state}-{own}.json"
            if not path.exists():
                self._record(file, path)
            self.files[file] = json.loads(path.read_text())
        return self.files[file]

    def _record(self, file: str, path: Path) -> None:
        import pytest

        def work() -> int:
            recorder = Recorder(self.slot / "src/unweave")
            threading.settrace(recorder.trace)
            sys.settrace(recorder.trace)
            pytest.main([*OPTIONS, "-m", "not slow", "--timeout=600", file], plugins=[recorder])
            sys.settrace(None)
            recorded = {"tests": recorder.tests, "collecting": recorder.collecting, "failed": recorder.failed}
            path.write_text(json.dumps(recorded))
            return 0

        log = path.with_suffix(".log")
        process, end = in_child(self.slot, log, 900, work), time.monotonic() + 1800
        while (ended := poll(process, end)) is None:
            time.sleep(0.02)
        if ended != "passed":
            path.write_text(json.dumps({"tests": {}, "collecting": [], "failed": [f"{file} ({ended})"]}))
        if failed := json.loads(path.read_text())["failed"]:
            print(f"\n{file} fails without any mutation, not used: {failed[:3]}, see {log}", file=sys.stderr)

    def plans(self, files: list[str], scope: str, budget: float) -> list[Plan]:
        """The tests of ``files`` that concern a function, file by file, up to a budget of seconds in all.

        First the tests that enter the function, then the other tests of such files, for which a fixture of the module
        may have entered it. If none enters it, or for code outside of functions, those that enter the source file.

        Args:
            files: in the order in which they are run, the cheap ones among them first.
            scope: the file below src/unweave and the qualified name of the function, "priors/tree.py:Tree.parse".
            budget: seconds.
        """
        source = scope.split(":")[0] + ":"
        for wanted in (scope, source):
            found = [self._entering(file, wanted, exact=wanted != source) for file in files]
            if any(own for own, _ in found):
                break
        taken: list[Plan] = []
        order = sorted(range(len(files)), key=lambda i: (i // 10, sum(found[i][0].values())))
        for part in (0, 1):
            for i in order:
                tests: dict[str, float] = {}
                for name, seconds in sorted(found[i][part].items(), key=lambda item: item[1]):
                    if seconds <= budget:
                        tests[name] = seconds
                        budget -= seconds
                if tests:
                    taken.append((files[i], tests))
        return taken

    def _entering(self, file: str, scope: str, exact: bool) -> tuple[dict[str, float], dict[str, float]]:
        def enters(names: list[str]) -> bool:
            return any(name == scope or name.startswith(f"{scope}." if exact else scope) for name in names)

        recorded = self.of(file)
        good = {n: t for n, t in recorded["tests"].items() if n not in recorded["failed"] and "enters" in t}
        everywhere = enters(recorded["collecting"])
        own = {n: t["seconds"] for n, t in good.items() if everywhere or enters(t["enters"])}
        others = {n: t["seconds"] for n, t in good.items() if own and n not in own and t["seconds"] < 2}
        return own, others
