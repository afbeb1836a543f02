"""Which method a run was trained by, and with which weight, as its config states."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from unweave.errors import UnweaveError
from unweave.recipes.recipe import Job
from unweave.runs.config import Config


@dataclass(frozen=True)
class Method:
    """A method that FAC compares.

    Args:
        name: as the paper has it.
        slot: of the config that holds it.
        choice: what that slot holds.
        option: of the choice: the weight over which the paper sweeps.
        letter: of that weight.
        others: options that set the method apart from others of the same choice.
    """

    name: str
    slot: Literal["objective", "model"]
    choice: str
    option: str
    letter: str
    others: Mapping[str, Any] = field(default_factory=dict)

    def trained(self, config: Config) -> bool:
        """Whether a run with this config is one of the method."""
        part = config.objective if self.slot == "objective" else config.model
        return part.name == self.choice and all(part.options[key] == v for key, v in self.others.items())

    def weight(self, config: Config) -> float:
        """The weight in a config of the method."""
        part = config.objective if self.slot == "objective" else config.model
        return float(part.options[self.option])


BETA_VAE = Method("beta-VAE", "objective", "BetaVAE", "beta", "beta")
FACTOR_VAE = Method("FactorVAE", "objective", "FactorVAE", "gamma", "gamma", {"target": "marginals"})
TOWARDS_PRIOR = Method("Eq. 12", "objective", "FactorVAE", "gamma", "gamma", {"target": "prior"})
AAE = Method("AAE", "objective", "AAE", "gamma", "gamma")
INFO_WGAN_GP = Method("InfoWGAN-GP", "model", "InfoWGANGP", "lambda_mi", "lambda")


@dataclass(frozen=True)
class Variant:
    """A variant of a method: its name in the study, and the weight that its runs were trained with."""

    name: str
    method: Method
    weight: float

    @property
    def label(self) -> str:
        """The weight, as in ``gamma=40``."""
        return f"{self.method.letter}={self.weight:g}"


def variants_of(job: Job, method: Method, data: str | None = None) -> list[Variant]:
    """The variants of a method in the order of the study, without those that stop early.

    Args:
        job: with the runs.
        method: by which they were trained.
        data: the data set on which they were trained; none: any.
    """
    found = []
    for name in whole_variants(job):
        config = config_of(job, name)
        if method.trained(config) and data in (None, config.data.name):
            found.append(Variant(name, method, method.weight(config)))
    if not found:
        where = f" on {data}" if data else ""
        raise UnweaveError(
            f"{job.recipe.id} compares {method.name}{where} with others, but there are no runs of it"
        )
    return found


def config_of(job: Job, variant: str) -> Config:
    """The config that the runs of a variant share but for their seed: that of the first."""
    return job.runs(variant)[0].config


def whole_variants(job: Job) -> list[str]:
    """The variants of a job without those that are the beginning of another."""
    return [stages[max(stages)] for stages in _stages(job)]


def stages_of(job: Job, variant: str) -> dict[int, str]:
    """The variants that differ from one in their number of steps only, itself included: steps -> variant."""
    return next(stages for stages in _stages(job) if variant in stages.values())


def _stages(job: Job) -> list[dict[int, str]]:
    groups: dict[str, dict[int, str]] = {}
    for variant in job.variants:
        config = config_of(job, variant)
        same = dataclasses.replace(config, steps=1, seed=0).identity
        groups.setdefault(same, {})[config.steps] = variant
    return [dict(sorted(stages.items())) for stages in groups.values()]
