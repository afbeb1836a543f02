"""Values over training or over a setting, with one value for each seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unweave.plots.seed_bands import Band
from unweave.recipes.fac.methods import Method, stages_of, variants_of
from unweave.recipes.recipe import Job
from unweave.runs.run import Run


def history(runs: Sequence[Run], term: str, sign: int = 1) -> Band:
    """A term of the loss over training: steps (n,) and its values in each run (seeds, n)."""
    lines = [[(line["step"], line[term]) for line in run.history if term in line] for run in runs]
    shortest = min(map(len, lines))
    steps = np.array([step for step, _ in lines[0][:shortest]], float)
    return steps, sign * np.array([[value for _, value in line[:shortest]] for line in lines])


def histories(job: Job, method: Method, term: str) -> dict[str, Band]:
    """A term of the loss over training, for each weight of a method."""
    return {v.label: history(job.runs(v.name), term) for v in variants_of(job, method)}


def late_mean(run: Run, term: str) -> float:
    """Mean of a term of the loss over the last quarter of training."""
    values = [float(line[term]) for line in run.history if term in line]
    return float(np.mean(values[-max(1, len(values) // 4) :]))


def band(where: Sequence[float], values: Sequence[ArrayLike]) -> Band:
    """Values (seeds,) at several places as a band; seeds beyond the number that all places have are omitted."""
    arrays = [np.asarray(each, np.float64) for each in values]
    least = min(map(len, arrays))
    return where, np.stack([each[:least] for each in arrays], axis=1)


def scores_by_stage(job: Job, method: Method, score: str) -> dict[str, Band]:
    """A score where the runs of a method were stopped, for each weight."""
    found = {}
    for variant in variants_of(job, method):
        stages = stages_of(job, variant.name)
        found[variant.label] = band(list(stages), [job.scores(stage, score) for stage in stages.values()])
    return found
