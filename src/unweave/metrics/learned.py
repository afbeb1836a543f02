"""Scores of predictors that are trained on some codes and tested on others, and their intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from unweave.metrics.score import Span, clipped, interval_of_terms, no_span, span_of
from unweave.metrics.validation import Floats, Integers, split_samples

FEWEST = 20
"""Codes of a value, held out or trained on, below which it is not known what more of them would teach."""


@dataclass(frozen=True)
class Trial:
    """Codes and the classes of their factors, split into those that train predictors and those that test them.

    Args:
        codes: (n, latents).
        classes: (n, K).
        train: rows to train on.
        held_out: rows to test on.
        rng: of further splits.

    Example:
        >>> trial = Trial.of(np.zeros((9, 2)), np.zeros((9, 1), int), np.random.default_rng(0), 1 / 3)
        >>> len(trial.train), len(trial.held_out), [len(half) for half in trial.halves()]
        (6, 3, [3, 3])
    """

    codes: Floats
    classes: Integers
    train: Integers
    held_out: Integers
    rng: np.random.Generator

    @classmethod
    def of(cls, codes: Floats, classes: Integers, rng: np.random.Generator, test: float) -> "Trial":
        """A random split with the share ``test`` held out."""
        return cls(codes, classes, *split_samples(len(codes), rng, test), rng)

    def halves(self) -> tuple[Integers, Integers]:
        """Two complementary halves of the training rows."""
        order = self.rng.permutation(self.train)
        return order[: len(order) // 2], order[len(order) // 2 :]

    def random_half(self) -> Integers:
        """A random half of the training rows."""
        return self.rng.permutation(self.train)[: len(self.train) // 2]

    def fewest(self, *parts: Integers) -> int:
        """The smallest number of codes that a value of a factor has in one of the parts, which hold rows."""
        sizes = self.classes.max(axis=0) + 1
        return min(
            int(np.bincount(column[rows], minlength=size).min())
            for rows in parts
            for column, size in zip(self.classes.T, sizes, strict=True)
        )


Tested = tuple[float, Floats]
"""A score of predictors, and the effect of each held-out code on it, (held out,) up to a constant."""


def span_of_learned(trial: Trial, whole: Tested, test: Callable[[Integers], Tested]) -> Span:
    """The interval of a score of predictors on held-out codes, for predictors trained on infinitely many codes.

    A value with fewer than 20 codes on either side leaves none; see :func:`learned_interval` for the rest.

    Args:
        trial: the codes.
        whole: the score of predictors of all training codes.
        test: the score of predictors of the given rows.

    Example:
        >>> trial = Trial.of(np.zeros((9, 2)), np.zeros((9, 1), int), np.random.default_rng(0), 1 / 3)
        >>> span_of_learned(trial, (0.5, np.zeros(3)), lambda rows: (0.5, np.zeros(3)))["no_interval"]
        'a value has fewer than 20 codes to train or test on'

    """
    if trial.fewest(trial.train, trial.held_out) < FEWEST:
        return no_span(f"a value has fewer than {FEWEST} codes to train or test on")
    return learned_interval(whole, [test(half) for half in trial.halves()])


def learned_interval(whole: Tested, of_halves: Sequence[Tested]) -> Span:
    """The interval of a score for predictors trained on infinitely many codes, from those of two halves.

    What training codes are lacking costs about c / n, so V + c / n is the score in the limit, and that of a half of the
    codes is V - c / n: the corrected value is V + (V - mean of two halves). To first order the two halves differ from
    the whole by opposite amounts, so their training adds no error; by how much they differ shows what other training
    codes would have changed, a variance of (V_a - V_b)^2 / 4, known with one degree of freedom. The held-out codes add
    the variance of their effects on the corrected value. Student's t has Satterthwaite's degrees of freedom. If the
    correction is more than two standard errors the law cannot be relied upon, and there is no interval.

    Args:
        whole: V, and the effect of each held-out code on it.
        of_halves: likewise of predictors of each of two complementary halves of the training codes.

    References:
        Satterthwaite 1946, "An approximate distribution of estimates of variance components".

    Example:
        >>> effect = np.array([-0.5, 0.5] * 50)
        >>> span = learned_interval((0.5, effect), [(0.49, effect), (0.49, effect)])
        >>> [round(end, 3) for end in span["corrected"]]
        [0.51, 0.412, 0.608]

    """
    (value, effect), ((a, effect_a), (b, effect_b)) = whole, of_halves
    gained, n = value - (a + b) / 2, len(effect)
    if abs(gained) > 2 * float(np.std(effect)) / float(np.sqrt(n)):
        return no_span("predictors of more codes would do better by more than the error")
    centre = float(np.clip(value + gained, 0.0, 1.0))
    own = float(np.var(2 * effect - (effect_a + effect_b) / 2)) / n
    if own == 0:
        return span_of(value, centre, *interval_of_terms(centre, effect))
    of_training, quantile = (a - b) ** 2 / 4, 1.96
    if of_training > 0:
        quantile = float(scipy.special.stdtrit((1 + own / of_training) ** 2, 0.975))
    return span_of(value, centre, *clipped(centre, quantile * float(np.sqrt(own + of_training))))
