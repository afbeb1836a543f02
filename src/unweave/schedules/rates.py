"""Schedules of the learning rate alone."""

import math
from typing import final

from unweave.errors import UnweaveError
from unweave.objectives import Progress
from unweave.schedules.core import Schedule


@final
class Constant(Schedule):
    """The same learning rate at every step, after a warm-up if one is asked for.

    Args:
        warmup: steps in which the rate grows linearly to its full value.

    Example:
        >>> [Constant(warmup=3).rate(Progress(step, 10)) for step in (0, 1, 3, 9)]
        [0.25, 0.5, 1.0, 1.0]
    """

    def __init__(self, *, warmup: int = 0) -> None:
        self.warmup = check_warmup(warmup)

    def rate(self, progress: Progress) -> float:
        """1, or less during the warm-up."""
        return warm_up(progress, self.warmup)


@final
class Linear(Schedule):
    """A constant rate until the fraction ``hold`` of all steps, then a straight line to ``final`` times the rate.

    Args:
        warmup: steps in which the rate grows linearly to its full value.
        hold: fraction of all steps after which it falls.
        final: the factor at the end.

    Example:
        >>> [round(Linear(hold=0.5).rate(Progress(step, 10)), 3) for step in (0, 5, 6, 9)]
        [1.0, 1.0, 0.802, 0.208]
    """

    def __init__(self, *, warmup: int = 0, hold: float = 0.0, final: float = 0.01) -> None:
        self.warmup, self.hold, self.final = check_warmup(warmup), *check_fall(hold, final)

    def rate(self, progress: Progress) -> float:
        """The line."""
        return warm_up(progress, self.warmup) * line(progress, self.hold, self.final)


@final
class Cosine(Schedule):
    """A constant rate until the fraction ``hold`` of all steps, then half a cosine to ``final`` times the rate.

    Args:
        warmup: steps in which the rate grows linearly to its full value.
        hold: fraction of all steps after which it falls.
        final: the factor at the end.

    Example:
        >>> [round(Cosine(final=0.0).rate(Progress(step, 10)), 3) for step in (0, 5, 9)]
        [1.0, 0.5, 0.024]
    """

    def __init__(self, *, warmup: int = 0, hold: float = 0.0, final: float = 0.01) -> None:
        self.warmup, self.hold, self.final = check_warmup(warmup), *check_fall(hold, final)

    def rate(self, progress: Progress) -> float:
        """The cosine."""
        left = line(progress, self.hold, 0.0)
        return warm_up(progress, self.warmup) * (
            self.final + (1 - self.final) * (1 - math.cos(math.pi * left)) / 2
        )


def warm_up(progress: Progress, length: int) -> float:
    """From ``1 / (length + 1)`` linearly to 1, which is reached at step ``length``.

    Example:
        >>> warm_up(Progress(0, 10), 0)
        1.0
    """
    return min(1.0, (progress.step + 1) / (length + 1))


def line(progress: Progress, hold: float, final: float) -> float:
    """1 until the fraction ``hold`` of all steps, then a straight line to ``final``.

    Example:
        >>> line(Progress(75, 100), hold=0.5, final=0.0)
        0.5
    """
    left = min(1.0, (1 - progress.fraction) / (1 - hold))
    return final + (1 - final) * left


def check_warmup(warmup: int) -> int:
    """The steps of a warm-up, or the sentence that says what is wrong.

    Example:
        >>> check_warmup(50)
        50
    """
    if warmup < 0:
        raise UnweaveError(f"schedule.warmup must be at least 0, got {warmup}")
    return warmup


def check_fall(hold: float, final: float) -> tuple[float, float]:
    """Where a rate begins to fall and where it ends, or the sentence that says what is wrong.

    Example:
        >>> check_fall(1.0, 0.5)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: schedule.hold must be at least 0 and less than 1, got 1
    """
    if not 0 <= hold < 1:
        raise UnweaveError(f"schedule.hold must be at least 0 and less than 1, got {hold:g}")
    if not 0 <= final <= 1:
        raise UnweaveError(f"schedule.final must be from 0 to 1, got {final:g}")
    return hold, final
