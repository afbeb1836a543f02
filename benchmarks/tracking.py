"""What live tracking costs the training: processor time of the same run with and without it, one after the other.

    python benchmarks/tracking.py [--rounds 5] [--steps 600] [--out benchmarks/results/tracking.json]

Each round trains one run without a tracker and one with each tracker that is installed, in turn and in another order
every time; the ratio is taken within a round, and the median of the rounds counts. `ratio` is that of the process that
trains, from before the tracker is started until it has taken everything. `copier` is the processor time of the process
that copies, which runs beside it at a lower priority: most of it is importing the package, and torch for pictures.
"""

import argparse
import importlib.util
import json
import resource
import statistics
import tempfile
import time
from pathlib import Path

from unweave.runs import Config, Run
from unweave.tracking import TRACKERS, tracking

WORDS = ["data=circles", "batch_size=16", "latents=10", "learning_rate=3e-4"]
ALLOWED = 1.02


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def trained(place: Path, tracker: str | None, steps: int, seed: int) -> tuple[float, float]:
    """Processor time of training here, and of the process that copies."""
    config = Config.read(words=[*WORDS, f"steps={steps}", f"seed={seed}"])
    run = Run.create(config, place / f"{tracker}-{seed}")
    started, before = time.process_time(), children()
    with tracking(tracker, place) as tracked:
        tracked.begin(run.folder)
        run.train(checkpoint_seconds=5.0)
    return time.process_time() - started, children() - before


def measured(rounds: int, steps: int) -> dict[str, dict[str, float]]:
    installed = [name for name, adapter in TRACKERS.items() if importlib.util.find_spec(adapter.package)]
    ratios: dict[str, list[float]] = {name: [] for name in installed}
    copiers: dict[str, list[float]] = {name: [] for name in installed}
    with tempfile.TemporaryDirectory() as folder:
        trained(Path(folder), None, 50, 1000)  # imports, allocator
        for seed in range(rounds):
            order: list[str | None] = [None, *installed]
            turned = order[seed % len(order) :] + order[: seed % len(order)]
            took = {name: trained(Path(folder), name, steps, seed) for name in turned}
            for name in installed:
                ratios[name].append(took[name][0] / took[None][0])
                copiers[name].append(took[name][1])
            print(
                seed,
                {str(name): f"{mine:.2f} s + {other:.2f} s" for name, (mine, other) in took.items()},
                flush=True,
            )
    return {
        name: {
            "ratio": statistics.median(ratios[name]),
            "lowest": min(ratios[name]),
            "highest": max(ratios[name]),
            "copier_seconds": statistics.median(copiers[name]),
        }
        for name in installed
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = measured(given.rounds, given.steps)
    for name, values in found.items():
        verdict = "holds" if values["ratio"] <= ALLOWED else "DOES NOT HOLD"
        print(
            f"{name}: training takes {values['ratio']:.3f} times as long "
            f"({values['lowest']:.3f} to {values['highest']:.3f}; at most {ALLOWED}: {verdict}); "
            f"the process that copies: {values['copier_seconds']:.1f} s"
        )
    if given.out:
        given.out.write_text(
            json.dumps({"rounds": given.rounds, "steps": given.steps, "trackers": found}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
