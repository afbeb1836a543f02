"""Codes of images that share a factor: chosen among given codes, or encoded for the purpose, each image once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.metrics.validation import Floats, Integers, check_count

Encode = Callable[[Any], Any]
BLOCKS, BLOCK_VOTES = 10, 200
"""Blocks of codes, and votes in each, that show how much a score would change with other codes."""


class FactorSource(Protocol):
    """What metrics need of a data set to choose images by their factors (:class:`unweave.data.Dataset`)."""

    @property
    def space(self) -> Any:
        """The factor space."""

    def images(self, factors: Any) -> Any:
        """Images (n, channels, height, width) of factors (n, K)."""

    def held_out(self, factors: Any) -> Any:
        """True where training never samples, (n,)."""

    def evaluation(self, n: int, rng: np.random.Generator) -> Any:
        """Factors (n, K) drawn from the training distribution."""


@dataclass(frozen=True)
class Plan:
    """Which codes each vote looks at: ``asked`` (votes,) is the factor they share, ``rows`` their row numbers.

    ``rows`` is (votes, samples) if all samples of a vote share the factor's value, and (votes, pairs, 2) if only the
    two codes of a pair do.

    Example:
        >>> Plan(np.array([0]), np.array([[3, 5]])).rows.shape
        (1, 2)
    """

    asked: Integers
    rows: Integers


Planner = Callable[[Integers, tuple[int, ...], int, int, np.random.Generator], Plan]
"""Plans votes from classes (n, K), the factors' sizes, the number of votes, the samples of each and a generator."""


def plan_groups(
    classes: Integers, sizes: tuple[int, ...], votes: int, samples: int, rng: np.random.Generator
) -> Plan:
    """Votes of ``samples`` rows that share one value of one factor, both drawn at random.

    Rows are drawn without replacement where a value has enough of them; values with a single row are excluded.

    Example:
        >>> classes = np.array([[0], [0], [1], [1]])
        >>> plan = plan_groups(classes, (2,), 5, 2, np.random.default_rng(0))
        >>> bool((classes[plan.rows[:, 0], 0] == classes[plan.rows[:, 1], 0]).all())
        True

    """
    asked = rng.integers(0, len(sizes), votes)
    rows = np.empty((votes, samples), dtype=np.int64)
    for k, size in enumerate(sizes):
        mine = np.flatnonzero(asked == k)
        order, counts, firsts = _sorted(classes[:, k], size)
        usable = _repeated(counts, k)
        values = usable[rng.integers(0, len(usable), len(mine))]
        rows[mine] = order[firsts[values, None] + draw_subsets(counts[values], samples, rng)]
    return Plan(asked, rows)


def plan_pairs(
    classes: Integers, sizes: tuple[int, ...], votes: int, pairs: int, rng: np.random.Generator
) -> Plan:
    """Votes of ``pairs`` pairs of rows; the two of a pair share the value of the vote's factor.

    Example:
        >>> classes = np.array([[0], [0], [1], [1]])
        >>> plan_pairs(classes, (2,), 5, 3, np.random.default_rng(0)).rows.shape
        (5, 3, 2)

    """
    asked = rng.integers(0, len(sizes), votes)
    rows = np.empty((votes, pairs, 2), dtype=np.int64)
    for k, size in enumerate(sizes):
        mine = np.flatnonzero(asked == k)
        order, counts, firsts = _sorted(classes[:, k], size)
        first = rng.integers(0, len(classes), (len(mine), pairs))
        value = classes[first, k]
        partner = firsts[value] + (rng.random(first.shape) * counts[value]).astype(np.int64)
        rows[mine] = np.stack([first, order[partner]], axis=2)
    return Plan(asked, rows)


def plan_even_pairs(
    classes: Integers, sizes: tuple[int, ...], votes: int, pairs: int, rng: np.random.Generator
) -> Plan:
    """As :func:`plan_pairs`, but all values that occur twice are equally likely and the two of a pair differ.

    Example:
        >>> plan = plan_even_pairs(np.array([[0], [0], [1], [1]]), (2,), 5, 3, np.random.default_rng(0))
        >>> bool((plan.rows[..., 0] != plan.rows[..., 1]).all())
        True

    """
    asked = rng.integers(0, len(sizes), votes)
    rows = np.empty((votes, pairs, 2), dtype=np.int64)
    for k, size in enumerate(sizes):
        mine = np.flatnonzero(asked == k)
        order, counts, firsts = _sorted(classes[:, k], size)
        values = _repeated(counts, k)[rng.integers(0, int(np.sum(counts > 1)), (len(mine), pairs))]
        one = (rng.random(values.shape) * counts[values]).astype(np.int64)
        step = 1 + (rng.random(values.shape) * (counts[values] - 1)).astype(np.int64)
        other = (one + step) % counts[values]
        rows[mine] = order[firsts[values][..., None] + np.stack([one, other], axis=2)]
    return Plan(asked, rows)


def plan_blocks(
    classes: Integers, sizes: tuple[int, ...], samples: int, rng: np.random.Generator, planner: Planner
) -> Plan | None:
    """``BLOCK_VOTES`` votes within each of ``BLOCKS`` disjoint blocks of the codes; None if the codes are too few.

    Example:
        >>> classes = np.arange(400)[:, None] % 2
        >>> plan = plan_blocks(classes, (2,), 5, np.random.default_rng(0), plan_groups)
        >>> plan.rows.shape, len(np.unique(plan.rows[:200])) <= 40
        ((2000, 5), True)

    """
    if len(classes) < 2 * BLOCKS * max(sizes):
        return None
    asked, rows = [], []
    for block in np.array_split(rng.permutation(len(classes)), BLOCKS):
        plan = planner(classes[block], sizes, BLOCK_VOTES, samples, rng)
        asked.append(plan.asked)
        rows.append(block[plan.rows])
    return Plan(np.concatenate(asked), np.concatenate(rows))


def independent_votes(accuracy: float, votes: int, of_blocks: NDArray[np.bool_] | None) -> float:
    """How many votes of fresh codes would determine the accuracy as well as ``votes`` votes of the given codes.

    Votes share codes, and codes are a sample themselves. With p the accuracy, the variance of the score is
    p (1 - p) / votes plus that due to the codes, which is the variance between blocks, less that of their votes, over
    the number of blocks. Student's t, with the degrees of freedom of Satterthwaite, allows for so few blocks.

    Args:
        accuracy: of the votes.
        votes: how many.
        of_blocks: which of the votes of :func:`plan_blocks` were right, or None if every vote has codes of its own.

    References:
        Satterthwaite 1946, "An approximate distribution of estimates of variance components".

    Example:
        >>> alike = np.tile(np.arange(200) < 160, 10)
        >>> independent_votes(0.8, 800, alike), round(independent_votes(0.8, 800, np.repeat([True, False], 1000)))
        (800.0, 4)

    """
    own = accuracy * (1 - accuracy) / votes
    if of_blocks is None or own == 0:
        return float(votes)
    each = of_blocks.reshape(BLOCKS, BLOCK_VOTES).mean(axis=1)
    by_chance = float(np.mean(each * (1 - each))) / (BLOCK_VOTES - 1)
    of_codes = max(0.0, float(np.var(each, ddof=1)) - by_chance) / BLOCKS
    if of_codes == 0:
        return float(votes)
    freedom = (BLOCKS - 1) * (1 + own / of_codes) ** 2
    return own * votes / (own + of_codes) * (1.96 / float(scipy.special.stdtrit(freedom, 0.975))) ** 2


class EncodeOnce:
    """An encoder of a data set's factors that never encodes the same factors twice.

    Args:
        encode: images -> means, or (means, scales), e.g. ``vae.codes``.
        dataset: with ``images(factors)``.
        block: images encoded at a time.

    Example:
        >>> from types import SimpleNamespace
        >>> asked = []
        >>> dataset = SimpleNamespace(images=lambda f: asked.extend(f.tolist()) or f)
        >>> once = EncodeOnce(lambda x: 2 * x, dataset)
        >>> once.rows(np.array([[1.0], [1.0], [3.0]])).tolist(), once.rows(np.array([[3.0]])).tolist(), asked
        ([0, 0, 1], [1], [[1.0], [3.0]])
    """

    def __init__(self, encode: Encode, dataset: Any, block: int = 1000) -> None:
        self.encode = encode
        self.dataset = dataset
        self.block = check_count("block", block, 1)
        self._known: dict[bytes, int] = {}
        self._means: list[NDArray[Any]] = []
        self._scales: list[NDArray[Any]] = []

    @property
    def means(self) -> Floats:
        """All codes so far, (encoded, latents)."""
        return np.concatenate(self._means).astype(np.float64)

    @property
    def scales(self) -> Floats | None:
        """Their standard deviations, if the encoder gives them."""
        return np.concatenate(self._scales).astype(np.float64) if self._scales else None

    def rows(self, factors: ArrayLike) -> Integers:
        """The row numbers in ``means`` of factors (n, K), which are encoded if they are new."""
        table = np.ascontiguousarray(factors)
        keys = [row.tobytes() for row in table.astype(np.float64)]
        new = {}
        for i, key in enumerate(keys):
            if key not in self._known and key not in new:
                new[key] = i
        chosen = np.fromiter(new.values(), np.int64, len(new))
        for start in range(0, len(chosen), self.block):
            coded = self.encode(self.dataset.images(table[chosen[start : start + self.block]]))
            means, scales = coded if isinstance(coded, tuple) else (coded, None)
            self._means.append(np.asarray(means))
            if scales is not None:
                self._scales.append(np.asarray(scales))
        for key in new:
            self._known[key] = len(self._known)
        return np.array([self._known[key] for key in keys], dtype=np.int64)

    def groups(self, votes: int, samples: int, rng: np.random.Generator) -> Plan:
        """As :func:`plan_groups`, drawn from the data set itself, continuous factors included."""
        asked, factors = self._fixed(votes, samples, rng)
        return Plan(asked, self.rows(factors.reshape(votes * samples, -1)).reshape(votes, samples))

    def pairs(self, votes: int, pairs: int, rng: np.random.Generator) -> Plan:
        """As :func:`plan_pairs`, drawn from the data set itself, continuous factors included."""
        asked, factors = self._fixed(votes * pairs, 2, rng, votes)
        rows = self.rows(factors.reshape(votes * pairs * 2, -1))
        return Plan(asked, rows.reshape(votes, pairs, 2))

    def _fixed(
        self, groups: int, samples: int, rng: np.random.Generator, votes: int | None = None
    ) -> tuple[Integers, NDArray[Any]]:
        """``groups`` groups of factors (groups, samples, K) that share the asked factor's value."""
        space = self.dataset.space
        able = [k for k, size in enumerate(space.sizes) if size != 1]
        asked = rng.integers(0, len(able), votes or groups)
        per_group = np.repeat(asked, groups // len(asked))
        values = self.dataset.evaluation(groups, rng)
        factors = np.stack([self.dataset.evaluation(groups, rng) for _ in range(samples)], axis=1)
        column = np.asarray(able)[per_group]
        every = np.arange(groups)
        factors[every, :, column] = values[every, column][:, None]
        for _ in range(100):
            out = np.asarray(self.dataset.held_out(factors.reshape(groups * samples, -1)), dtype=bool)
            wrong = np.flatnonzero(out)
            if len(wrong) == 0:
                return asked, factors
            flat = factors.reshape(groups * samples, -1)
            flat[wrong] = self.dataset.evaluation(len(wrong), rng)
            flat[wrong, column[wrong // samples]] = values[wrong // samples, column[wrong // samples]]
        raise UnweaveError(
            "the data set holds out nearly all images with a factor fixed: there is nothing to encode"
        )


def _repeated(counts: Integers, factor: int) -> Integers:
    """The values of a factor that occur twice or more."""
    usable = np.flatnonzero(counts > 1)
    if len(usable) == 0:
        raise UnweaveError(
            f"every value of factor {factor} occurs only once, so no two codes share it: encode more images"
        )
    return usable


def _sorted(column: Integers, size: int) -> tuple[Integers, Integers, Integers]:
    counts = np.bincount(column, minlength=size)
    return np.argsort(column, kind="stable"), counts, np.cumsum(counts) - counts


def draw_subsets(counts: Integers, samples: int, rng: np.random.Generator) -> Integers:
    """``samples`` numbers below each count, (votes, samples): distinct where the count allows it.

    Example:
        >>> sorted(draw_subsets(np.array([3]), 3, np.random.default_rng(0))[0].tolist())
        [0, 1, 2]

    """
    drawn = np.empty((len(counts), samples), dtype=np.int64)
    enough = counts >= samples
    drawn[~enough] = rng.integers(0, counts[~enough, None], (int(np.sum(~enough)), samples))
    drawn[enough] = _distinct(counts[enough], samples, rng)
    return drawn


def _distinct(counts: Integers, samples: int, rng: np.random.Generator) -> Integers:
    """A random subset of ``samples`` numbers below each count, (votes, samples); uniform over subsets."""
    chosen = np.empty((len(counts), samples), dtype=np.int64)
    near = counts < 4 * samples
    if near.any():
        # The first places of a random order of all numbers below the count.
        few = counts[near]
        keys = rng.random((len(few), int(few.max())), dtype=np.float32)
        keys[np.arange(keys.shape[1]) >= few[:, None]] = 2.0
        chosen[near] = np.argpartition(keys, samples - 1, axis=1)[:, :samples]
    rows = np.flatnonzero(~near)
    if len(rows) == 0:
        return chosen
    picked = (rng.random((len(rows), samples)) * counts[rows, None]).astype(np.int64)
    while len(rows):
        # Numbers drawn before are drawn again, which leaves every subset equally likely.
        picked.sort(axis=1)
        again = np.zeros(picked.shape, dtype=bool)
        np.equal(picked[:, 1:], picked[:, :-1], out=again[:, 1:])
        done = ~again.any(axis=1)
        chosen[rows[done]] = picked[done]
        rows, picked, again = rows[~done], picked[~done], again[~done]
        vote, place = np.nonzero(again)
        picked[vote, place] = (rng.random(len(vote)) * counts[rows[vote]]).astype(np.int64)
    return chosen
