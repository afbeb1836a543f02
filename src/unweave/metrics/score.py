"""The form in which every metric answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NotRequired, TypedDict

import numpy as np
import scipy

from unweave.errors import UnweaveError
from unweave.metrics.validation import Floats

AT_THIS_NUMBER = "the mean over samples of this number of codes, not the value of infinitely many"
"""What an interval covers that is not of the value of infinitely many codes."""
SINGLE_FACTOR = "there is a single factor, so that every latent serves it alone: it says nothing of the codes"
SINGLE_LATENT = (
    "there is a single latent, so that every factor sits in it alone: it says nothing of the codes"
)


@dataclass(frozen=True)
class Score:
    """A measured number, its interval, its range, and the settings it was measured with.

    ``low`` and ``high`` bound the 95 % interval of ``value`` (``None`` where there is none; ``no_interval`` says why).
    ``range`` holds the smallest and largest possible value (``None``: unbounded). ``constants`` holds every
    setting that changes the number, and the parts it was made of (per factor, per latent).

    ``value`` follows the definition to the letter. Where that is known to be biased for so few samples, ``corrected``
    holds the value less its bias with its own interval, (value, low, high); if the plain value lies outside of that
    interval, it has none itself.

    ``covers`` says what the interval covers in 95 of 100 samples if that is not the value of infinitely many codes.

    Example:
        >>> score = Score("mig", 0.25, 0.2, 0.3, reference="Chen et al. 2018", constants={"bins": 20})
        >>> float(score), str(score)
        (0.25, '0.250 [0.200, 0.300]')
        >>> Score.from_json(score.to_json()) == score
        True

    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    range: tuple[float | None, float | None] = (0.0, 1.0)
    higher_is_better: bool = True
    reference: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict)
    corrected: tuple[float, float, float] | None = None
    no_interval: str = ""
    covers: str = ""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3f}{self._correction()}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def _correction(self) -> str:
        if self.corrected is None:
            return ""
        return " (corrected {:.3f} [{:.3f}, {:.3f}])".format(*self.corrected)

    def without_interval(self) -> "Score":
        """The value alone.

        Example:
            >>> str(Score("mig", 0.25, 0.2, 0.3).without_interval())
            '0.250'

        """
        return replace(self, low=None, high=None, corrected=None, covers="")

    def to_json(self) -> dict[str, Any]:
        """The score as a dictionary of plain lists, numbers and strings, ready for ``json.dumps``.

        Example:
            >>> Score("kl", 2.0, constants={"per_latent": np.array([1.5, 0.5])}).to_json()["constants"]
            {'per_latent': [1.5, 0.5]}

        """
        absent = {
            "corrected": self.corrected is None,
            "no_interval": not self.no_interval,
            "covers": not self.covers,
        }
        return {name: _plain(value) for name, value in vars(self).items() if not absent.get(name)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Score":
        """The score that :meth:`to_json` wrote.

        Example:
            >>> Score.from_json({"name": "mig", "value": 0.5}).range
            (0.0, 1.0)

        """
        missing = {"name", "value"} - set(stored)
        if missing:
            raise UnweaveError(
                f"a stored score needs name and value, {sorted(missing)} is missing: measure it again"
            )
        known = {each.name: stored[each.name] for each in fields(cls) if each.name in stored}
        known["value"] = float("nan") if stored["value"] is None else float(stored["value"])
        known["range"] = tuple(stored.get("range", (0.0, 1.0)))
        if stored.get("corrected") is not None:
            known["corrected"] = tuple(stored["corrected"])
        return cls(**known)


def _plain(value: Any) -> Any:
    """JSON knows neither arrays nor numpy scalars, and has no NaN or infinity: those become null."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def interval_of_mean(values: Floats) -> tuple[float, float | None, float | None]:
    """Mean of ``values`` (n,) and its 95 % interval, mean +- 1.96 sd / sqrt(n); no interval for one value.

    Example:
        >>> interval_of_mean(np.array([1.0, 1.0, 1.0]))
        (1.0, 1.0, 1.0)
        >>> interval_of_mean(np.array([1.0]))
        (1.0, None, None)

    """
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None, None
    half = 1.96 * float(np.std(values, ddof=1)) / float(np.sqrt(len(values)))
    return mean, mean - half, mean + half


def wilson(right: float, total: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion: unlike +- 1.96 standard errors it has width at 0 and 1.

    Example:
        >>> [round(end, 3) for end in wilson(800, 800)]
        [0.995, 1.0]

    """
    z, p = 1.96, right / total
    centre = (p + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z / (1 + z**2 / total) * np.sqrt(p * (1 - p) / total + z**2 / (4 * total**2))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def clipped(value: float, half: float, range: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
    """The ends of ``value +- half`` that lie in the range of the score.

    Example:
        >>> clipped(0.75, 0.5)
        (0.25, 1.0)

    """
    low, high = np.clip([value - half, value + half], *range).tolist()
    return low, high


class Span(TypedDict):
    """The fields of a :class:`Score` that say how far it can be trusted.

    Example:
        >>> Score("x", 0.5, **Span(low=0.4, high=0.6, corrected=None, no_interval="")).high
        0.6
    """

    low: float | None
    high: float | None
    corrected: tuple[float, float, float] | None
    no_interval: str
    covers: NotRequired[str]


def span_of(value: float, centre: float, low: float, high: float) -> Span:
    """The interval of a biased value: that of the corrected one, ``centre``, and the value's own if it lies inside.

    Example:
        >>> span_of(0.5, 0.52, 0.45, 0.6)["low"], span_of(0.4, 0.52, 0.45, 0.6)["low"]
        (0.45, None)

    """
    if low - 1e-9 <= value <= high + 1e-9:  # but for rounding
        low, high = min(low, value), max(high, value)
        return Span(low=low, high=high, corrected=(centre, low, high), no_interval="")
    why = "the plain value is biased by more than its error: see the corrected one"
    return Span(low=None, high=None, corrected=(centre, low, high), no_interval=why)


def no_span(why: str = "") -> Span:
    """No interval, and why not.

    Example:
        >>> Score("irs", 0.5, **no_span("a value has few codes")).no_interval
        'a value has few codes'

    """
    return Span(low=None, high=None, corrected=None, no_interval=why)


def decided_by_one(effect: Floats) -> bool:
    """Whether one of n effects makes up more than a twentieth (of fewer than 700: 35 / n) of their variance.

    The standard error of a sample with such tails says little of other samples.

    Example:
        >>> decided_by_one(np.append(np.zeros(999), 1.0)), decided_by_one(np.tile([0.0, 1.0], 500))
        (True, False)

    """
    squares = (effect - effect.mean()) ** 2
    return bool(squares.max() > max(0.05, 35 / len(effect)) * squares.sum() > 0)


def interval_of_terms(
    value: float, terms: Floats, range: tuple[float, float] = (0.0, 1.0)
) -> tuple[float, float]:
    """The 95 % interval of a score that is the mean of independent ``terms`` (n,), clipped to its range.

    Where all terms agree the interval is that of a proportion of 0 or 1 of as many trials (Wilson's), which has width.

    Example:
        >>> [round(end, 2) for end in interval_of_terms(0.5, np.array([0.0, 1.0] * 50))]
        [0.4, 0.6]

    """
    n = len(terms)
    half = 1.96 * float(np.std(terms)) / float(np.sqrt(n))
    if half == 0:
        half = 1.96**2 / (n + 1.96**2) * (range[1] - range[0])
    return clipped(value, half, range)


def interval_of_held_out(
    terms: Floats, of_halves: Sequence[Floats], range: tuple[float, float] = (0.0, 1.0)
) -> tuple[float, float]:
    """The 95 % interval of the mean of ``terms`` (n,), one for each held-out code, of predictors that were trained.

    Other training codes would have made other predictors: ``of_halves`` holds the terms (n,) of predictors trained on
    random halves of the training codes. The variance is that of the terms over n, plus that between predictors, which
    is the variance of the halves' means, less what the codes on which they differ add to it by chance. Student's t has
    Satterthwaite's degrees of freedom. Without halves the predictors count as given.

    References:
        Satterthwaite 1946, "An approximate distribution of estimates of variance components";
        McCarthy 1969, "Pseudo-replication: half samples".

    Example:
        >>> terms = np.array([0.0, 1.0] * 50)
        >>> [round(end, 2) for end in interval_of_held_out(terms, [terms, terms, terms])]
        [0.4, 0.6]
        >>> [round(end, 2) for end in interval_of_held_out(terms, [terms - 0.1, terms, terms + 0.1])]
        [0.15, 0.85]

    """
    n, value = len(terms), float(np.mean(terms))
    own = float(np.var(terms)) / n
    if own == 0 or n < 2 or len(of_halves) < 2:
        return interval_of_terms(value, terms, range)
    x = np.stack(of_halves)
    means = x.mean(axis=1)
    by_chance = float(np.mean(np.var(x - means[:, None], axis=0, ddof=1))) / (n - 1)
    of_predictors = max(0.0, float(np.var(means, ddof=1)) - by_chance)
    quantile = 1.96
    if of_predictors > 0:
        quantile = float(scipy.special.stdtrit((len(x) - 1) * (1 + own / of_predictors) ** 2, 0.975))
    return clipped(value, quantile * float(np.sqrt(own + of_predictors)), range)
