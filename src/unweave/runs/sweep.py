"""A study on disk: its runs in one folder, what is done, what is left, how long that will take."""

import contextlib
import functools
import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unweave import artefacts
from unweave.errors import UnweaveError
from unweave.runs.config import Config
from unweave.runs.executors import Event, Executor
from unweave.runs.opened import open_data
from unweave.runs.run import Run, fresh
from unweave.runs.status import is_done, seconds_taken
from unweave.runs.study import PlannedRun, Study

MANIFEST = "sweep.json"


@dataclass(frozen=True)
class Member:
    """A run of a sweep: its variant, the settings of the variant, and the run.

    Example:
        >>> Member.__annotations__["variant"].__name__
        'str'
    """

    variant: str
    settings: Mapping[str, Any]
    run: Run
    metrics: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Nothing is left to do: finished and scored, or diverged."""
        return is_done(self.run.folder, self.metrics)


class Sweep:
    """The folder of a study: ``sweep.json`` (its manifest), one folder for each run, ``report.html``.

    A run's folder is named after its config. A study that is started again, or that has got more seeds or variants,
    therefore finds the runs that it has made before.

    Example:
        >>> import tempfile
        >>> study = Study.of({"base": {"data": "circles", "steps": 1}, "seeds": 2}, name="tiny")
        >>> sweep = Sweep.create(study, Path(tempfile.mkdtemp()))
        >>> len(sweep.members), len(sweep.todo)
        (2, 2)
    """

    def __init__(self, folder: Path | str) -> None:
        path = Path(folder) / MANIFEST
        try:
            if not os.path.lexists(path):
                raise FileNotFoundError
            manifest = artefacts.read_json(path)
            places = [Path(folder) / entry["folder"] for entry in manifest["runs"]]
            self._read(Path(folder), manifest, [Run(place) for place in places])
        except FileNotFoundError:
            raise UnweaveError(f"{folder} is not the folder of a sweep: it has no {MANIFEST}") from None
        except UnweaveError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnweaveError(f"cannot read {path}: {error!r}") from error

    def _read(self, folder: Path, manifest: dict[str, Any], runs: Sequence[Run]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.name: str = manifest["name"]
        self.title: str = manifest.get("title") or self.name
        self.target: str = manifest.get("target") or ""
        self.command: str = manifest.get("command") or f"unweave sweep {self.name}.yaml"
        self.metrics: tuple[str, ...] = tuple(manifest.get("metrics", ()))
        self.refused: dict[str, str] = dict(manifest.get("refused", {}))
        self.members = [
            Member(entry["variant"], entry["settings"], run, self.metrics)
            for entry, run in zip(manifest["runs"], runs, strict=True)
        ]

    @classmethod
    def create(
        cls,
        study: Study,
        folder: Path | str,
        command: str | None = None,
        extra: Mapping[str, Any] | None = None,
        pool: Path | str | None = None,
    ) -> "Sweep":
        """The sweep of a study: a new one, or the one in the folder with what the study requests now.

        Its runs are in ``pool`` if that is given. Several sweeps may share a pool: equal configs are trained once.
        """
        folder = Path(folder)
        place = folder if pool is None else Path(pool)
        runs = [
            Run.create(planned.config, place / planned.config.label, command=_command(planned.config, place))
            for planned in study.runs
        ]
        manifest = _manifest(study, os.path.relpath(place, folder), command, extra or {})
        artefacts.write_json(folder / MANIFEST, manifest)
        return cls._of(folder, manifest, runs)

    @classmethod
    def planned(cls, study: Study, folder: Path) -> "Sweep":
        """The sweep that a study would be in ``folder``, with the runs that exist there; nothing is written.

        Example:
            >>> study = Study.of({"base": {"data": "circles"}, "seeds": 2}, name="tiny")
            >>> Sweep.planned(study, Path("nowhere")).statuses["new"], Path("nowhere").exists()
            (2, False)
        """
        runs = [Run(folder / run.config.label, run.config) for run in study.runs]
        return cls._of(folder, _manifest(study, ".", None, {}), runs)

    @classmethod
    def _of(cls, folder: Path, manifest: dict[str, Any], runs: Sequence[Run]) -> "Sweep":
        sweep = cls.__new__(cls)
        sweep._read(folder, json.loads(json.dumps(manifest)), runs)  # as it is read from the file
        return sweep

    @property
    def variants(self) -> dict[str, list[Member]]:
        """The runs by variant."""
        groups: dict[str, list[Member]] = {}
        for member in self.members:
            groups.setdefault(member.variant, []).append(member)
        return groups

    @property
    def todo(self) -> list[Member]:
        """The runs with something left to do, seed by seed, so that every variant has a result early."""
        left = [member for member in self.members if not member.done]
        return sorted(left, key=lambda member: member.run.config.seed)

    @property
    def statuses(self) -> Counter[str]:
        """How many runs are finished, diverged, failed, interrupted, running or new."""
        return Counter(member.run.status for member in self.members)

    def execute(
        self,
        executor: Executor,
        tell: Callable[[Event], None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Do what is left to do."""
        left = [member.run.folder for member in self.todo]
        if left:
            executor.execute(left, tell, stop, self.metrics)


@contextlib.contextmanager
def preview(study: Study, folder: Path) -> Iterator[Sweep]:
    """The sweep that a study would be in ``folder``, with the runs that exist there; nothing is written.

    Example:
        >>> study = Study.of({"base": {"data": "circles"}, "seeds": 2}, name="tiny")
        >>> with preview(study, Path("nowhere")) as sweep:
        ...     describe(sweep), Path("nowhere").exists()
        ('2 runs (1 variants x 2 seeds): 2 new', False)
    """
    yield Sweep.planned(study, folder)


@dataclass(frozen=True)
class Estimate:
    """How long runs will take, in seconds, and what the estimate is based on.

    Example:
        >>> Estimate(90.0, "3 finished runs").told
        'about 2 min'
    """

    seconds: float
    source: str

    @property
    def told(self) -> str:
        """As text."""
        return f"about {duration(self.seconds)}"


def estimate(sweep: Sweep, workers: int, most: int = 6) -> Estimate:
    """How long the runs left to do will take: from finished runs of the same kind, otherwise from a few timed steps.

    Each run has a core of its own.

    Args:
        sweep: the sweep.
        workers: runs at a time.
        most: kinds of runs that are timed; the others are estimated by their mean.

    Example:
        >>> import tempfile
        >>> words = {"data": "circles", "data.size": 32, "steps": 10, "batch_size": 4, "latents": 2}
        >>> sweep = Sweep.create(Study.of({"base": words}, name="tiny"), Path(tempfile.mkdtemp()))
        >>> estimate(sweep, workers=1).source
        'a few timed steps'
    """
    left = sweep.todo
    if not left:
        return Estimate(0.0, "nothing is left to do")
    known: dict[str, list[float]] = {}
    for member in sweep.members:
        if member.done and member.run.status == "finished":
            known.setdefault(_kind(member.run.config), []).append(
                seconds_taken(member.run.folder) / member.run.config.steps
            )
    per_step = {kind: statistics.median(values) for kind, values in known.items()}
    kinds = {_kind(member.run.config): member.run.config for member in left}
    missing = [config for kind, config in kinds.items() if kind not in per_step]
    # Neighbours are alike (one decoder at several betas), so the timed ones are spread evenly.
    for config in missing[:: max(1, -(-len(missing) // most))]:
        step, score = _pace(_kind(config))
        per_step[_kind(config)] = step + score / config.steps
    middle = statistics.mean(per_step.values())
    total = 0.0
    for member in left:
        config = member.run.config
        history = member.run.history
        rest = 1 - (history[-1]["step"] / config.steps if history else 0.0)
        total += rest * config.steps * per_step.get(_kind(config), middle)
    source = "a few timed steps" if missing else f"{sum(len(v) for v in known.values())} finished runs"
    return Estimate(total / min(workers, len(left)), source)


def duration(seconds: float) -> str:
    """A length of time as text.

    Example:
        >>> duration(42), duration(600), duration(9000), duration(200_000)
        ('42 s', '10 min', '2.5 h', '2.3 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 36 * 3600 else f"{seconds / 86400:.1f} days"


def _kind(config: Config) -> str:
    """What decides the time of a step: everything but the seed and the length."""
    mapping = config.to_mapping()
    return json.dumps({k: v for k, v in mapping.items() if k not in ("seed", "steps")}, sort_keys=True)


@functools.cache
def _pace(kind: str) -> tuple[float, float]:
    """Seconds of a step and of scoring, from three steps and one block of encoded images.

    This is processor time of one thread, so that other processes on the machine do not count.
    """
    import numpy as np
    import torch

    from unweave.runs.evaluation import SAMPLES
    from unweave.training import train

    threads = torch.get_num_threads()
    config = Config.of({**json.loads(kind), "steps": 4})
    dataset = open_data(config).dataset
    vae, objective = fresh(config, dataset, "cpu")
    clock = _Clock()
    train(
        vae,
        objective,
        dataset,
        steps=4,
        batch_size=config.batch_size,
        learning_rate=1e-12,  # only the time of a step matters, not the weights
        display=clock,
    )
    moments = clock.moments
    images = dataset.sample(100, np.random.default_rng(0)).images
    started = time.process_time()
    vae.codes(images)
    score = (time.process_time() - started) / len(images) * min(SAMPLES, dataset.count or SAMPLES)
    torch.set_num_threads(threads)
    return (moments[-1] - moments[0]) / (len(moments) - 1), score


class _Clock:
    """Records when each step ends."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def show(self, step: int, record: object) -> None:
        self.moments.append(time.process_time())


def _command(config: Config, folder: Path) -> str:
    place = folder / config.label
    return f"unweave train {place / 'config.yaml'} --out {place}"


def _manifest(study: Study, place: str, command: str | None, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The content of ``sweep.json``; ``place`` is the folder of the runs, relative to that of the sweep."""
    return {
        "name": study.name,
        "title": study.title,
        "target": study.target,
        "metrics": list(study.metrics),
        "command": command,
        "runs": [_entry(planned, place) for planned in study.runs],
        **extra,
    }


def _entry(planned: PlannedRun, place: str) -> dict[str, Any]:
    return {
        "variant": planned.variant,
        "settings": dict(planned.settings),
        "seed": planned.config.seed,
        "folder": str(Path(place) / planned.config.label),
    }


def scores_of_runs(sweep: Sweep, names: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Scores of the finished runs of a sweep, by name; by default those that all of them have.

    Example:
        >>> study = Study.of({"base": {"data": "circles"}}, name="tiny")
        >>> scores_of_runs(Sweep.planned(study, Path("nowhere")))
        {}
    """
    scored = [member.run.scores for member in sweep.members if member.run.status == "finished"]
    common = [name for name in (scored[0] if scored else {}) if all(name in each for each in scored)]
    for name in names or ():
        if name not in common:
            raise UnweaveError(
                f"not every finished run has the score {name!r}; they have {', '.join(common)}"
            )
    return {name: [float(each[name]["value"]) for each in scored] for name in names or common}


def describe(sweep: Sweep) -> str:
    """The runs of a sweep in one line: number, variants, seeds and statuses.

    Example:
        >>> import tempfile
        >>> study = Study.of({"base": {"data": "circles"}, "grid": {"objective.beta": [1, 4]}, "seeds": 5}, name="b")
        >>> describe(Sweep.create(study, Path(tempfile.mkdtemp())))
        '10 runs (2 variants x 5 seeds): 10 new'
    """
    variants = sweep.variants
    sizes = {len(group) for group in variants.values()}
    shape = (
        f"{len(variants)} variants x {next(iter(sizes))} seeds"
        if len(sizes) == 1
        else f"{len(variants)} variants"
    )
    return f"{len(sweep.members)} runs ({shape}): {listed(sweep.statuses)}"


def listed(statuses: Mapping[str, int]) -> str:
    """Counts of statuses as text, good ones first.

    Example:
        >>> listed({"diverged": 1, "finished": 9})
        '9 finished, 1 diverged'
    """
    order: Sequence[str] = ("finished", "running", "new", "interrupted", "diverged", "failed")
    return ", ".join(f"{statuses[name]} {name}" for name in order if statuses.get(name))
