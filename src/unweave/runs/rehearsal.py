"""Which runs of a study can be trained: found out before any of them gets a folder."""

import dataclasses
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from unweave.errors import UnweaveError
from unweave.runs import publishing
from unweave.runs.config import Config
from unweave.runs.run import Run
from unweave.runs.study import PlannedRun, Study

logger = logging.getLogger("unweave")


class Rehearsed(NamedTuple):
    """A study without the runs that cannot be trained, and why not, by the name of their variant.

    Example:
        >>> Rehearsed._fields
        ('study', 'refused')
    """

    study: Study
    refused: Mapping[str, str]


def rehearse(study: Study, folder: Path) -> Rehearsed:
    """Take the first step of every variant of a study and forget it; a variant that cannot be trained is told once.

    A variant with a run in ``folder`` was rehearsed before. Seeds are not rehearsed one by one: they change numbers,
    not what is built.

    Example:
        >>> words = {"data": "circles", "data.size": 32, "latents": 2, "batch_size": 4}
        >>> study = Study.of({"base": words, "grid": {"objective.beta": [1, -1]}}, name="betas")
        >>> found = rehearse(study, Path("nowhere"))
        >>> list(found.study.variants), found.refused["beta=-1"]
        (['beta=1'], 'objective.beta must be at least 0, got -1')
    """
    refused: dict[str, str] = {}
    kept: list[PlannedRun] = []
    for variant, runs in study.variants.items():
        for group in _same_but_seed(runs):
            begun = any(publishing.is_published(folder / run.config.label) for run in group)
            problem = None if begun else _problem(group[0].config)
            if problem is None:
                kept += group
            else:
                refused[variant] = problem
                logger.warning("%s is left out: %s", variant, problem)
    return Rehearsed(dataclasses.replace(study, runs=tuple(kept)), refused)


def _same_but_seed(runs: list[PlannedRun]) -> list[list[PlannedRun]]:
    """The runs of a variant by their config without its seed; a function may give a variant several."""
    groups: list[tuple[Config, list[PlannedRun]]] = []
    for run in runs:
        config = dataclasses.replace(run.config, seed=0)
        group = next((found for known, found in groups if known == config), None)
        if group is None:
            groups.append((config, [run]))
        else:
            group.append(run)
    return [group for _, group in groups]


def _problem(config: Config) -> str | None:
    """Why a config cannot be trained, if it is a mistake of the user; others are left to the run, which logs them."""
    try:
        Run(Path(config.label), config).rehearse()
    except UnweaveError as error:
        return str(error)
    except Exception as error:
        logger.debug("the rehearsal of %s failed", config.label, exc_info=error)
    return None
