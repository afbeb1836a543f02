"""Processes of sweeps that die in the middle of a run: workers of this machine, the parent, Ray workers and nodes."""

import functools
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaign.children import Ended, in_child
from campaign.kills import Case, results

MANY = {"worker": 6, "sweep": 4, "ray worker": 8, "ray node": 2}
KINDS = {
    "worker": "kill of a worker, sweep",
    "sweep": "kill of the parent, sweep",
    "ray worker": "kill of a Ray worker",
    "ray node": "kill of a Ray node",
}
STEPS = 12
PART = """
import os, signal
from unweave.objectives import BetaVAE


class Fatal(BetaVAE):
    # A beta-VAE. The first process that reaches the fatal step takes the order from the folder and kills.

    def forward(self, vae, images, progress):
        parent = os.environ.get("FATAL_PARENT") == str(os.getpid())  # it takes a few steps of its own, to time them
        if not parent and progress.step == int(os.environ.get("FATAL_STEP", -1)):
            try:
                os.unlink(os.environ["FATAL_ORDER"])
            except FileNotFoundError:
                pass
            else:
                whom = os.getpid() if os.environ["FATAL_WHOM"].endswith("worker") else os.getppid()
                os.kill(whom, signal.SIGKILL)
        return super().forward(vae, images, progress)
"""
STUDY = """
base: {{data: circles, data.size: 32, latents: 2, batch_size: 4, steps: {steps}, objective: "{part}:Fatal",
       encoder: {{name: MLP, hidden: [8]}}, decoder: {{name: MLP, hidden: [8]}}}}
seeds: 2
"""


class Sweeps:
    """A sweep of two runs, and what it gives if nobody dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        part, self.study = folder / "fatal.py", folder / "fatal.yaml"
        part.write_text(PART)
        self.study.write_text(STUDY.format(steps=STEPS, part=part))
        whole = folder / "reference" / "fatal"
        if not whole.exists():
            ended = self._undisturbed(whole)
            assert ended.code == 0, ended
        self.expected = results(whole)
        assert len(self.expected) == 6, "weights, losses and scores of two runs"

    def _undisturbed(self, place: Path) -> Ended:
        """The sweep with nobody dying, by workers as well: a child of this process scores fewer images than they do."""
        return in_child(functools.partial(self._execute, "", place, {}), seconds=600.0, bounded=False)

    def words(self, place: Path) -> list[str]:
        """The command."""
        return ["sweep", str(self.study), "--out", str(place), "--no-report", "--quiet"]

    def case(self, whom: str, number: int, step: int) -> tuple[str, str]:
        """One kill at a step, and what became of the sweep; its command is repeated if it was killed itself."""
        place = self.folder / "cases" / f"fatal-{whom.replace(' ', '-')}-{number}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        order = place / "order"
        order.touch()
        environment = {"FATAL_STEP": str(step), "FATAL_ORDER": str(order), "FATAL_WHOM": whom}
        ended = in_child(
            functools.partial(self._execute, whom, place / "sweep", environment), seconds=600.0, bounded=False
        )
        problem = self._problem(whom, place / "sweep", ended)
        if order.exists():
            problem = f"nobody was killed: {ended.errors[-400:]}"
        if problem:
            return "wrong", f"{whom} killed at step {step}: {problem}"
        shutil.rmtree(place)
        return "recovered", ""

    def _problem(self, whom: str, place: Path, ended: Ended) -> str:
        if "Traceback" in ended.errors:
            return ended.errors[-600:]
        if whom == "sweep":
            if ended.signal != 9:
                return f"it was not killed, but ended with {ended.code}: {ended.errors[-400:]}"
            ended = self._undisturbed(place)
        if ended.code or ended.signal:
            return f"it ended with {ended.code or ended.signal}: {ended.errors[-600:]}"
        # Ray may notice only after such a short sweep has ended; tests/runs/test_sweep.py has a longer one.
        if ended.errors.count("was lost") > (whom == "ray node"):
            return f"told was: {ended.errors[-600:]}"
        if (found := results(place)) != self.expected:
            return f"other results in {[name for name in self.expected if found.get(name) != self.expected[name]]}"
        from unweave.runs.check import damage

        return "; ".join(s for run in place.rglob("run.json") for s in damage(run.parent))

    def _execute(self, whom: str, place: Path, environment: dict[str, str]) -> None:
        """In a child: the sweep. Its workers are processes of their own, which import everything again."""
        from unweave import cli

        os.environ |= {**environment, "FATAL_PARENT": str(os.getpid())}
        words = self.words(place)
        if whom == "ray worker":
            cli.main([*words, "--executor", "ray", "--workers", "1"])
        elif whom == "ray node":
            with _cluster() as address:
                cli.main([*words[:-1], "--executor", "ray", "--address", address])
        else:
            cli.main([*words, "--workers", "1"])


class _cluster:  # noqa: N801  used as a function
    """A Ray cluster whose head takes no runs and whose two other nodes take one at a time: its address."""

    def __enter__(self) -> str:
        from ray.cluster_utils import Cluster

        options: dict[str, Any] = {"object_store_memory": 100 * 2**20}
        self.cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **options}
        )
        for _ in range(2):
            self.cluster.add_node(num_cpus=1, **options)
        self.cluster.wait_for_nodes()
        return str(self.cluster.address)

    def __exit__(self, *problem: object) -> None:
        self.cluster.shutdown()


def cases(seed: int, folder: Path, which: tuple[str, ...]) -> Iterator[Case]:
    """Some kills of each kind, at random steps."""
    made = Sweeps(folder)
    for whom in which:
        chance = random.Random(f"{seed} {whom}")
        for number in range(MANY[whom]):
            step = chance.randrange(1, STEPS)
            yield KINDS[whom], f"{whom} {number}", functools.partial(made.case, whom, number, step)
