"""FactorVAE score: the latent that holds still when a factor does."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.interventions import (
    Encode,
    EncodeOnce,
    FactorSource,
    Plan,
    independent_votes,
    plan_blocks,
    plan_groups,
)
from unweave.metrics.score import Score, wilson
from unweave.metrics.validation import check_codes, check_count, check_pair, check_scales, factor_classes

COLLAPSED_VARIANCE = 0.95
"""A latent whose mean posterior variance exceeds this has collapsed to the prior N(0, 1)."""

Mode = Literal["paper", "disentanglement_lib", "disent", "ubisoft"]
MODES: dict[str, dict[str, Any]] = {
    "paper": {"samples": 100, "votes": 800, "evaluation_votes": 800, "prune": 0.05, "empty": "chance"},
    "disentanglement_lib": {
        "samples": 64,
        "votes": 10_000,
        "evaluation_votes": 5_000,
        "prune": 0.05,
        "empty": 0,
    },
    "disent": {"samples": 64, "votes": 10_000, "evaluation_votes": 5_000, "prune": 0.0, "empty": 0},
    "ubisoft": {"samples": 200, "votes": 800, "evaluation_votes": 800, "prune": 0.05, "empty": 0},
}
"""Definitions in use and their constants."""


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
    discrete: bool = False,
) -> Score:
    """FactorVAE score from codes encoded once, in [0, 1]; 1/K is what guessing gets.

    One vote: draw a factor k, a value of it, ``samples`` codes with that value; divide each latent by its
    standard deviation over all codes; d = arg min_j Var(z_j). The majority vote V_dk of ``votes`` such pairs
    makes the classifier C(d) = arg max_k V_dk; the score is its accuracy on ``evaluation_votes`` fresh pairs.

    The interval covers the value of infinitely many codes and votes: it is Wilson's for that accuracy, with the votes
    counted as :func:`unweave.metrics.interventions.independent_votes`, since the codes are a sample themselves (the
    data set is taken as whole where there are fewer than 20 codes for each value).

    Collapsed latents take no part. With ``scales`` these are the ones with mean scale^2 > 0.95 (posterior =
    prior, FAC app. B); without, those whose codes vary less than ``prune`` times the most varying latent.
    Constant latents never vote. If no latent is left, the score is 1/K, the accuracy of a blind guess.

    Codes are drawn without replacement where a value has ``samples`` of them and with replacement otherwise;
    values with one sample only are left out. Continuous factors are cut into 20 bins.

    Modes, by whose definition they are (options that are given count before the mode's):

    * ``paper``: 100 codes a vote, 800 + 800 votes, pruning as above;
    * ``disentanglement_lib``: 64 codes, 10,000 + 5,000 votes, a latent is pruned if its standard deviation is below
      0.05, and with no latent left the score is 0;
    * ``disent``: the same without pruning (but a constant latent, which there turns the score into noise, is out);
    * ``ubisoft``: 200 codes, 800 + 800 votes, deviation below 0.05 pruned, and rescaled, (accuracy - 1/K) / (1 - 1/K).

    Args:
        codes: (n, latents) posterior means, or classes 0, 1, ... with ``discrete``.
        factors: (n, K) factor values.
        rng: source of all draws.
        mode: whose definition.
        scales: (n, latents) posterior standard deviations, for the pruning of the paper.
        samples: L, the codes of one vote.
        votes: votes that train the classifier.
        evaluation_votes: votes that test it.
        prune: spread below which a latent counts as collapsed, used without ``scales``.
        discrete: codes are classes: their variance is Gini's, the chance that two codes differ, halved (FAC Eq. 4).

    References:
        Kim & Mnih 2018 (FAC), section 4 and appendix B.

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8), range(8)), -1).reshape(-1, 3)
        >>> print(factor_vae_score(v * 1.0, v, np.random.default_rng(0), samples=16).value)
        1.0

    """
    given = {"samples": samples, "votes": votes, "evaluation_votes": evaluation_votes, "prune": prune}
    options = _options(mode, given)
    codes, table = check_pair(codes, factors)
    classes, sizes = factor_classes(table)
    sd = None if scales is None else check_scales(scales, codes)
    active = _active(codes, sd, mode, options["prune"])
    if not active.any():
        return _empty(mode, options, len(sizes), sd is not None)
    total = options["votes"] + options["evaluation_votes"]
    plan = plan_groups(classes, sizes, total, options["samples"], rng)
    blocks = plan_blocks(classes, sizes, options["samples"], rng, plan_groups)
    return _score(codes, plan, blocks, active, len(sizes), mode, options, sd is not None, discrete)


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
        once: what was encoded before; shared between metrics.

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
    given = {"samples": samples, "votes": votes, "evaluation_votes": evaluation_votes, "prune": prune}
    options = _options(mode, given)
    once = EncodeOnce(encode, dataset) if once is None else once
    plan = once.groups(options["votes"] + options["evaluation_votes"], options["samples"], rng)
    codes, sd = check_codes(once.means), once.scales
    active = _active(codes, sd, mode, options["prune"])
    factors = sum(size != 1 for size in dataset.space.sizes)
    if not active.any():
        return _empty(mode, options, factors, sd is not None)
    return _score(codes, plan, None, active, factors, mode, options, sd is not None, False)


def _options(mode: str, given: dict[str, Any]) -> dict[str, Any]:
    if mode not in MODES:
        raise unknown("mode of factor_vae_score", mode, MODES)
    options = {**MODES[mode], **{key: value for key, value in given.items() if value is not None}}
    for key, least in (("samples", 2), ("votes", 1), ("evaluation_votes", 1)):
        options[key] = check_count(key, options[key], least)
    if not 0 <= options["prune"] < 1:
        raise UnweaveError(f"prune must be at least 0 and below 1, got {options['prune']!r}")
    return options


def _empty(mode: str, options: dict[str, Any], factors: int, by_scale: bool) -> Score:
    value = 1 / factors if options["empty"] == "chance" else 0.0
    # No draw was made, so the interval is the one point.
    constants = _constants(mode, options, np.zeros(0, bool), factors, by_scale)
    return Score("factor_vae_score", value, value, value, reference=_REFERENCE, constants=constants)


_REFERENCE = "Kim & Mnih 2018, section 4 and appendix B"


def _constants(
    mode: str, options: dict[str, Any], active: NDArray[np.bool_], factors: int, by_scale: bool
) -> dict[str, Any]:
    rule = (
        "mean posterior variance > 0.95"
        if by_scale and mode == "paper"
        else f"{'relative spread' if mode == 'paper' else 'deviation'} < {options['prune']:g}"
    )
    return {
        "mode": mode,
        "samples": options["samples"],
        "votes": options["votes"],
        "evaluation_votes": options["evaluation_votes"],
        "prune": rule,
        "active_latents": np.flatnonzero(active).tolist(),
        "chance": 0.0 if mode == "ubisoft" else 1 / factors,
    }


def _score(
    codes: NDArray[np.float64],
    plan: Plan,
    blocks: Plan | None,
    active: NDArray[np.bool_],
    factors: int,
    mode: str,
    options: dict[str, Any],
    by_scale: bool,
    discrete: bool,
) -> Score:
    votes, tested = options["votes"], options["evaluation_votes"]
    vote = _still_classes if discrete else _stillest
    answers = vote(codes[:, active], plan)
    table = np.zeros((int(active.sum()), factors), dtype=np.int64)
    np.add.at(table, (answers[:votes], plan.asked[:votes]), 1)
    classifier = table.argmax(axis=1)
    right = int(np.sum(classifier[answers[votes:]] == plan.asked[votes:]))
    value = right / tested
    of_blocks = None if blocks is None else classifier[vote(codes[:, active], blocks)] == blocks.asked
    fresh = independent_votes(value, tested, of_blocks)
    low, high = wilson(value * fresh, fresh)
    if mode == "ubisoft" and factors > 1:
        value, low, high = (max(0.0, (x - 1 / factors) / (1 - 1 / factors)) for x in (value, low, high))
    return Score(
        "factor_vae_score",
        value,
        low,
        high,
        reference=_REFERENCE,
        constants={
            **_constants(mode, options, active, factors, by_scale),
            "independent_votes": fresh,
            "vote_table": table.tolist(),
        },
    )


def _active(
    codes: NDArray[np.float64], scales: NDArray[np.float64] | None, mode: str, prune: float
) -> NDArray[np.bool_]:
    spread: NDArray[np.float64] = codes.std(axis=0)
    # Rounding gives a constant column of large numbers a tiny spread; dividing by it would let it win.
    moves: NDArray[np.bool_] = spread > 1e-9 * np.maximum(np.abs(codes).max(axis=0), 1e-30)
    if mode != "paper":
        moves[codes.std(axis=0, ddof=1) < prune] = False
    elif scales is None:
        moves[spread < prune * spread.max()] = False
    else:
        moves[np.mean(scales**2, axis=0) > COLLAPSED_VARIANCE] = False
    return moves


def _stillest(kept: NDArray[np.float64], plan: Plan) -> NDArray[np.int64]:
    """For each vote the latent (of those kept) with the smallest variance, (votes,)."""
    kept = (kept - kept.mean(axis=0)) / kept.std(axis=0)
    answers = np.empty(len(plan.rows), dtype=np.int64)
    # A few hundred votes at a time keep the gathered codes within the processor's cache.
    for start in range(0, len(plan.rows), 256):
        drawn = kept[plan.rows[start : start + 256]]
        centre = drawn.mean(axis=1, keepdims=True)
        drawn -= centre
        answers[start : start + 256] = np.einsum("vsd,vsd->vd", drawn, drawn).argmin(axis=1)
    return answers


def _still_classes(kept: NDArray[np.float64], plan: Plan) -> NDArray[np.int64]:
    """The same for codes that are classes: N^2 - sum_c n_c^2 is Gini's variance up to a constant."""
    classes = np.stack([np.unique(column, return_inverse=True)[1] for column in kept.T], axis=1)
    sizes = int(classes.max()) + 1
    n, latents = classes.shape
    whole = np.stack([n**2 - np.sum(np.bincount(c) ** 2) for c in classes.T]) / n**2
    answers = np.empty(len(plan.rows), dtype=np.int64)
    for start in range(0, len(plan.rows), 256):
        drawn = classes[plan.rows[start : start + 256]]
        votes, samples = drawn.shape[:2]
        cell = (np.arange(votes)[:, None, None] * latents + np.arange(latents)) * sizes + drawn
        counts = np.bincount(cell.ravel(), minlength=votes * latents * sizes).reshape(votes, latents, sizes)
        gini = samples**2 - np.sum(counts**2, axis=2)
        answers[start : start + 256] = np.argmin(gini / whole, axis=1)
    return answers
