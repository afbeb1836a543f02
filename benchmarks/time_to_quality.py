"""Processor time of one core until a model is good, for several ways of training in one run.

    python benchmarks/time_to_quality.py list
    python benchmarks/time_to_quality.py run speed --state FOLDER [--seeds 300 301 302 303 304] [--ways Muon]
    python benchmarks/time_to_quality.py table [--page docs/learning.md]

A *trial* is one way of training with one seed. All trials of a seed take turns, a few dozen steps each, in one process,
so that whatever else runs on the machine falls on all alike. Counted is the processor time of training steps alone; at
growing distances (a fifth of the time so far, a sixteenth in groups with a level) a trial is measured on images that it
does not train on: reconstruction at the mean of the posterior and KL, in nats per image. A trial ends at its last step,
when its reconstruction has reached the level twice in a row (groups with a level), or when its budget is spent; then it
is scored (MIG, FactorVAE score, DCI) on 20,000 codes (on 10,000 where the results say nothing else: DCI is some .03
lower there).

States and curves are written to the state folder every half minute: the same command resumes. What has ended is
added to `benchmarks/results/time_to_quality.json` (`--results`), with its settings; a trial that stands there is not
repeated, so the campaign can go on over many days and machines.

Where a trial ends above the level, the time at which it would arrive is extrapolated: a straight line through the
last half of its curve, reconstruction against the logarithm of time. Loss curves flatten, so that is a lower bound, and
it is printed as one (>=).
"""

import argparse
import math
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unweave import atomic
from unweave.metrics import Encoded, score_all
from unweave.runs.config import Config
from unweave.runs.opened import open_data
from unweave.runs.run import fresh, settings_of
from unweave.training.checkpoints import Checkpoints
from unweave.training.trainer import Trainer
from unweave.vae import VAE, as_tensor

ADAM_5 = ("learning_rate=5e-4",)
ADAM_1 = ("learning_rate=1e-4",)
BY_MUON = (
    "learning_rate=3e-3",
    "optimizer=Muon",
    "optimizer.adam_rate=0.3333",
    "schedule=Linear",
    "schedule.warmup=50",
)
UNFOLDING = (
    *("learning_rate=1.5e-3", "optimizer=Muon", "optimizer.begins=0.22", "optimizer.adam_rate=0.6667"),
    "schedule=Unfolding",
)
COLOURED = ("data=coloredsprites", "decoder=SpatialBroadcast", "batch_size=16")
COLOURS = (
    "schedule.colours=0.7",
    "schedule.weights=[[0,16],[0.133,16],[0.22,10],[0.28,0.5],[0.8,0.5],[0.9,1]]",
)
TO_BETA_3 = (
    "objective.beta=3",
    "schedule.weights=[[0,6],[0.133,6],[0.22,4],[0.28,0.2],[0.5,0.2],[0.75,1]]",
)
"""The KL weighs 0.6 while latents open and learn, and then 3."""
SCORES = ("mig", "factor_vae_score", "dci")
MEASURED = {
    "reconstruction": "reconstruction",
    "latents": "latents used",
    "mig": "MIG",
    "factor_vae_score": "FactorVAE score",
    "dci": "DCI D",
}
"""What the tables have of a trial, and its heading."""
RESULTS = Path(__file__).parent / "results" / "time_to_quality.json"
CODES = 20_000
"""On how many a trial is scored."""
TURN = 25
"""Steps of one turn of a trial."""


@dataclass(frozen=True)
class Group:
    """Ways of training that are compared: their configs, the level to reach if any, and seconds for each.

    In the place of seconds the name of another way gives the time that this one took with the same seed.
    """

    question: str
    ways: dict[str, tuple[str, ...]]
    budgets: dict[str, float | str]
    level: float | None = None


def _steps(words: tuple[str, ...], steps: int) -> tuple[str, ...]:
    return (*words, f"steps={steps}")


GROUPS = {
    "speed": Group(
        "dSprites, beta = 1: when does the reconstruction reach 45 nats?",
        {
            "Muon": ("data=dsprites", *_steps(BY_MUON, 2000)),
            "Adam 5e-4": ("data=dsprites", *_steps(ADAM_5, 10**6)),
            "Adam 1e-4": ("data=dsprites", *_steps(ADAM_1, 10**6)),
        },
        {"Muon": 1e9, "Adam 5e-4": 1000.0, "Adam 1e-4": 500.0},
        level=45.0,
    ),
    "levers": Group(
        "dSprites, beta = 1, 1,200 steps of Muon or about as long: what does each lever change?",
        {
            "Adam 5e-4": ("data=dsprites", *_steps(ADAM_5, 1500)),
            "Adam 1e-3, decay": ("data=dsprites", *_steps(("learning_rate=1e-3", "schedule=Linear"), 1500)),
            "Muon 3e-3, decay": ("data=dsprites", *_steps(BY_MUON, 1200)),
            "Muon 3e-3, no decay": ("data=dsprites", *_steps((*BY_MUON[:3], "schedule=Constant"), 1200)),
            "Muon 6e-3, decay": ("data=dsprites", *_steps(("learning_rate=6e-3", *BY_MUON[1:]), 1200)),
            "Muon 1.5e-3, decay": ("data=dsprites", *_steps(("learning_rate=1.5e-3", *BY_MUON[1:]), 1200)),
            "Muon, batch 32": ("data=dsprites", "batch_size=32", *_steps(BY_MUON, 2400)),
            "Muon, batch 128": ("data=dsprites", "batch_size=128", *_steps(BY_MUON, 600)),
            "Muon on the code's layers too": (
                "data=dsprites",
                "optimizer.code_layers=true",
                *_steps(BY_MUON, 1200),
            ),
            "Muon, averaged weights": ("data=dsprites", "weight_average=0.99", *_steps(BY_MUON, 1200)),
            "Muon, averaged instead of decay": (
                *("data=dsprites", "weight_average=0.99"),
                *_steps((*BY_MUON[:3], "schedule=Constant"), 1200),
            ),
            "Muon, beta falls from 8": (
                *(
                    "data=dsprites",
                    "ramps.beta.start=8",
                    "ramps.beta.until=0.5",
                    "ramps.beta.shape=geometric",
                ),
                *_steps(BY_MUON, 1200),
            ),
            "Muon, truncated normal weights": (
                *("data=dsprites", "encoder.initialisation=truncated_normal"),
                "decoder.initialisation=truncated_normal",
                *_steps(BY_MUON, 1200),
            ),
            "Muon, batch grows 16, 32, 64": ("data=dsprites", *_steps(BY_MUON, 1900)),
            "Muon, less noisy gradient of the KL": (
                *("data=dsprites", "posterior.sticking_the_landing=true"),
                *_steps(BY_MUON, 1200),
            ),
            "Muon, half as wide": (
                *("data=dsprites", "encoder.channels=[16,16,32,32]", "encoder.hidden=[128]"),
                *("decoder.channels=[32,32,16,16]", "decoder.hidden=[128]"),
                *_steps(BY_MUON, 2400),
            ),
        },
        {},
    ),
    "disentangling": Group(
        "11,000 steps: Unfolding, and what its turns add, against the usual way in the same time",
        {
            "Unfolding": ("data=dsprites", *_steps(UNFOLDING, 11_000)),
            "no turns": ("data=dsprites", "schedule.turns=[]", *_steps(UNFOLDING, 11_000)),
            "Adam 5e-4, beta 4": ("data=dsprites", "objective.beta=4", *_steps(ADAM_5, 10**6)),
        },
        {"Adam 5e-4, beta 4": "Unfolding"},
    ),
    "hour": Group(
        "Within 60 minutes of a core: Unfolding to beta = 3, 14,000 steps",
        {"Unfolding to beta 3": ("data=dsprites", *TO_BETA_3, *_steps(UNFOLDING, 14_000))},
        {},
    ),
    "shapes": Group(
        "3D Shapes: Unfolding against the usual way in the same time",
        {
            "Unfolding": ("data=shapes3d", *_steps(UNFOLDING, 5000)),
            "Adam 5e-4, beta 4": ("data=shapes3d", "objective.beta=4", *_steps(ADAM_5, 10**6)),
        },
        {"Adam 5e-4, beta 4": "Unfolding"},
    ),
    "coloured": Group(
        "Coloured sprites with the broadcast decoder: Unfolding against the usual way in the same time",
        {
            "Unfolding": (*COLOURED, *_steps((*UNFOLDING, *COLOURS), 4000)),
            "Adam 5e-4, beta 4": (*COLOURED, "objective.beta=4", *_steps(ADAM_5, 10**6)),
        },
        {"Adam 5e-4, beta 4": "Unfolding"},
    ),
}


GROWING = {"Muon, batch grows 16, 32, 64": ((0, 16), (600, 32), (1200, 64))}
"""From which step which batch size, of ways whose batch grows: the library has one batch size for a run."""


class Trial:
    """One way of training with one seed, resumed from its folder."""

    def __init__(
        self,
        folder: Path,
        words: tuple[str, ...],
        seed: int,
        budget: float,
        level: float | None,
        batches: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self.folder, self.budget, self.level, self.batches = folder, budget, level, batches
        self.growth = 1.2 if level is None else 1.06
        self.config = Config.read(words=[*words, f"seed={seed}"])
        self.state: dict[str, Any] = atomic.read_json(
            folder / "trial.json", default={"cpu": 0.0, "curve": []}
        )
        self.trainer: Trainer | None = None
        self.saved = time.monotonic()

    @property
    def done(self) -> bool:
        """Whether it was trained and scored."""
        return "scores" in self.state

    def open(self) -> None:
        """Model, data and images to measure on; from the newest state if there is one."""
        data = open_data(self.config)
        model, objective = fresh(self.config, data.dataset, "cpu")
        self.trainer = Trainer(
            model,
            objective,
            data.dataset,
            settings_of(self.config, 1),
            checkpoints=Checkpoints(self.folder / "states"),
        )
        self.trainer.resume()
        step = self.trainer.state.step
        self.state["cpu"] = self.state.get("cpu_at", {}).get(str(step), 0.0)
        self.state["curve"] = [point for point in self.state["curve"] if point["step"] <= step]
        rng = np.random.default_rng(2026)
        self.images = data.dataset.sample(2000, rng).images

    @property
    def step(self) -> int:
        """How many steps it has made."""
        assert self.trainer is not None
        return self.trainer.state.step

    @property
    def judged(self) -> VAE:
        """The model, or the average of its weights if there is one, as at the end of a training."""
        assert self.trainer is not None
        state = self.trainer.state
        model = state.model if state.average is None else state.average.model
        assert isinstance(model, VAE)
        return model

    def turn(self) -> None:
        """Some steps, then a measurement if one is due, and the end if it has come."""
        trainer = self.trainer
        assert trainer is not None
        began = time.process_time()
        for since, size in self.batches:
            if trainer.state.step >= since:
                trainer.settings = replace(trainer.settings, batch_size=size)
        for _ in range(min(TURN, self.config.steps - trainer.state.step)):
            trainer.step()
        self.state["cpu"] += time.process_time() - began
        curve = self.state["curve"]
        ended = trainer.state.step >= self.config.steps or self.state["cpu"] >= self.budget
        if (
            ended
            or not curve
            or self.state["cpu"] >= max(curve[-1]["cpu"] * self.growth, curve[-1]["cpu"] + 5)
        ):
            curve.append(self.measure())
        reached = (
            self.level is not None
            and [point["reconstruction"] <= self.level for point in curve[-2:]] == [True] * 2
        )
        if ended or reached:
            self.finish()
        elif time.monotonic() - self.saved > 30:
            self.save()

    @torch.no_grad()
    def measure(self) -> dict[str, float]:
        """Reconstruction at the mean of the posterior, KL and the number of latents above 0.05 nats."""
        model = self.judged
        losses, kls = [], []
        for block in np.array_split(self.images, 32):
            images = as_tensor(block)
            q = model.encode(images)
            losses.append(-model.decode(q.mean).log_prob(images))
            kls.append(0.5 * (q.mean**2 + q.variance - 1) - q.stddev.log())
        kl = torch.cat(kls).mean(0)
        return {
            "step": self.step,
            "cpu": round(self.state["cpu"], 2),
            "reconstruction": torch.cat(losses).mean().item(),
            "kl": kl.sum().item(),
            "latents": int((kl > 0.05).sum()),
        }

    def finish(self) -> None:
        """Score what was learned."""
        assert self.trainer is not None
        trainer, rng = self.trainer, np.random.default_rng(7)
        factors = trainer.dataset.evaluation(CODES, rng=rng)
        codes, scales = self.judged.codes(trainer.dataset.images(factors))
        found = score_all(Encoded.of(codes, factors, scales), ["mig", "factor_vae_score", "dci"])
        self.state["scores"] = {name: found[name].value for name in SCORES}
        self.state["codes"] = CODES
        self.save()
        self.trainer = None

    def save(self) -> None:
        """The training state first, then what was measured of it."""
        assert self.trainer is not None
        self.trainer.save()
        self.state["cpu_at"] = {str(self.trainer.state.step): self.state["cpu"]}
        atomic.write_json(self.folder / "trial.json", self.state)
        self.saved = time.monotonic()


def trials(name: str, state: Path, seed: int) -> dict[str, Trial]:
    group = GROUPS[name]
    return {
        way: Trial(
            state / name / f"{way}-{seed}".replace(" ", "_"),
            words,
            seed,
            seconds if isinstance(seconds := group.budgets.get(way, math.inf), float) else math.inf,
            group.level,
            GROWING.get(way, ()),
        )
        for way, words in group.ways.items()
    }


Key = tuple[str, str, int, str]
"""Group, way, seed and settings of a trial."""


def run(
    name: str, ways: list[str], state: Path, seeds: list[int], ended: dict[Key, dict[str, Any]]
) -> Iterator[None]:
    """Train what has not ended yet; yields whenever a trial has."""
    for seed in seeds:
        every = trials(name, state, seed)
        waiting = {
            way: trial
            for way, trial in every.items()
            if way in ways and not trial.done and (name, way, seed, _settings(name, way)) not in ended
        }
        for trial in waiting.values():
            trial.open()
        while waiting:
            for way, trial in list(waiting.items()):
                leader = GROUPS[name].budgets.get(way)
                if isinstance(leader, str) and leader not in waiting:
                    row = ended.get((name, leader, seed, _settings(name, leader)))
                    trial.budget = every[leader].state["cpu"] if row is None else row["curve"][-1]["cpu"]
                trial.turn()
                if trial.done:
                    last, scores = trial.state["curve"][-1], trial.state["scores"]
                    print(f"seed {seed}, {way}: {last} {scores}", flush=True)
                    del waiting[way]
                    yield


def _settings(name: str, way: str) -> str:
    grows = [f"batch_size={size} from step {since}" for since, size in GROWING.get(way, ())]
    return " ".join([*GROUPS[name].ways[way], *grows])


def arrival(curve: list[dict[str, float]], level: float) -> tuple[float, bool]:
    """Processor seconds at which a curve reaches a level, and whether that was seen (or extrapolated)."""
    for before, after in zip([curve[0], *curve], curve, strict=False):
        if after["reconstruction"] <= level:
            if after is before:
                return after["cpu"], True
            share = (before["reconstruction"] - level) / (before["reconstruction"] - after["reconstruction"])
            return math.exp(
                math.log(before["cpu"]) + share * (math.log(after["cpu"]) - math.log(before["cpu"]))
            ), True
    tail = [point for point in curve if point["cpu"] >= curve[-1]["cpu"] / 2]
    slope, offset = np.polyfit([math.log(p["cpu"]) for p in tail], [p["reconstruction"] for p in tail], 1)
    return (math.exp((level - offset) / slope) if slope < 0 else math.inf), False


def read(results: Path) -> dict[Key, dict[str, Any]]:
    """The trials that ended before, as they were stored."""
    rows = atomic.read_json(results, default={}).get("trials", [])
    return {(row["group"], row["way"], row["seed"], row["settings"]): row for row in rows}


def gathered(state: Path) -> dict[Key, dict[str, Any]]:
    """The trials of a state folder that have ended."""
    found = {}
    for name, group in GROUPS.items():
        for way in group.ways:
            for folder in sorted((state / name).glob(f"{way}-*".replace(" ", "_"))):
                trial = atomic.read_json(folder / "trial.json", default={})
                if "scores" in trial:
                    row = {"group": name, "way": way, "seed": int(folder.name.rsplit("-", 1)[1])}
                    row |= {"settings": _settings(name, way), "scores": trial["scores"]}
                    row |= {key: trial[key] for key in ("codes",) if key in trial}
                    curve = [
                        {key: round(value, 3) for key, value in point.items()} for point in trial["curve"]
                    ]
                    found[name, way, row["seed"], row["settings"]] = row | {"curve": curve}
    return found


def tables(results: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The lines of a table for each group, as docs/learning.md has them."""
    found = {}
    for name, group in GROUPS.items():
        of_ways = {
            way: sorted(
                (row for row in results if (row["group"], row["way"]) == (name, way)),
                key=lambda row: row["seed"],
            )
            for way in group.ways
        }
        rows = [
            f"| {way} | {', '.join(str(row['seed']) for row in of_way)} | "
            + " | ".join(_times(of_way, next(iter(of_ways.values())), group.level) + _means(of_way))
            + " |"
            for way, of_way in of_ways.items()
            if of_way
        ]
        if rows:
            seconds = "seconds" if group.level is None else f"seconds until {group.level:g} nats, by seed"
            found[name] = [
                f"| training | seeds | {seconds} | {' | '.join(MEASURED.values())} |",
                "|" + "---|" * (3 + len(MEASURED)),
            ]
            found[name] += rows
    return found


def filled(page: str, results: list[dict[str, Any]]) -> str:
    """A page with the table of each group below its mark, ``<!-- time to quality: GROUP -->``."""
    for name, lines in tables(results).items():
        mark = f"<!-- time to quality: {name} -->\n"
        if mark in page:
            before, after = page.split(mark)
            old = re.match(r"(\|.*\n)*", after)  # no lines if there was no table yet
            assert old is not None
            page = before + mark + "\n".join(lines) + "\n" + after[old.end() :]
    return page


def _times(rows: list[dict[str, Any]], first: list[dict[str, Any]], level: float | None) -> list[str]:
    """The mean time of a way; with a level the time of each seed, and how many times that of the first way it is."""
    if level is None:
        return [f"{statistics.mean(row['curve'][-1]['cpu'] for row in rows):.0f}"]
    fastest = {row["seed"]: arrival(row["curve"], level)[0] for row in first}
    shown = []
    for row in rows:
        seconds, seen = arrival(row["curve"], level)
        times = (
            f" ({seconds / fastest[row['seed']]:.2g}x)"
            if rows is not first and row["seed"] in fastest
            else ""
        )
        shown.append(f"{'' if seen else '≥ '}{seconds:.0f}{times}")
    return [", ".join(shown)]


def _means(rows: list[dict[str, Any]]) -> list[str]:
    """Mean, lowest and highest of what was measured of a way."""
    cells = []
    for key in MEASURED:
        values = [row["scores"][key] if key in row["scores"] else row["curve"][-1][key] for row in rows]
        form = ".3f" if key in SCORES else ".1f"
        low, high = format(min(values), form), format(max(values), form)
        cells.append(format(statistics.mean(values), form) + (f" ({low} to {high})" if low != high else ""))
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["list", "run", "table"])
    parser.add_argument("group", nargs="?", choices=list(GROUPS))
    parser.add_argument("--state", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[300, 301, 302, 303, 304])
    parser.add_argument("--ways", nargs="+", help="of the group; all")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    options = parser.parse_args()
    if options.action == "list":
        for name, group in GROUPS.items():
            print(
                f"{name}: {group.question}\n  "
                + "\n  ".join(f"{way}: {' '.join(words)}" for way, words in group.ways.items())
            )
        return
    ended = read(options.results)
    if options.action == "run":
        if options.group is None or options.state is None:
            parser.error(f"name a group ({', '.join(GROUPS)}) and --state FOLDER, where trials are kept")
        ways = options.ways or list(GROUPS[options.group].ways)
        if unknown := set(ways) - set(GROUPS[options.group].ways):
            parser.error(f"the group {options.group} has no {', '.join(sorted(unknown))}: see `list`")
        for _ in run(options.group, ways, options.state, options.seeds, ended):
            ended |= gathered(options.state)
            atomic.write_json(options.results, {"trials": list(ended.values())})
    for name, lines in tables(list(ended.values())).items():
        print("", GROUPS[name].question, "", *lines, sep="\n")
    if options.page:
        atomic.write(options.page, filled(options.page.read_text(), list(ended.values())))


if __name__ == "__main__":
    main()
