"""What a sweep costs beyond its runs, and how fast the index finds runs; measured in one run.

    python benchmarks/sweep.py [--runs 40] [--out benchmarks/results/sweep.json]

* `runs` short runs with their scores, executed by `unweave.runs.executors.Local` on all cores (wall time, including the
  start of its processes), against such runs one after the other in one single-threaded process: a quarter of them
  before the sweep and a quarter after it, so that other load on the machine affects both; scaled to all runs.
* The same against the careless way: two processes that execute runs with torch's default number of threads. They get a
  few runs each, and the time is scaled to all runs.
* An index over 10,000 artificial run folders: a full rebuild, and the query "all FactorVAE runs on dSprites with
  gamma > 10", with and without a check of every folder for changes.
"""

import argparse
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from unweave.runs import Run, Study
from unweave.runs.executors import Event, Local
from unweave.runs.run_index import RunIndex
from unweave.runs.sweep import Sweep

BASE = {
    "data": "circles",
    "data.size": 32,
    "steps": 60,
    "batch_size": 64,
    "latents": 10,
    "learning_rate": 1e-3,
}
OVERHEAD, CARELESS = 1.15, 4.0
QUERY, REBUILD, FOLDERS = 0.1, 20.0, 10_000
QUESTION = ["objective=FactorVAE", "data=dSprites", "objective.gamma>10"]
BUSY = 0.9


def study(runs: int) -> Study:
    return Study.of({"base": BASE, "grid": {"objective.beta": [1, 4]}, "seeds": runs // 2}, name="short")


def sweep(study: Study, folder: Path, workers: int) -> tuple[float, list[float]]:
    """Wall time of a new sweep, and the time of each of its runs."""
    started: dict[Path, float] = {}
    taken: list[float] = []

    def tell(event: Event) -> None:
        if event.kind == "started" and event.folder is not None:
            started[event.folder] = time.perf_counter()
        if event.kind == "ended" and event.folder is not None:
            assert event.how == "finished", (event.folder / "log.txt").read_text()
            taken.append(time.perf_counter() - started[event.folder])

    begun = time.perf_counter()
    made = Sweep.create(study, folder)
    made.execute(Local(workers=workers), tell)
    return time.perf_counter() - begun, taken


def processor_seconds() -> float:
    """Processor time of all ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def careless(folders: list[Path]) -> None:
    """One of two processes of the careless way: with torch's default number of threads."""
    import torch

    from unweave.runs.evaluation import evaluate

    threads = torch.get_num_threads()
    print("ready", flush=True)
    sys.stdin.readline()
    for folder in folders:
        run = Run(folder)
        run.train(threads=threads)
        evaluate(run)
        print("done", flush=True)


def time_careless(study: Study, folder: Path, each: int, most: float) -> tuple[float, int]:
    """Wall time of two careless processes and how many runs they finished in it, at most ``most`` seconds."""
    made = Sweep.create(study, folder)
    places = [str(member.run.folder) for member in made.members]
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--careless", *places[i * each : (i + 1) * each]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for i in (0, 1)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    begun = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    while any(process.poll() is None for process in processes) and time.perf_counter() - begun < most:
        time.sleep(0.05)
    wall = time.perf_counter() - begun
    for process in processes:
        process.kill()
    return wall, sum(process.communicate()[0].count("done") for process in processes)


def make_folders(root: Path, count: int) -> None:
    """Run folders like those of real runs, with artificial numbers."""
    from unweave.runs import Config

    configs = [
        Config.read(words=["data=dsprites", "objective=FactorVAE"]).to_mapping(),
        Config.read(words=["data=circles"]).to_mapping(),
    ]
    chance = random.Random(0)
    names = ("elbo", "nll", "kl", "latents_used", "mig", "factor_vae_score", "geometry")
    table = [[chance.random() for _ in range(5)] for _ in range(10)]
    history = "".join(
        json.dumps({"step": step, "total": 1.5, "kl": 2.5, "kl_per_latent": [0.25] * 10}) + "\n"
        for step in range(50)
    )
    for number in range(count):
        folder = root / f"study{number % 10}" / f"run{number}"
        folder.mkdir(parents=True)
        config = json.loads(json.dumps(configs[number % 2]))
        config["seed"] = number
        if number % 2 == 0:
            config["objective"]["gamma"] = chance.choice([1.0, 10.0, 20.0, 40.0])
        scores = {name: {"value": chance.random(), "constants": {"table": table}} for name in names}
        (folder / "run.json").write_text(
            json.dumps({"identity": f"{number:064x}", "config": config}, indent=2)
        )
        (folder / "status.json").write_text(json.dumps({"status": "finished", "step": 5000, "seconds": 12.5}))
        (folder / "scores.json").write_text(json.dumps(scores, indent=2))
        (folder / "history.jsonl").write_text(history)
        (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")  # no weights, whole


def time_store(root: Path) -> dict[str, float]:
    make_folders(root, FOLDERS)
    store = RunIndex(root)
    begun = time.perf_counter()
    assert store.rebuild() == FOLDERS
    found = {"rebuild": time.perf_counter() - begun}
    for name, refresh in (("query_and_look", True), ("query", False)):
        times = []
        for _ in range(9):
            begun = time.perf_counter()
            count = len(store.find(QUESTION, refresh=refresh))
            times.append(time.perf_counter() - begun)
        found[name] = statistics.median(times)
    assert 0 < count < FOLDERS / 2
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "sweep.json")
    parser.add_argument("--careless", nargs="+", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.careless:
        careless(arguments.careless)
        return 0

    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        plan, part = study(arguments.runs), study(arguments.runs // 4)
        sweep(study(2), root / "warm", 1)  # files in memory, data made
        print(f"{len(part.runs)} runs, one process, one thread", flush=True)
        _, before = sweep(part, root / "before", 1)
        print(f"{arguments.runs} runs, {cores} processes, one thread each", flush=True)
        used = processor_seconds()
        wall, _ = sweep(plan, root / "sweep", cores)
        share = (processor_seconds() - used) / (wall * cores)
        print(f"{len(part.runs)} runs, one process, one thread", flush=True)
        _, after = sweep(part, root / "after", 1)
        print("two processes, default threads", flush=True)
        few = max(1, min(3, arguments.runs // 4))
        slow, done = time_careless(part, root / "careless", few, most=75.0)
        print(f"an index of {FOLDERS:,} runs", flush=True)
        index = time_store(root / "store")
    single = (sum(before) + sum(after)) / (len(before) + len(after)) * arguments.runs
    overhead = wall / (single / cores)
    gain = (slow / max(done, 1)) / (wall / arguments.runs)
    measured = {
        "runs": arguments.runs,
        "single_thread_total": single,
        "sweep_wall": wall,
        "careless_seconds_a_run": slow / max(done, 1),
        **index,
    }
    verdicts = [
        (f"wall time / (single-thread time / {cores})", f"<= {OVERHEAD}", overhead, overhead <= OVERHEAD),
        ("two processes with default threads / sweep", f">= {CARELESS:.0f}x", gain, gain >= CARELESS),
        (f"index: query over {FOLDERS:,} runs (s)", f"< {QUERY}", index["query"], index["query"] < QUERY),
        (
            "index: query and look for changes (s)",
            f"< {QUERY}",
            index["query_and_look"],
            index["query_and_look"] < QUERY,
        ),
        ("index: full rebuild (s)", f"< {REBUILD:.0f}", index["rebuild"], index["rebuild"] < REBUILD),
    ]
    for what, need, value, met in verdicts:
        print(f"  {what:48} required {need:>8}  measured {value:8.3f}  {'ok' if met else 'NOT MET'}")
    # Except for their start and the last run, its own processes use the cores fully; the rest is load of others.
    print(f"  the sweep had {share:.0%} of {cores} cores")
    drift = max(sum(before), sum(after)) / min(sum(before), sum(after))
    if share < BUSY or drift > 1 / BUSY:
        print(f"  The machine is busy (single runs drift by {drift:.2f}x). Repeat when quiet.")
    report: dict[str, Any] = {
        "machine": {
            "cores": cores,
            "system": platform.platform(),
            "load_at_start": load,
            "drift": drift,
            "share": share,
        },
        "measured": measured,
        "verdicts": [
            {"what": what, "required": need, "measured": value, "met": bool(met)}
            for what, need, value, met in verdicts
        ],
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {arguments.out}")
    return 0 if all(met for *_, met in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
