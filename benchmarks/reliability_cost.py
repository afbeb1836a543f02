"""What hashes, checksums and synced files cost a run: its steps and its checkpoints against an earlier commit.

    python benchmarks/reliability_cost.py [--before f6d0d0d] [--turns 40] [--out benchmarks/results/...json]

Both train the same config with `unweave.runs.Run`, as the command does: the sources of this commit, and those of the
commit before runs had manifests. Each is a process of its own that waits while the other is timed. They take turns of
ten steps, and processor time is compared within a pair of turns, so that what else runs on the machine falls on both.
Then the same with a checkpoint after every step, for the cost of one. A run saves every 30 s, so what counts is the
ratio of 30 s of steps and one checkpoint.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WORDS = [
    *("data=circles", "encoder=Conv", "decoder=Deconv", "batch_size=64", "latents=10", "steps=5000"),
    *("optimizer=Adam", "learning_rate=1e-4", "seed=0"),
]
STEPS = 10
BETWEEN_CHECKPOINTS = 30.0
BOUND = 1.01


class Turns:
    """Called after every step: waits for its turn, takes ten steps, and reports the processor time of one."""

    def __init__(self) -> None:
        self.steps, self.start = -STEPS, 0.0  # the first turn is not timed

    def __call__(self) -> bool:
        """Whether to end."""
        self.steps += 1
        if self.steps < 0 or 0 < self.steps < STEPS:
            return False
        if self.steps == STEPS:
            print(json.dumps((time.process_time() - self.start) / STEPS), flush=True)
        ended = not sys.stdin.readline().strip()
        self.steps, self.start = 0, time.process_time()
        return ended


def child(checkpoint_seconds: float) -> None:
    from unweave.runs import Config, Run

    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Config.read(words=WORDS), Path(folder) / "run")
        run.train(checkpoint_seconds=checkpoint_seconds, stop=Turns())


class Contestant:
    """A process with the sources of some commit."""

    def __init__(self, source: Path, checkpoint_seconds: float) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-W", "ignore", __file__, "--child", str(checkpoint_seconds)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def turn(self) -> float:
        """Processor seconds of one of the next ten steps."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline()))

    def end(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def pairs(before: Path, checkpoint_seconds: float, turns: int) -> list[tuple[float, float]]:
    """Seconds of a step before and now, in turns that follow each other; who begins changes."""
    old, new = Contestant(before, checkpoint_seconds), Contestant(ROOT / "src", checkpoint_seconds)
    found = []
    try:
        for number in range(turns):
            if number % 2:
                then = old.turn()
                now = new.turn()
            else:
                now = new.turn()
                then = old.turn()
            found.append((then, now))
    finally:
        old.end()
        new.end()
    return found


def measure(before: Path, turns: int) -> dict[str, Any]:
    """The cost of steps and checkpoints, before and now."""
    steps = pairs(before, 1e9, turns)
    saved = pairs(before, 0.0, max(2, turns // 2))
    ratio = statistics.median(now / then for then, now in steps)
    step = statistics.median(then for then, _ in steps)
    checkpoints = [
        statistics.median(pair[side] for pair in saved) - step * (ratio if side else 1) for side in (0, 1)
    ]
    spread = statistics.quantiles([now / then for then, now in steps], n=4)
    return {
        "milliseconds_of_a_step_before": 1e3 * step,
        "ratio_of_steps": ratio,
        "quartiles_of_that_ratio": [spread[0], spread[2]],
        "milliseconds_of_a_checkpoint": [1e3 * seconds for seconds in checkpoints],
        "ratio": (BETWEEN_CHECKPOINTS * ratio + checkpoints[1]) / (BETWEEN_CHECKPOINTS + checkpoints[0]),
        "bound": BOUND,
        "turns": turns,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default="f6d0d0d", help="the commit to compare with")
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        child(given.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", given.before, "src"], cwd=ROOT, stdout=subprocess.PIPE, check=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        result = {"before": given.before, **measure(Path(folder) / "src", given.turns)}
    result["load_of_the_machine"] = os.getloadavg()[0]
    text = json.dumps(result, indent=2)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n")
    if result["ratio"] > BOUND:
        sys.exit(f"a run takes {result['ratio']:.4f} of the time before, more than {BOUND}")


if __name__ == "__main__":
    main()
