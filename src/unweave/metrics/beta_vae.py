"""The metric of Higgins et al.: a linear classifier that guesses the shared factor from mean differences."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.metrics.adagrad import AdagradSoftmax
from unweave.metrics.interventions import (
    Encode,
    EncodeOnce,
    FactorSource,
    Plan,
    Planner,
    plan_even_pairs,
    plan_pairs,
)
from unweave.metrics.linear import Softmax, fit_softmax
from unweave.metrics.score import Score
from unweave.metrics.validation import Floats, Integers, check_codes, check_pair, standardised
from unweave.metrics.votes import (
    Votes,
    VotingProtocol,
    choose_protocol,
    plan_votes,
    score_votes,
    vote_classes,
)


@dataclass(frozen=True)
class _Protocol(VotingProtocol):
    """``ridge`` is the penalty of the classifier, ``standardised`` whether its features are; ``adagrad`` the points of
    a step of Adagrad, with which the classifier is then trained instead of being solved for; ``even``: see plan.
    """

    ridge: float = 1.0
    standardised: bool = False
    adagrad: int = 0
    even: bool = False

    @property
    def planner(self) -> Planner:
        """Values of a factor drawn as often as they occur, or all equally often."""
        return plan_even_pairs if self.even else plan_pairs


Mode = Literal["paper", "printed", "disentanglement_lib", "ubisoft"]
MODES = {
    "paper": _Protocol(200, 2_000, 800, ridge=1e-3, standardised=True),
    "printed": _Protocol(200, 100_000, 800, ridge=0.0, adagrad=10),
    "disentanglement_lib": _Protocol(64, 10_000, 5_000),
    "ubisoft": _Protocol(200, 10_000, 5_000, rescaled=True, bins=10, even=True),
}
"""Definitions in use and their constants."""


def beta_vae_score(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator,
    *,
    mode: Mode = "paper",
    samples: int | None = None,
    votes: int | None = None,
    evaluation_votes: int | None = None,
    interval: bool = True,
) -> Score:
    """The beta-VAE (Higgins) score from codes encoded once, in [0, 1]; 1/K is what guessing gets.

    One vote: draw a factor k and ``samples`` pairs of codes, the two of a pair sharing the value of factor k; its
    features are mean |z_1 - z_2| of each latent. A linear classifier is trained on ``votes`` of them to guess k; the
    score is its accuracy on ``evaluation_votes`` fresh ones.

    The interval covers the value of infinitely many codes and votes: it is Wilson's for that accuracy, with the votes
    counted as :func:`unweave.metrics.interventions.independent_votes`, since the codes are a sample themselves. There
    is none if a value has fewer than 20 codes, or if fewer than ten votes are wrong, or right.

    It has a failure mode: with K - 1 factors disentangled it still scores 1, since the last factor is the one for which
    no difference vanishes (FAC figure 3).

    Modes, by whose definition they are (options that are given take precedence over the mode's):

    * ``paper``: 200 pairs, 2,000 + 800 votes, nearly unpenalised and on standardised features, so that the scale of a
      latent does not matter. The paper stops Adagrad (learning rate 0.01) after 10,000 steps; here the classifier is
      solved to convergence, so none of its settings matter;
    * ``printed``: what FAC appendix B prints: Adagrad, learning rate 0.01, 10,000 iterations of 10 points, L = 200, raw
      features, 800 points to evaluate; ``votes`` is the number of points, ten for each iteration;
    * ``disentanglement_lib``: 64 pairs, 10,000 + 5,000 votes, scikit-learn's default penalty on raw features;
    * ``ubisoft``: 200 pairs of distinct codes, all values of a factor equally often, factors cut into 10 bins, 10,000 +
      5,000 votes, scikit-learn's default penalty on raw features, and rescaled, (accuracy - 1/K) / (1 - 1/K), at least
      0.

    Args:
        codes: (n, latents) posterior means, 20 or more.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        rng: source of all draws.
        mode: whose definition.
        samples: L, the pairs of one vote.
        votes: votes that train the classifier.
        evaluation_votes: votes that test it.
        interval: whether to compute one.

    References:
        Higgins et al. 2017; Kim & Mnih 2018 (FAC), section 4 and figures 2, 3, 16.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6), range(6)), -1).reshape(-1, 3)
        >>> beta_vae_score(v[:, :2] * 1.0, v, np.random.default_rng(0)).value > 0.99   # the third factor is missing
        True

    """
    protocol = _protocol(mode, samples, votes, evaluation_votes)
    codes, table = check_pair(codes, factors, least=20)
    classes, sizes = vote_classes(table, protocol)
    planned = plan_votes(
        classes, sizes, protocol, rng, protocol.planner, name="beta_vae_score", least=0, interval=interval
    )
    return _score(codes, planned, len(sizes), mode, protocol)


def beta_vae_score_of(
    encode: Encode,
    dataset: FactorSource,
    rng: np.random.Generator,
    *,
    mode: Mode = "paper",
    samples: int | None = None,
    votes: int | None = None,
    evaluation_votes: int | None = None,
    once: EncodeOnce | None = None,
) -> Score:
    """The beta-VAE score of an encoder on a data set that may be endless; no image is encoded twice.

    Args:
        encode: images -> means, or (means, scales), e.g. ``vae.codes``.
        dataset: with ``space``, ``images(factors)``, ``evaluation(n, rng)`` and ``held_out(factors)``.
        rng: source of all draws.
        mode: as in :func:`beta_vae_score`, likewise the next three.
        samples: L, the pairs of one vote.
        votes: votes that train the classifier.
        evaluation_votes: votes that test it.
        once: the codes that are known already; metrics may share them.

    Example:
        >>> from unweave.data import XYSquares
        >>> score = beta_vae_score_of(
        ...     lambda x: x.reshape(len(x), -1)[:, :2], XYSquares(), np.random.default_rng(0), samples=2, votes=9,
        ...     evaluation_votes=9)
        >>> score.name
        'beta_vae_score'

    """
    protocol = _protocol(mode, samples, votes, evaluation_votes)
    once = EncodeOnce(encode, dataset) if once is None else once
    plan = once.pairs(protocol.total, protocol.samples, rng)
    factors = sum(size != 1 for size in dataset.space.sizes)
    return _score(check_codes(once.means), Votes(plan), factors, mode, protocol, fresh=True)


def _protocol(mode: str, samples: int | None, votes: int | None, evaluation_votes: int | None) -> _Protocol:
    given = {"samples": samples, "votes": votes, "evaluation_votes": evaluation_votes}
    least = {"samples": 1, "votes": 2, "evaluation_votes": 1}
    return choose_protocol("beta_vae_score", mode, MODES, given, least)


def _score(
    codes: Floats, planned: Votes, factors: int, mode: str, protocol: _Protocol, fresh: bool = False
) -> Score:
    """The score; ``fresh``: every vote has codes of its own."""
    plan, blocks = planned.plan, planned.blocks
    training = slice(protocol.votes)
    features = mean_differences(codes, plan)
    known = features[training]

    def prepared(x: Floats) -> Floats:
        return standardised(x, known) if protocol.standardised else x

    model: AdagradSoftmax | Softmax
    if protocol.adagrad:
        model = AdagradSoftmax.start(codes.shape[1], factors)
        model.train(known, plan.asked[training], protocol.adagrad)
    else:
        model = fit_softmax(prepared(known), plan.asked[training], factors, ridge=protocol.ridge)

    def right(x: Floats, asked: Integers) -> NDArray[np.bool_]:
        return np.asarray(model.predict(prepared(x)) == asked)

    return score_votes(
        "beta_vae_score",
        mode,
        protocol,
        factors,
        right(features[protocol.votes :], plan.asked[protocol.votes :]),
        None if blocks is None else right(mean_differences(codes, blocks), blocks.asked),
        "Higgins et al. 2017; Kim & Mnih 2018, section 4",
        {"ridge": protocol.ridge},
        None if fresh or blocks is not None else planned.no_interval,
    )


def mean_differences(codes: Floats, plan: Plan) -> Floats:
    """The mean |z_1 - z_2| of each vote's pairs, (votes, latents).

    Example:
        >>> plan = Plan(np.array([0]), np.array([[[0, 1], [1, 2]]]))
        >>> mean_differences(np.array([[0.0], [1.0], [4.0]]), plan).tolist()
        [[2.0]]

    """
    features = np.empty((len(plan.rows), codes.shape[1]))
    # Few votes at a time, in memory that stays: fresh memory costs more than arithmetic.
    first = np.empty((64, plan.rows.shape[1], codes.shape[1]))
    second = np.empty_like(first)
    for start in range(0, len(plan.rows), len(first)):
        rows = plan.rows[start : start + len(first)]
        one = np.take(codes, rows[:, :, 0], axis=0, out=first[: len(rows)], mode="clip")
        one -= np.take(codes, rows[:, :, 1], axis=0, out=second[: len(rows)], mode="clip")
        np.abs(one, out=one)
        features[start : start + len(first)] = one.mean(axis=1)
    return features
