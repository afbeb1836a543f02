"""Search instead of a grid: Optuna proposes, the executor runs, the run folders store the results."""

import dataclasses
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unweave import artefacts
from unweave.atomic import DamagedError
from unweave.errors import UnweaveError, unknown
from unweave.metrics import METRICS, AnyMetric, Score, choose_metrics
from unweave.metrics.unsupervised import Kind, udr
from unweave.model_metrics import model_metrics
from unweave.runs.config import Config, merge
from unweave.runs.evaluation import QUICK, evaluate
from unweave.runs.executors import Executor
from unweave.runs.rehearsal import rehearse
from unweave.runs.run import Run
from unweave.runs.study import PlannedRun, Study, nested
from unweave.runs.sweep import Sweep

TRIALS = "trials.json"
_IMAGES = 1000
Around = Callable[[Sweep, Executor], None]


@dataclasses.dataclass(frozen=True)
class Trial:
    """A choice of values and its result: the target's mean over seeds, or the reason why there is none.

    Example:
        >>> Trial(0, {"objective.beta": 4.0}).label
        '0: beta=4'
    """

    number: int
    settings: Mapping[str, Any]
    value: float | None = None
    reason: str = ""

    @property
    def label(self) -> str:
        """The trial's name in tables: its number and its values."""
        values = [f"{key.split('.')[-1]}={_short(value)}" for key, value in self.settings.items()]
        return f"{self.number}: {' '.join(values)}"


class Search:
    """Trials of a study with a ``search``: each is one choice of values over all seeds of the study.

    Trials are written to disk before they run, so a search that was killed continues where it was. What it proposes
    depends on the study and the earlier trials only.

    Args:
        study: with a ``search``: ``{key: [values]}`` or ``{key: {low:, high:, log:, whole:}}``.
        folder: of the runs.
        target: a score, ``elbo`` or ``udr``; none: the study's, else ``elbo``.
        command: recorded for the report.

    Example:
        >>> import tempfile
        >>> space = {"objective.beta": {"low": 1, "high": 16}}
        >>> study = Study.of({"base": {"data": "circles"}, "search": space}, name="s")
        >>> Search(study, Path(tempfile.mkdtemp())).target
        'elbo'
    """

    def __init__(
        self, study: Study, folder: Path, *, target: str | None = None, command: str | None = None
    ) -> None:
        if not study.search:
            raise UnweaveError(f"{study.name} has no search: name what may vary, or use unweave sweep")
        self.optuna = _optuna()
        self.study = study
        self.folder = folder
        self.target = target or study.target or "elbo"
        self.command = command
        self.space = {key: _distribution(self.optuna, key, value) for key, value in study.search.items()}
        if self.target == "udr" and len(study.seeds) < 2:
            raise UnweaveError("udr compares seeds: give the study seeds: 2 or more")
        self.metrics = tuple(dict.fromkeys([*study.metrics, *_metrics_for(self.target, study.metrics)]))
        self.settings: list[dict[str, Any]] = self._stored_trials()
        self.refused: dict[str, str] = {}

    @property
    def done(self) -> int:
        """Number of trials so far."""
        return len(self.settings)

    def run(self, trials: int, executor: Executor, around: Around | None = None) -> Sweep:
        """Continue until there are ``trials`` trials; returns the sweep of all their runs.

        Args:
            trials: total number, including those of earlier sessions.
            executor: executes the runs.
            around: executes a sweep with the executor, with a display for example.
        """
        around = around or (lambda made, executor: made.execute(executor))
        at_once = max(1, math.ceil((getattr(executor, "workers", None) or 1) / len(self.study.seeds)))
        made = self._sweep()
        while True:
            around(made, executor)
            left = trials - self.done
            if left <= 0:
                self._store(self.results())
                return made
            self.settings += self._ask(min(at_once, left))
            self._store()
            made = self._sweep()

    def _store(self, results: Sequence[Trial] = ()) -> None:
        """Write the trials to disk, and their results once all are known, for the page."""
        told = (
            {"results": [{"value": each.value, "reason": each.reason} for each in results]} if results else {}
        )
        artefacts.write_json(
            self.folder / TRIALS, {"search": dict(self.study.search), "trials": self.settings, **told}
        )

    def results(self) -> list[Trial]:
        """All trials with their results."""
        return [self._result(number, settings) for number, settings in enumerate(self.settings)]

    def summary(self) -> list[str]:
        """The best trials as lines of text, and those without a value."""
        results = self.results()
        good = [(trial, trial.value) for trial in results if trial.value is not None]
        good.sort(key=lambda pair: pair[1], reverse=self._higher(results))
        lines = [f"{self.target} {value:.4g}: {trial.label}" for trial, value in good[:5]]
        bad = [trial for trial in results if trial.value is None]
        return lines + [f"no value: {trial.label} ({trial.reason})" for trial in bad]

    def _ask(self, count: int) -> list[dict[str, Any]]:
        optuna = self.optuna
        results = self.results()
        sampler = optuna.samplers.TPESampler(seed=len(results), n_startup_trials=5, constant_liar=True)
        direction = "maximize" if self._higher(results) else "minimize"
        study = optuna.create_study(direction=direction, sampler=sampler)
        for trial in results:
            state = (
                optuna.trial.TrialState.COMPLETE if trial.value is not None else optuna.trial.TrialState.FAIL
            )
            study.add_trial(
                optuna.trial.create_trial(
                    state=state, value=trial.value, params=dict(trial.settings), distributions=self.space
                )
            )
        return [dict(study.ask(self.space).params) for _ in range(count)]

    def _sweep(self) -> Sweep:
        runs: list[PlannedRun] = []
        for number, settings in enumerate(self.settings):
            label = Trial(number, settings).label
            runs += [PlannedRun(label, settings, self._config(settings, seed)) for seed in self.study.seeds]
        unique = {planned.config.identity: planned for planned in reversed(runs)}
        study = dataclasses.replace(
            self.study,
            runs=tuple(run for run in runs if unique[run.config.identity] is run),
            target=self.target,
            metrics=self.metrics,
        )
        study, refused = rehearse(study, self.folder)
        self.refused = {run.config.identity: refused[run.variant] for run in runs if run.variant in refused}
        return Sweep.create(study, self.folder, self.command, {"search": dict(self.study.search)})

    def _config(self, settings: Mapping[str, Any], seed: int) -> Config:
        return Config.of({**merge(self.study.base, nested(settings)), "seed": seed})

    def _result(self, number: int, settings: Mapping[str, Any]) -> Trial:
        configs = [self._config(settings, seed) for seed in self.study.seeds]
        if (why := self.refused.get(configs[0].identity)) is not None:
            return Trial(number, settings, None, why)
        runs = [Run(self.folder / config.label) for config in configs]
        bad = [f"seed {run.config.seed} {run.status}" for run in runs if run.status != "finished"]
        if bad:
            return Trial(number, settings, None, ", ".join(bad))
        if self.target == "udr":
            return Trial(number, settings, udr_of(runs).value)
        values = [_score(run, self.target).value for run in runs]
        mean = float(np.mean(values))
        return Trial(number, settings, mean if math.isfinite(mean) else None, "not finite")

    def _higher(self, results: Sequence[Trial]) -> bool:
        if self.target == "udr" or not any(trial.value is not None for trial in results):
            return True
        number = next(trial.number for trial in results if trial.value is not None)
        run = Run(self.folder / self._config(self.settings[number], self.study.seeds[0]).label)
        return _score(run, self.target).higher_is_better

    def _stored_trials(self) -> list[dict[str, Any]]:
        path = self.folder / TRIALS
        if not os.path.lexists(path):
            return []
        try:
            stored = artefacts.read_json(path)
            with artefacts.structure_of(path, KeyError, AttributeError, TypeError):
                trials = [{str(k): v for k, v in trial.items()} for trial in stored["trials"]]
                same = stored["search"] == json.loads(json.dumps(dict(self.study.search)))
        except DamagedError as error:
            raise DamagedError(
                f"{error}; give it another name, and the search proposes its trials again and finds their runs"
            ) from error
        if not same:
            raise UnweaveError(
                f"{self.folder} holds trials of another search; choose another folder with --out"
            )
        return trials


def _metrics_for(target: str, requested: Sequence[str]) -> list[str]:
    """The metric that gives a target, if neither the usual metrics nor those of the study do."""
    known: dict[str, AnyMetric] = {**METRICS, **model_metrics()}
    computed = [*(known[name] for name in QUICK), *choose_metrics(requested, more=model_metrics())]
    if target == "udr" or any(target in metric.labels for metric in computed):
        return []
    for name, metric in known.items():
        if target in metric.labels:
            return [name]
    raise unknown(
        "target", target, {"udr", *(label for m in [*computed, *known.values()] for label in m.labels)}
    )


def udr_of(runs: Sequence[Run], kind: Kind = "spearman") -> Score:
    """The agreement of runs that differ in their seed alone, on images of their data set (``metrics.udr``).

    Runs whose KL has not been computed yet are scored by it first.

    Example:
        >>> udr_of.__annotations__["return"] is Score
        True
    """
    images = runs[0].dataset().sample(_IMAGES, np.random.default_rng(0)).images
    codes = [run.model().codes(images)[0] for run in runs]
    for run in runs:
        if "kl" not in run.scores:
            evaluate(run, metrics=["elbo"])
    kl = [_score(run, "kl").constants["per_latent"] for run in runs]
    return udr(codes, kl, kind=kind)


def _score(run: Run, name: str) -> Score:
    scores = run.scores
    if name not in scores:
        raise UnweaveError(
            f"the target {name} is not among the scores of {run.folder}: {', '.join(scores)}, udr"
        )
    return Score.from_json({"name": name, **scores[name]})


def _distribution(optuna: Any, key: str, value: Any) -> Any:
    if isinstance(value, list | tuple) and value:
        return optuna.distributions.CategoricalDistribution(tuple(value))
    known = {"low", "high", "log", "whole"}
    if not isinstance(value, Mapping) or not {"low", "high"} <= set(value) <= known:
        raise UnweaveError(
            f"search: {key} must be a list of values or {{low, high, log, whole}}, got {value!r}"
        )
    try:
        low, high, log = float(value["low"]), float(value["high"]), bool(value.get("log", False))
        if value.get("whole"):
            return optuna.distributions.IntDistribution(int(low), int(high), log=log)
        return optuna.distributions.FloatDistribution(low, high, log=log)
    except (TypeError, ValueError) as error:
        raise UnweaveError(f"search: {key}: {error}") from error


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise UnweaveError("tune needs Optuna: pip install 'unweave[search]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
