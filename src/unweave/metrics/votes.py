"""What the beta-VAE and the FactorVAE score share: votes on which factor is fixed, and the accuracy of the votes."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from unweave.errors import check_choice
from unweave.metrics.interval_limits import uncounted
from unweave.metrics.interventions import BLOCKS, Plan, Planner, independent_votes, plan_blocks
from unweave.metrics.score import SINGLE_FACTOR, Score, no_span, wilson
from unweave.metrics.validation import Integers, check_count, equal_width_bins, factor_classes

DECIDING = 10
"""Wrong votes, and right ones, without which there is no interval: where the score is at the end of its range, an
interval covers it always, not 95 times in 100."""
SETTLED = 0.3
"""Standard errors of the accuracy that further training votes may add to it: with more, an interval of 95 % covers
fewer than 94."""
UNSETTLED = "the training votes do not settle which factor a latent stands for"
AT_AN_END = f"fewer than {DECIDING} votes are wrong (or right): the score may be at the end of its range"


@dataclass(frozen=True)
class VotingProtocol:
    """How many votes train and test the classifier, and how many codes (or pairs of codes) a vote looks at.

    ``rescaled``: the score is (accuracy - 1/K) / (1 - 1/K), at least 0; ``bins``: into which factors are cut.

    Example:
        >>> VotingProtocol(samples=100, votes=800, evaluation_votes=200).total
        1000
    """

    samples: int
    votes: int
    evaluation_votes: int
    rescaled: bool = False
    bins: int | None = None

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
    check_choice(f"mode of {metric}", mode, modes)
    chosen = dataclasses.replace(modes[mode], **{k: v for k, v in options.items() if v is not None})
    checked: dict[str, Any] = {
        key: check_count(key, getattr(chosen, key), minimum) for key, minimum in least.items()
    }
    return dataclasses.replace(chosen, **checked)


def vote_classes(table: NDArray[Any], protocol: VotingProtocol) -> tuple[Integers, tuple[int, ...]]:
    """The classes of factors (n, K) and their numbers, cut into bins if the protocol does so.

    Example:
        >>> vote_classes(np.arange(40)[:, None], VotingProtocol(2, 1, 1, bins=10))[1]
        (10,)
    """
    classes, sizes = factor_classes(table)
    if protocol.bins is None:
        return classes, sizes
    return factor_classes(equal_width_bins(table.astype(np.float64), protocol.bins).T)


@dataclass(frozen=True)
class Votes:
    """The votes of a score, those within blocks of the codes that show how much it depends on them, or why not.

    Example:
        >>> Votes(Plan(np.array([0]), np.array([[3, 5]]))).blocks is None
        True
    """

    plan: Plan
    blocks: Plan | None = None
    no_interval: str = ""


def plan_votes(
    classes: Integers,
    sizes: tuple[int, ...],
    protocol: VotingProtocol,
    rng: np.random.Generator,
    planner: Planner,
    *,
    name: str,
    least: int,
    interval: bool,
) -> Votes:
    """The votes of the score ``name``.

    There is no interval if a value has fewer codes than ``least`` or twice the blocks.

    Votes on few codes repeat them, so that they vary less than those of fresh codes would.

    Example:
        >>> from unweave.metrics.interventions import plan_groups
        >>> classes, rng = np.arange(10)[:, None] % 2, np.random.default_rng(0)
        >>> votes = plan_votes(
        ...     classes, (2,), VotingProtocol(3, 4, 5), rng, plan_groups, name="votes", least=3, interval=True)
        >>> votes.plan.rows.shape, votes.no_interval
        ((9, 3), 'a value has fewer than 20 codes: votes on it repeat them')
    """
    plan = planner(classes, sizes, protocol.total, protocol.samples, rng)
    if not interval:
        return Votes(plan)
    least = max(least, 2 * BLOCKS)
    if min(int(np.bincount(column).min()) for column in classes.T) < least:
        return Votes(plan, None, f"a value has fewer than {least:,} codes: votes on it repeat them")
    if why := uncounted(name, len(classes)):
        return Votes(plan, None, why)
    return Votes(plan, plan_blocks(classes, sizes, protocol.samples, rng, planner))


def unsettled(table: Integers) -> float:
    """The accuracy that a majority vote is expected to gain if it is trained on all votes instead of these.

    Let factor c have the most votes n_c of a latent. The lead n_c - n_k over another has a standard error s of
    sqrt(n_c + n_k - (n_c - n_k)^2 / N), so that k is the better guess with a mean gain of s (phi(t) - t Phi(-t)),
    t = (n_c - n_k) / s: the normal loss integral. The result is the largest gain of each latent, summed, over N.

    Args:
        table: (latents, K) the votes n of each latent for each factor, N in all.

    Example:
        >>> round(unsettled(np.array([[50, 50], [0, 0]])), 4), round(unsettled(np.array([[60, 0], [0, 40]])), 4)
        (0.0399, 0.0)

    """
    votes = np.sort(table.astype(np.float64), axis=1)[:, ::-1]
    total = max(float(votes.sum()), 1.0)
    if table.shape[1] < 2:
        return 0.0
    lead = votes[:, :1] - votes[:, 1:]
    error = np.sqrt(np.maximum(votes[:, :1] + votes[:, 1:] - lead**2 / total, 0.0))
    t = lead / np.maximum(error, 1e-9)
    gain = error * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) - lead * scipy.special.ndtr(-t)
    return float(gain.max(axis=1).sum() / total)


def score_votes(
    name: str,
    mode: str,
    protocol: VotingProtocol,
    factors: int,
    right: NDArray[np.bool_],
    right_in_blocks: NDArray[np.bool_] | None,
    reference: str,
    constants: Mapping[str, Any],
    no_interval: str | None = None,
    table: Integers | None = None,
) -> Score:
    """The accuracy of the evaluation votes, with Wilson's interval for as many votes as are independent.

    There is none if fewer than ten votes are wrong, or right, or if more training votes would change a majority.

    Args:
        name: of the score.
        mode: whose definition.
        protocol: of the votes.
        factors: K; 1/K is the accuracy of a guess.
        right: (evaluation_votes,) which votes were right.
        right_in_blocks: likewise of the votes within blocks; None if every vote has codes of its own.
        reference: of the score.
        constants: further settings and parts of the score.
        no_interval: why there is no interval, or None for one.
        table: (latents, K) the training votes of a classifier by majority, see :func:`unsettled`.

    Example:
        >>> protocol, right = VotingProtocol(5, 10, 40), np.arange(40) > 9
        >>> score_votes("s", "paper", protocol, 2, right, None, "", {}).value
        0.75
    """

    def scaled(x: float) -> float:
        return max(0.0, (x - 1 / factors) / (1 - 1 / factors)) if protocol.rescaled and factors > 1 else x

    value, known = float(np.mean(right)), {**vote_constants(mode, protocol, factors), **constants}
    if factors == 1:
        no_interval = SINGLE_FACTOR
    if no_interval is None and min(int(right.sum()), int((~right).sum())) < DECIDING:
        no_interval = AT_AN_END
    if no_interval is not None:
        return Score(name, scaled(value), reference=reference, constants=known, **no_span(no_interval))
    independent = independent_votes(value, protocol.evaluation_votes, right_in_blocks)
    low, high = wilson(value * independent, independent)
    if table is not None and unsettled(table) > SETTLED * np.sqrt(value * (1 - value) / independent):
        return Score(name, scaled(value), reference=reference, constants=known, **no_span(UNSETTLED))
    known["independent_votes"] = independent
    return Score(name, scaled(value), scaled(low), scaled(high), reference=reference, constants=known)


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
        **({} if protocol.bins is None else {"bins": protocol.bins}),
        "chance": 0.0 if protocol.rescaled else 1 / factors,
    }
