"""What the beta-VAE and the FactorVAE score share: votes on which factor is fixed, and the accuracy of the votes."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unweave.errors import unknown
from unweave.metrics.interventions import Plan, Planner, independent_votes, plan_blocks
from unweave.metrics.score import Score, wilson
from unweave.metrics.validation import check_count


@dataclass(frozen=True)
class VotingProtocol:
    """How many votes train and test the classifier, and how many codes (or pairs of codes) a vote looks at.

    ``rescaled``: the score is (accuracy - 1/K) / (1 - 1/K), at least 0.

    Example:
        >>> VotingProtocol(samples=100, votes=800, evaluation_votes=200).total
        1000
    """

    samples: int
    votes: int
    evaluation_votes: int
    rescaled: bool = False

    @property
    def total(self) -> int:
        """All votes, the training votes first."""
        return self.votes + self.evaluation_votes


P = TypeVar("P", bound=VotingProtocol)


def choose_protocol(
    metric: str,
    mode: str,
    modes: Mapping[str, P],
    options: Mapping[str, Any],
    least: Mapping[str, int],
) -> P:
    """The protocol of a mode with the options that are given, checked.

    Args:
        metric: for the error messages.
        mode: whose definition.
        modes: the protocols in use.
        options: fields of the protocol; None means that of the mode.
        least: the smallest number allowed for each whole-number field.

    Example:
        >>> modes = {"paper": VotingProtocol(100, 800, 800)}
        >>> choose_protocol("score", "paper", modes, {"samples": 5, "votes": None}, {"samples": 2}).samples
        5
    """
    if mode not in modes:
        raise unknown(f"mode of {metric}", mode, modes)
    chosen = dataclasses.replace(modes[mode], **{k: v for k, v in options.items() if v is not None})
    checked: dict[str, Any] = {
        key: check_count(key, getattr(chosen, key), minimum) for key, minimum in least.items()
    }
    return dataclasses.replace(chosen, **checked)


def plan_votes(
    classes: NDArray[np.int64],
    sizes: tuple[int, ...],
    protocol: VotingProtocol,
    rng: np.random.Generator,
    planner: Planner,
) -> tuple[Plan, Plan | None]:
    """The votes of a score, and those within blocks of the codes that show how much it depends on the codes.

    Example:
        >>> from unweave.metrics.interventions import plan_groups
        >>> classes = np.arange(10)[:, None] % 2
        >>> plan_votes(classes, (2,), VotingProtocol(3, 4, 5), np.random.default_rng(0), plan_groups)[0].rows.shape
        (9, 3)
    """
    plan = planner(classes, sizes, protocol.total, protocol.samples, rng)
    return plan, plan_blocks(classes, sizes, protocol.samples, rng, planner)


def score_votes(
    name: str,
    mode: str,
    protocol: VotingProtocol,
    factors: int,
    right: NDArray[np.bool_],
    right_in_blocks: NDArray[np.bool_] | None,
    reference: str,
    constants: Mapping[str, Any],
) -> Score:
    """The accuracy of the evaluation votes, with Wilson's interval for as many votes as are independent.

    Args:
        name: of the score.
        mode: whose definition.
        protocol: of the votes.
        factors: K; 1/K is the accuracy of a guess.
        right: (evaluation_votes,) which votes were right.
        right_in_blocks: likewise of the votes within blocks; None if every vote has codes of its own.
        reference: of the score.
        constants: further settings and parts of the score.

    Example:
        >>> protocol = VotingProtocol(5, 10, 4)
        >>> score_votes("s", "paper", protocol, 2, np.array([True, True, False, True]), None, "", {}).value
        0.75
    """
    value = float(np.mean(right))
    independent = independent_votes(value, protocol.evaluation_votes, right_in_blocks)
    low, high = wilson(value * independent, independent)
    if protocol.rescaled and factors > 1:
        value, low, high = (max(0.0, (x - 1 / factors) / (1 - 1 / factors)) for x in (value, low, high))
    known = {**vote_constants(mode, protocol, factors), "independent_votes": independent, **constants}
    return Score(name, value, low, high, reference=reference, constants=known)


def vote_constants(mode: str, protocol: VotingProtocol, factors: int) -> dict[str, Any]:
    """The settings of a score of votes, and what guessing gets.

    Example:
        >>> vote_constants("paper", VotingProtocol(5, 10, 4), 4)["chance"]
        0.25
    """
    return {
        "mode": mode,
        "samples": protocol.samples,
        "votes": protocol.votes,
        "evaluation_votes": protocol.evaluation_votes,
        "chance": 0.0 if protocol.rescaled else 1 / factors,
    }
