"""FactorVAE score: the latent that holds still when a factor does."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.metrics.score import Score
from unweave.metrics.validation import check_codes, check_count, check_pair, factor_classes

COLLAPSED_VARIANCE = 0.95
"""A latent whose mean posterior variance exceeds this has collapsed to the prior N(0, 1)."""


def factor_vae_score(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator,
    *,
    scales: ArrayLike | None = None,
    samples: int = 100,
    votes: int = 800,
    evaluation_votes: int = 800,
    prune: float = 0.05,
) -> Score:
    """FactorVAE score from codes encoded once, in [0, 1]; 1/K is what guessing gets.

    One vote: draw a factor k, a value of it, ``samples`` codes with that value; divide each latent by its
    standard deviation over all codes; d = arg min_j Var(z_j). The majority vote V_dk of ``votes`` such pairs
    makes the classifier C(d) = arg max_k V_dk; the score is its accuracy on ``evaluation_votes`` fresh pairs.
    The interval is Wilson's for that accuracy.

    Collapsed latents take no part. With ``scales`` these are the ones with mean scale^2 > 0.95 (posterior =
    prior, FAC app. B); without, those whose codes vary less than ``prune`` times the most varying latent.
    Constant latents never vote. If no latent is left, the score is 1/K, the accuracy of a blind guess.

    Codes are drawn without replacement where a value has ``samples`` of them and with replacement otherwise;
    values with one sample only are left out. Continuous factors are cut into 20 bins.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values.
        rng: source of all draws.
        scales: (n, latents) posterior standard deviations.
        samples: L, the codes of one vote.
        votes: votes that train the classifier.
        evaluation_votes: votes that test it.
        prune: relative spread below which a latent counts as collapsed, used without ``scales``.

    References:
        Kim & Mnih 2018 (FAC), section 4 and appendix B.

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8), range(8)), -1).reshape(-1, 3)
        >>> print(factor_vae_score(v * 1.0, v, np.random.default_rng(0), samples=16).value)
        1.0

    """
    samples = check_count("samples", samples, 2)
    votes, evaluation_votes = (
        check_count("votes", votes, 1),
        check_count("evaluation_votes", evaluation_votes, 1),
    )
    if not 0 <= prune < 1:
        raise UnweaveError(f"prune must be at least 0 and below 1, got {prune!r}")
    codes, table = check_pair(codes, factors)
    classes, sizes = factor_classes(table)
    active = _active(codes, scales, prune)
    names = {
        "samples": samples,
        "votes": votes,
        "evaluation_votes": evaluation_votes,
        "prune": "mean posterior variance > 0.95" if scales is not None else f"relative spread < {prune:g}",
        "active_latents": np.flatnonzero(active).tolist(),
        "chance": 1 / len(sizes),
    }
    reference = "Kim & Mnih 2018, section 4 and appendix B"
    if not active.any():
        return Score("factor_vae_score", 1 / len(sizes), reference=reference, constants=names)

    kept = codes[:, active] / codes[:, active].std(axis=0)
    total = votes + evaluation_votes
    asked = rng.integers(0, len(sizes), total)
    answers = _stillest(kept, classes, sizes, asked, samples, rng)
    table_of_votes = np.zeros((kept.shape[1], len(sizes)), dtype=np.int64)
    np.add.at(table_of_votes, (answers[:votes], asked[:votes]), 1)
    classifier = table_of_votes.argmax(axis=1)
    right = int(np.sum(classifier[answers[votes:]] == asked[votes:]))
    low, high = _wilson(right, evaluation_votes)
    return Score(
        "factor_vae_score",
        right / evaluation_votes,
        low,
        high,
        reference=reference,
        constants={**names, "vote_table": table_of_votes.tolist()},
    )


def _active(codes: NDArray[np.float64], scales: ArrayLike | None, prune: float) -> NDArray[np.bool_]:
    spread: NDArray[np.float64] = codes.std(axis=0)
    # Rounding gives a constant column of large numbers a tiny spread; dividing by it would let it win.
    moves: NDArray[np.bool_] = spread > 1e-9 * np.maximum(np.abs(codes).max(axis=0), 1e-30)
    if scales is None:
        moves[spread < prune * spread.max()] = False
        return moves
    checked = check_codes(scales, "scales")
    if checked.shape != codes.shape:
        raise UnweaveError(f"scales must have the shape of codes {codes.shape}, got {checked.shape}")
    moves[np.mean(checked**2, axis=0) > COLLAPSED_VARIANCE] = False
    return moves


def _stillest(
    kept: NDArray[np.float64],
    classes: NDArray[np.int64],
    sizes: tuple[int, ...],
    asked: NDArray[np.int64],
    samples: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """For each vote the latent (of those kept) with the smallest variance, (votes,)."""
    answers = np.empty(len(asked), dtype=np.int64)
    for k, size in enumerate(sizes):
        mine = np.flatnonzero(asked == k)
        order = np.argsort(classes[:, k], kind="stable")
        counts = np.bincount(classes[:, k], minlength=size)
        firsts = np.cumsum(counts) - counts
        usable = np.flatnonzero(counts > 1)
        if len(usable) == 0:
            raise UnweaveError(
                f"every value of factor {k} occurs once only, so no two codes share it: encode more images"
            )
        values = usable[rng.integers(0, len(usable), len(mine))]
        # A few hundred votes at a time keep the gathered codes within the processor's cache.
        for start in range(0, len(mine), 256):
            block = slice(start, start + 256)
            rows = firsts[values[block], None] + _draw(counts[values[block]], samples, rng)
            answers[mine[block]] = kept[order[rows]].var(axis=1).argmin(axis=1)
    return answers


def _draw(counts: NDArray[np.int64], samples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """``samples`` numbers below each count, (votes, samples): distinct where the count allows it."""
    drawn = np.empty((len(counts), samples), dtype=np.int64)
    enough = counts >= samples
    drawn[~enough] = rng.integers(0, counts[~enough, None], (int(np.sum(~enough)), samples))
    many = counts[enough]
    chosen = np.full((len(many), samples), -1, dtype=np.int64)
    # Floyd's subset sampling, all votes at once: uniform over subsets in `samples` steps.
    for i in range(samples):
        last = many - samples + i
        pick = rng.integers(0, last + 1)
        taken = (chosen[:, :i] == pick[:, None]).any(axis=1)
        chosen[:, i] = np.where(taken, last, pick)
    drawn[enough] = chosen
    return drawn


def _wilson(right: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion: unlike +- 1.96 se it has width at 0 and 1."""
    z, p = 1.96, right / total
    centre = (p + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z / (1 + z**2 / total) * np.sqrt(p * (1 - p) / total + z**2 / (4 * total**2))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
