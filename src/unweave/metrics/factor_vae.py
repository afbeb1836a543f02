"""FactorVAE score: which latent varies least while a factor is fixed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.metrics.interventions import BLOCKS, Encode, EncodeOnce, FactorSource, Plan, plan_groups
from unweave.metrics.ranges import HEAVY_VARIANCE, heavy_variance
from unweave.metrics.score import Score
from unweave.metrics.validation import (
    Floats,
    Integers,
    check_codes,
    check_pair,
    check_scales,
    standardised,
    unit_of,
)
from unweave.metrics.votes import (
    Votes,
    VotingProtocol,
    choose_protocol,
    plan_votes,
    score_votes,
    vote_classes,
    vote_constants,
)

COLLAPSED_VARIANCE = 0.95
"""A latent whose mean posterior variance exceeds this has collapsed to the prior N(0, 1)."""

FEWEST = 20 * BLOCKS
"""Codes of a value below which there is no interval: with fewer, those of a block decide its votes, and blocks differ
by more than their share (intervals of 500 codes with 100 of a value covered 98.5 %)."""


@dataclass(frozen=True)
class _Protocol(VotingProtocol):
    """``prune``: spread below which a latent takes no part; ``empty_is_chance``: the score if none is left is 1/K."""

    prune: float = 0.05
    empty_is_chance: bool = False


Mode = Literal["paper", "disentanglement_lib", "disent", "ubisoft"]
MODES = {
    "paper": _Protocol(100, 800, 800, empty_is_chance=True),
    "disentanglement_lib": _Protocol(64, 10_000, 5_000),
    "disent": _Protocol(64, 10_000, 5_000, prune=0.0),
    "ubisoft": _Protocol(200, 800, 800, rescaled=True, bins=10),
}
"""Definitions in use and their constants."""

_REFERENCE = "Kim & Mnih 2018, section 4 and appendix B"


def factor_vae_score(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator,
    *,
    mode: Mode = "paper",
    scales: ArrayLike | None = None,
    samples: int | None = None,
    votes: int | None = None,
    evaluation_votes: int | None = None,
    prune: float | None = None,
    discrete: Sequence[int] | bool = False,
    prior_variances: Sequence[float] | None = None,
    interval: bool = True,
) -> Score:
    """FactorVAE score from codes encoded once, in [0, 1]; 1/K is what guessing gets.

    One vote: draw a factor k, a value of it, ``samples`` codes with that value; divide each latent by its
    standard deviation over all codes; d = arg min_j Var(z_j). The majority vote V_dk of ``votes`` such pairs
    makes the classifier C(d) = arg max_k V_dk; the score is its accuracy on ``evaluation_votes`` fresh pairs.

    The interval covers the value of infinitely many codes and votes: it is Wilson's for that accuracy, with the votes
    counted as :func:`unweave.metrics.interventions.independent_votes`, since the codes are a sample themselves. There
    is none if fewer than ten votes are wrong, or right; none if a value has fewer than 200 codes, or ten times as many
    as a vote looks at: votes within the blocks that show how codes vary would repeat them (of 300 codes a value,
    intervals covered 99.5 %); none with heavy tails, where a single code decides the variance that a latent is
    divided by; and none where further training votes may change which factor a latent stands for, and the accuracy by
    more than 0.3 standard errors (such intervals covered 87 %).

    Collapsed latents take no part. With ``scales`` these are the ones with mean scale^2 > 0.95 times the prior's
    variance (posterior = prior, FAC appendix B); without, those whose codes vary less than ``prune`` times the most
    varying latent. Constant latents never vote. If no latent is left, the score is 1/K, the accuracy of a blind guess.

    Codes are drawn without replacement where a value has ``samples`` of them and with replacement otherwise;
    values with a single sample are excluded. Continuous factors are cut into 20 bins.

    Modes, by whose definition they are (options that are given take precedence over the mode's):

    * ``paper``: 100 codes a vote, 800 + 800 votes, pruning as above;
    * ``disentanglement_lib``: 64 codes, 10,000 + 5,000 votes, a latent is pruned if its standard deviation is below
      0.05, and with no latent left the score is 0;
    * ``disent``: the same without pruning (but a constant latent, which there turns the score into noise, is out);
    * ``ubisoft``: 200 codes, 800 + 800 votes, factors cut into 10 bins, deviation below 0.05 pruned, and rescaled,
      (accuracy - 1/K) / (1 - 1/K), at least 0.

    Args:
        codes: (n, latents) posterior means, or classes where ``discrete`` says so; 20 or more.
        factors: (n, K) factor values.
        rng: source of all draws.
        mode: whose definition.
        scales: (n, latents) posterior standard deviations, for the pruning of the paper.
        samples: L, the codes of one vote.
        votes: votes that train the classifier.
        evaluation_votes: votes that test it.
        prune: spread below which a latent counts as collapsed, used without ``scales``.
        discrete: which latents are classes, or whether all are: their variance is Gini's, the chance that two codes
            differ, halved (FAC Eq. 4).
        prior_variances: of each latent; none: 1, that of N(0, 1).
        interval: whether to compute one.

    References:
        Kim & Mnih 2018 (FAC), section 4 and appendix B.

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8), range(8)), -1).reshape(-1, 3)
        >>> print(factor_vae_score(v * 1.0, v, np.random.default_rng(0), samples=16).value)
        1.0

    """
    protocol = _protocol(mode, samples, votes, evaluation_votes, prune)
    codes, table = check_pair(codes, factors, least=20)
    classes, sizes = vote_classes(table, protocol)
    sd = None if scales is None else check_scales(scales, codes)
    active = _active(codes, sd, mode, protocol.prune, prior_variances)
    constants = _constants(mode, protocol, active, sd is not None)
    of_classes = _discrete_columns(discrete, codes.shape[1])
    if of_classes.any():
        constants["discrete"] = np.flatnonzero(of_classes).tolist()
    if not active.any():
        return _empty(mode, protocol, len(sizes), constants)
    least = max(BLOCKS * protocol.samples, FEWEST)
    votes_ = plan_votes(
        classes, sizes, protocol, rng, plan_groups, name="factor_vae_score", least=least, interval=interval
    )
    if votes_.blocks is not None and heavy_variance(codes[:, active & ~of_classes]):
        votes_ = Votes(votes_.plan, None, HEAVY_VARIANCE)
    return _score(codes[:, active], votes_, len(sizes), mode, protocol, constants, of_classes[active])


def factor_vae_score_of(
    encode: Encode,
    dataset: FactorSource,
    rng: np.random.Generator,
    *,
    mode: Mode = "paper",
    samples: int | None = None,
    votes: int | None = None,
    evaluation_votes: int | None = None,
    prune: float | None = None,
    once: EncodeOnce | None = None,
) -> Score:
    """FactorVAE score of an encoder on a data set that may be endless; no image is encoded twice.

    Every vote draws fresh images with one factor fixed, as the paper does; for a data set whose codes are known already
    :func:`factor_vae_score` needs none.

    Args:
        encode: images -> means, or (means, scales), e.g. ``vae.codes``.
        dataset: with ``space``, ``images(factors)``, ``evaluation(n, rng)`` and ``held_out(factors)``.
        rng: source of all draws.
        mode: as in :func:`factor_vae_score`, likewise the next four.
        samples: L, the codes of one vote.
        votes: votes that train the classifier.
        evaluation_votes: votes that test it.
        prune: spread below which a latent counts as collapsed, if the encoder gives no scales.
        once: the codes that are known already; metrics may share them.

    Example:
        >>> from unweave.data import Circles
        >>> circles = Circles(size=16)
        >>> def centre(images):
        ...     shade = images.sum(1).astype(float)
        ...     place = np.arange(16) / shade.sum((1, 2))[:, None]
        ...     return np.stack([(shade.sum(1) * place).sum(1), (shade.sum(2) * place).sum(1)], 1)
        >>> factor_vae_score_of(centre, circles, np.random.default_rng(0), samples=20, votes=50, evaluation_votes=50).value
        1.0

    """  # noqa: E501
    protocol = _protocol(mode, samples, votes, evaluation_votes, prune)
    once = EncodeOnce(encode, dataset) if once is None else once
    plan = once.groups(protocol.total, protocol.samples, rng)
    codes, sd = check_codes(once.means), once.scales
    active = _active(codes, sd, mode, protocol.prune, None)
    factors = sum(size != 1 for size in dataset.space.sizes)
    constants = _constants(mode, protocol, active, sd is not None)
    if not active.any():
        return _empty(mode, protocol, factors, constants)
    none = np.zeros(int(active.sum()), np.bool_)
    return _score(codes[:, active], Votes(plan), factors, mode, protocol, constants, none, fresh=True)


def _protocol(
    mode: str, samples: int | None, votes: int | None, evaluation_votes: int | None, prune: float | None
) -> _Protocol:
    given = {"samples": samples, "votes": votes, "evaluation_votes": evaluation_votes, "prune": prune}
    least = {"samples": 2, "votes": 1, "evaluation_votes": 1}
    protocol = choose_protocol("factor_vae_score", mode, MODES, given, least)
    if not 0 <= protocol.prune < 1:
        raise UnweaveError(f"prune must be at least 0 and below 1, got {protocol.prune!r}")
    return protocol


def _constants(mode: str, protocol: _Protocol, active: NDArray[np.bool_], by_scale: bool) -> dict[str, Any]:
    if by_scale and mode == "paper":
        rule = f"mean posterior variance > {COLLAPSED_VARIANCE:g}"
    else:
        rule = f"{'relative spread' if mode == 'paper' else 'deviation'} < {protocol.prune:g}"
    return {"prune": rule, "active_latents": np.flatnonzero(active).tolist()}


def _empty(mode: str, protocol: _Protocol, factors: int, constants: dict[str, Any]) -> Score:
    """The score if no latent is left. Nothing is drawn, so the interval is the one point."""
    value = 1 / factors if protocol.empty_is_chance else 0.0
    known = {**vote_constants(mode, protocol, factors), **constants}
    return Score("factor_vae_score", value, value, value, reference=_REFERENCE, constants=known)


def _score(
    codes: Floats,
    planned: Votes,
    factors: int,
    mode: str,
    protocol: _Protocol,
    constants: dict[str, Any],
    discrete: NDArray[np.bool_],
    fresh: bool = False,
) -> Score:
    """The score of the codes (n, active latents), of which those are classes that ``discrete`` marks.

    ``fresh``: every vote has codes of its own.
    """
    votes, plan, blocks = protocol.votes, planned.plan, planned.blocks

    def stillest(z: Floats, votes: Plan) -> Integers:
        answers: Integers = _shares(z, votes, discrete).argmin(axis=1)
        return answers

    answers = stillest(codes, plan)
    table = np.zeros((codes.shape[1], factors), dtype=np.int64)
    np.add.at(table, (answers[:votes], plan.asked[:votes]), 1)
    classifier = table.argmax(axis=1)
    return score_votes(
        "factor_vae_score",
        mode,
        protocol,
        factors,
        classifier[answers[votes:]] == plan.asked[votes:],
        None if blocks is None else classifier[stillest(codes, blocks)] == blocks.asked,
        _REFERENCE,
        {**constants, "vote_table": table.tolist()},
        None if fresh or blocks is not None else planned.no_interval,
        table,
    )


def _discrete_columns(discrete: Sequence[int] | bool, latents: int) -> NDArray[np.bool_]:
    """Which latents are classes, (latents,)."""
    if isinstance(discrete, bool):
        return np.full(latents, discrete)
    wrong = [j for j in discrete if not 0 <= j < latents]
    if wrong:
        raise UnweaveError(f"discrete must name latents from 0 to {latents - 1}, got {wrong[0]}")
    return np.isin(np.arange(latents), list(discrete))


def _active(
    codes: Floats, scales: Floats | None, mode: str, prune: float, prior_variances: Sequence[float] | None
) -> NDArray[np.bool_]:
    unit = unit_of(codes)
    spread: Floats = (codes / unit).std(axis=0)
    # Rounding gives a constant column of large numbers a tiny spread; dividing by it would let it win.
    moves: NDArray[np.bool_] = spread > 1e-9
    spread *= unit
    if mode != "paper":
        moves[codes.std(axis=0, ddof=1) < prune] = False
    elif scales is None:
        moves[spread < prune * spread.max()] = False
    else:
        own = np.ones(codes.shape[1]) if prior_variances is None else np.asarray(prior_variances, float)
        if own.shape != (codes.shape[1],):
            raise UnweaveError(
                f"prior_variances must have one number for each of {codes.shape[1]} latents, got {own.shape}"
            )
        moves[np.mean(scales**2, axis=0) > COLLAPSED_VARIANCE * own] = False
    return moves


def _shares(codes: Floats, plan: Plan, discrete: NDArray[np.bool_]) -> Floats:
    """The variance of each latent in each vote as a share of its variance over all codes, (votes, latents).

    That of classes is Gini's; the shares of both kinds are 1 where the fixed factor does not matter.
    """
    shares = np.empty((len(plan.rows), codes.shape[1]))
    for of_classes, columns in ((False, ~discrete), (True, discrete)):
        if columns.any():
            measure = _gini_shares if of_classes else _variance_shares
            shares[:, columns] = measure(codes[:, columns], plan)
    return shares


def _variance_shares(codes: Floats, plan: Plan) -> Floats:
    codes = standardised(codes)
    shares = np.empty((len(plan.rows), codes.shape[1]))
    # Few votes at a time, in memory that stays: fresh memory costs more than arithmetic.
    work = np.empty((64, plan.rows.shape[1], codes.shape[1]))
    for start in range(0, len(plan.rows), len(work)):
        rows = plan.rows[start : start + len(work)]
        drawn = np.take(codes, rows, axis=0, out=work[: len(rows)], mode="clip")
        drawn -= drawn.mean(axis=1, keepdims=True)
        shares[start : start + len(work)] = np.einsum("vsd,vsd->vd", drawn, drawn) / (drawn.shape[1] - 1)
    return shares


def _gini_shares(codes: Floats, plan: Plan) -> Floats:
    """N^2 - sum_c n_c^2 is Gini's variance up to N (N - 1)."""
    classes = np.stack([np.unique(column, return_inverse=True)[1] for column in codes.T], axis=1)
    sizes = int(classes.max()) + 1
    n, latents = classes.shape
    whole = np.stack([n**2 - np.sum(np.bincount(c) ** 2) for c in classes.T]) / n**2
    shares = np.empty((len(plan.rows), latents))
    for start in range(0, len(plan.rows), 256):
        drawn = classes[plan.rows[start : start + 256]]
        votes, samples = drawn.shape[:2]
        cell = (np.arange(votes)[:, None, None] * latents + np.arange(latents)) * sizes + drawn
        counts = np.bincount(cell.ravel(), minlength=votes * latents * sizes).reshape(votes, latents, sizes)
        gini = samples**2 - np.sum(counts**2, axis=2)
        shares[start : start + 256] = gini / (samples * (samples - 1)) / whole
    return shares
