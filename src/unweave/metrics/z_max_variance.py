"""Z-max variance: which latent varies most while one factor varies and all others are fixed."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import UnweaveError
from unweave.metrics.interventions import Plan, plan_groups
from unweave.metrics.score import Score
from unweave.metrics.validation import Floats, Integers, check_pair
from unweave.metrics.votes import VotingProtocol, choose_protocol, score_votes, vote_classes

Mode = Literal["paper", "ubisoft"]
MODES = {
    "paper": VotingProtocol(200, 800, 800),
    "ubisoft": VotingProtocol(200, 800, 800, rescaled=True, bins=3),
}
"""Definitions in use and their constants."""
PRUNE = 0.05
"""A latent with a smaller standard deviation takes no part."""


def z_max_variance(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator,
    *,
    mode: Mode = "paper",
    samples: int | None = None,
    votes: int | None = None,
    evaluation_votes: int | None = None,
    bins: int | None = None,
    interval: bool = True,
) -> Score:
    """Z-max variance, in [0, 1]; 1/K is what guessing gets. The mirror image of the FactorVAE score.

    One vote: draw a factor k and values of all *other* factors that two codes or more share, ``samples`` codes with
    these values; divide each latent by its standard deviation over all codes; d = arg max_j Var(z_j). The majority of
    ``votes`` such pairs (d, k) makes the classifier; the score is its accuracy on ``evaluation_votes`` fresh pairs.
    Codes are drawn with replacement where there are fewer. It misses factors that share a latent with one that varies
    more.

    Modes: ``paper``; ``ubisoft``: factors cut into 3 bins, so that combinations occur often, and rescaled,
    (accuracy - 1/K) / (1 - 1/K), at least 0.

    Args:
        codes: (n, latents) posterior means, 20 or more.
        factors: (n, K) factor values, two factors or more; continuous ones are cut into 20 bins.
        rng: source of all draws.
        mode: whose definition.
        samples: L, the codes of one vote.
        votes: votes that train the classifier.
        evaluation_votes: votes that test it.
        bins: into which factors are cut; the mode's own by default.
        interval: there is none; the score says why.

    References:
        Kim et al. 2019, "Relevance factor VAE: learning and identifying disentangled factors", section 4.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
        >>> z_max_variance(v * 1.0, v, np.random.default_rng(0), votes=100, evaluation_votes=100).value
        1.0

    """
    given = {"samples": samples, "votes": votes, "evaluation_votes": evaluation_votes, "bins": bins}
    protocol = choose_protocol(
        "z_max_variance", mode, MODES, given, {"samples": 2, "votes": 1, "evaluation_votes": 1}
    )
    z, table = check_pair(codes, factors, least=20)
    classes, sizes = vote_classes(table, protocol)
    if len(sizes) < 2:
        raise UnweaveError("z_max_variance fixes all factors but one: it needs two or more, got 1")
    others, counts = _other_factors(classes, sizes)
    active = np.flatnonzero(z.std(axis=0, ddof=1) >= PRUNE)
    plan = plan_groups(others, counts, protocol.total, protocol.samples, rng)
    answers = _liveliest(z[:, active], plan) if len(active) else np.zeros(protocol.total, dtype=np.int64)
    votes_of = np.zeros((max(len(active), 1), len(sizes)), dtype=np.int64)
    np.add.at(votes_of, (answers[: protocol.votes], plan.asked[: protocol.votes]), 1)
    right = votes_of.argmax(axis=1)[answers[protocol.votes :]] == plan.asked[protocol.votes :]
    return score_votes(
        "z_max_variance",
        mode,
        protocol,
        len(sizes),
        right,
        None,
        "Kim et al. 2019, section 4",
        {"active_latents": active.tolist(), "vote_table": votes_of.tolist()},
        "combinations of factors occur too rarely to know how other codes would vote" if interval else "",
    )


def _other_factors(classes: Integers, sizes: tuple[int, ...]) -> tuple[Integers, tuple[int, ...]]:
    """For each factor the number of the combination of all others, (n, K), and how many there are."""
    columns = []
    for k in range(len(sizes)):
        rest = np.delete(classes, k, axis=1)
        columns.append(np.unique(rest, axis=0, return_inverse=True)[1].reshape(-1))
    found = np.stack(columns, axis=1).astype(np.int64)
    return found, tuple(int(size) + 1 for size in found.max(axis=0))


def _liveliest(codes: Floats, plan: Plan) -> Integers:
    """For each vote the latent with the largest variance, (votes,)."""
    white = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    answers = np.empty(len(plan.rows), dtype=np.int64)
    for start in range(0, len(plan.rows), 256):
        drawn = white[plan.rows[start : start + 256]]
        answers[start : start + 256] = drawn.var(axis=1).argmax(axis=1)
    return answers
