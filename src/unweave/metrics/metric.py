"""What a metric is: the arrays that it reads, and what a metric of one's own must provide."""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.score import Score
from unweave.metrics.validation import Floats, check_codes, check_pair, check_scales
from unweave.slots import convert

ARRAYS = ("codes", "factors", "scales")
"""The arrays that a metric may need."""

_ALIASES = {"means": "codes"}
"""What else functions call an array."""

_NOT_OPTIONS = (*ARRAYS, *_ALIASES, "rng", "encode", "dataset", "once", "tell")
"""Parameters of metrics that are not options."""


@dataclass(frozen=True)
class Encoded:
    """What metrics look at: codes (n, latents), and factors (n, K) and scales (n, latents) if they are known.

    ``factor_names`` and ``latent_names`` say what the columns are called. Nothing can depend on a factor with a single
    value: such factors are left out, and ``constant`` has their names.

    Example:
        >>> sorted(Encoded.of([[0.1], [0.2]], [[0], [1]]).has)
        ['codes', 'factors']
    """

    codes: Floats
    factors: NDArray[Any] | None = None
    scales: Floats | None = None
    factor_names: tuple[str, ...] = ()
    latent_names: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What is known of the latents, by the name of the parameter of a metric: ``discrete``, ``prior_variances``."""

    @classmethod
    def of(
        cls,
        codes: ArrayLike,
        factors: ArrayLike | None = None,
        scales: ArrayLike | None = None,
        *,
        factor_names: Sequence[str] | None = None,
        latent_names: Sequence[str] | None = None,
    ) -> "Encoded":
        """Checked arrays; columns without a name are called by their number.

        Example:
            >>> encoded = Encoded.of([[0.1], [0.2]], [[0, 5], [1, 5]], factor_names=["shape", "size"])
            >>> encoded.factor_names, encoded.constant
            (('shape',), ('size',))
        """
        if factors is None:
            z = check_codes(codes)
            latents = _names("latent_names", latent_names, "latent", z.shape[1])
            return cls(z, None, None if scales is None else check_scales(scales, z), (), latents)
        z, table = check_pair(codes, factors)
        latents = _names("latent_names", latent_names, "latent", z.shape[1])
        names = _names("factor_names", factor_names, "factor", table.shape[1])
        varies = np.any(table != table[0], axis=0)
        if not varies.any():
            raise UnweaveError("every factor has a single value in all samples: sample more widely")
        return cls(
            z,
            table[:, varies],
            None if scales is None else check_scales(scales, z),
            tuple(name for name, known in zip(names, varies, strict=True) if known),
            latents,
            tuple(name for name, known in zip(names, varies, strict=True) if not known),
        )

    @property
    def has(self) -> frozenset[str]:
        """Names of the arrays that are present."""
        return frozenset(name for name in ARRAYS if getattr(self, name) is not None)


def _names(argument: str, given: Sequence[str] | None, kind: str, count: int) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{kind} {k}" for k in range(count))
    if len(given) != count:
        raise UnweaveError(f"{argument} must hold {count} names, one for each column, got {len(given)}")
    return tuple(map(str, given))


class AnyMetric(ABC):
    """What all metrics declare, those computed from codes (:class:`Metric`) and those computed from a model.

    Attributes:
        name: of the metric; it also seeds its random numbers.
        labels: score -> how tables and pages call it, for every score that the metric gives.
        sentence: what the scores say, in one sentence.
        standard: whether it is computed when no metric is named; counts for the metrics of ``METRICS`` only.

    Example:
        >>> from unweave.metrics import METRICS
        >>> isinstance(METRICS["mig"], AnyMetric), METRICS["mig"].labels["mig"]
        (True, 'MIG')
    """

    name: str
    sentence: str = ""
    standard: bool = True

    suffix: str = ""
    """Behind the names of its scores: the options that are not the defaults."""

    @property
    def labels(self) -> Mapping[str, str]:
        """By default one score that has the name of the metric."""
        return {self.name: self.name.replace("_", " ")}

    @property
    def options(self) -> "dict[str, Option]":
        """The options of the metric: the parameters of its constructor."""
        return options_of_function(type(self))

    def with_options(self, given: Mapping[str, Any]) -> "AnyMetric":
        """The metric with other options; its scores have them in their names.

        Example:
            >>> from unweave.metrics import METRICS
            >>> METRICS["mig"].with_options({"bins": "30"}).suffix
            ' bins=30'
        """
        changed = self.changed_options(given)
        made = type(self)(**changed) if changed else self
        made.__dict__["suffix"] = suffix_of(changed)
        return made

    def changed_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options as their types have them, without those that are the defaults."""
        declared = self.options
        for key in given:
            if key not in declared:
                raise unknown(f"option of the metric {self.name}", key, declared)
        values = {
            key: convert(f"{self.name}.{key}", value, declared[key].hint) for key, value in given.items()
        }
        return {key: value for key, value in values.items() if value != declared[key].default}

    def named(self, answer: Score | dict[str, Score]) -> dict[str, Score]:
        """The scores of an answer by their names, options included."""
        found = {answer.name: answer} if isinstance(answer, Score) else answer
        if not isinstance(found, dict) or not all(isinstance(score, Score) for score in found.values()):
            raise UnweaveError(
                f"{self.name} must answer with a Score or a dictionary of them, got {answer!r}"
            )
        return {name + self.suffix: score for name, score in found.items()}


class Metric(AnyMetric):
    """A metric that needs codes only. Three things must be provided, the rest has defaults.

    * ``name``: of the metric, and (without ``labels``) of its score;
    * ``needs``: which of "codes", "factors" and "scales" must be known;
    * :meth:`compute`: the score, or several by name.

    Pass an instance, the class, ``"package.module:Class"`` or ``"path/to/file.py:Class"`` wherever metrics are named.

    Example:
        >>> from unweave.metrics import score_all
        >>> class Spread(Metric):
        ...     name = "spread"
        ...     needs = frozenset({"codes"})
        ...     def compute(self, encoded, rng):
        ...         return Score(self.name, float(encoded.codes.std()), range=(0.0, None))
        >>> score_all(Encoded.of([[-1.0], [1.0]]), [Spread])["spread"].value
        1.0
    """

    needs: frozenset[str]

    @abstractmethod
    def compute(self, encoded: Encoded, rng: np.random.Generator) -> Score | dict[str, Score]:
        """The score of ``encoded``, which has what the metric needs; ``rng`` is the source of all draws."""


Answer = Score | dict[str, Score] | float
"""What a function may answer that is used as a metric."""


@final
class FunctionMetric(Metric):
    """A function of ``codes``, ``factors``, ``scales`` and ``rng`` as a metric.

    The names of its parameters declare its needs: a parameter without a default must be known, one with a default is
    passed if it is known, and ``interval`` says whether intervals are wanted. Parameters with other names keep their
    defaults. A plain number becomes a :class:`Score`.

    Args:
        function: answers with a score, several scores by name, or a number.
        name: of the metric; that of the function by default.
        labels: score -> label.
        sentence: what the scores say.
        standard: whether it is computed when no metric is named.
        chosen: options that are not the function's defaults.

    Example:
        >>> def largest(codes):
        ...     return codes.max()
        >>> metric = FunctionMetric(largest)
        >>> metric.name, sorted(metric.needs), metric.compute(Encoded.of([[3.0]]), np.random.default_rng(0)).value
        ('largest', ['codes'], 3.0)
    """

    def __init__(
        self,
        function: Callable[..., Answer],
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        sentence: str = "",
        standard: bool = True,
        chosen: Mapping[str, Any] | None = None,
    ) -> None:
        self.function = function
        self.chosen = dict(chosen or {})
        self.suffix = suffix_of(self.chosen)
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self.sentence = sentence
        self.standard = standard
        self._labels = labels
        parameters = _parameters(function, self.name)
        self._passed = list(parameters)
        required = {_ALIASES.get(key, key) for key, p in parameters.items() if p.default is p.empty}
        if wrong := sorted(required - {*ARRAYS, "rng", "interval"}):
            raise UnweaveError(
                f"{self.name} cannot be used as a metric: its parameter {wrong[0]} has no default and is none of "
                f"{', '.join(ARRAYS)}, rng"
            )
        self.needs = frozenset(required & set(ARRAYS))

    def __repr__(self) -> str:
        return f"FunctionMetric({self.name + self.suffix!r})"

    @property
    def options(self) -> "dict[str, Option]":
        """The keyword arguments of the function that are not arrays."""
        return options_of_function(self.function)

    def with_options(self, given: Mapping[str, Any]) -> "FunctionMetric":
        """The same function with other options."""
        chosen = self.changed_options(given)
        return FunctionMetric(self.function, self.name, self._labels, self.sentence, self.standard, chosen)

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of the scores."""
        return super().labels if self._labels is None else self._labels

    def compute(
        self, encoded: Encoded, rng: np.random.Generator, *, interval: bool = True
    ) -> Score | dict[str, Score]:
        """The answer of the function; ``interval`` is passed on if it has such a parameter."""
        known = {
            **encoded.facts,
            "interval": interval,
            "codes": encoded.codes,
            "factors": encoded.factors,
            "scales": encoded.scales,
            "rng": rng,
            **self.chosen,
        }
        passed = {key: known.get(_ALIASES.get(key, key)) for key in self._passed}
        answer = self.function(**{key: value for key, value in passed.items() if value is not None})
        if isinstance(answer, Score | dict):
            return answer
        try:
            return Score(self.name, float(answer), range=(None, None))
        except (TypeError, ValueError):
            raise UnweaveError(
                f"{self.name} must answer with a Score, a dictionary of them or a number, got {type(answer).__name__}"
            ) from None


class Option(NamedTuple):
    """An option of a metric: its type and its default.

    Example:
        >>> Option(int, 20).default
        20
    """

    hint: Any
    default: Any


def options_of_function(function: Callable[..., Any]) -> dict[str, Option]:
    """The options that the signature of a function or class declares: what is no array, no model and no callback.

    Example:
        >>> def score(codes, factors, *, bins: int = 20): ...
        >>> options_of_function(score)
        {'bins': Option(hint=<class 'int'>, default=20)}
    """
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = get_type_hints(function.__init__ if isinstance(function, type) else function)  # type: ignore[misc]
    except (TypeError, ValueError, NameError):
        return {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        p.name: Option(hints.get(p.name, Any), p.default)
        for p in parameters
        if p.kind in named
        and p.name not in _NOT_OPTIONS
        and p.default is not p.empty
        and not callable(p.default)
    }


def suffix_of(options: Mapping[str, Any]) -> str:
    """Options behind the name of a score.

    Example:
        >>> suffix_of({"mode": "disent", "votes": 100}), suffix_of({})
        (' mode=disent votes=100', '')
    """
    return "".join(
        f" {key}={json.dumps(value) if not isinstance(value, str) else value}"
        for key, value in options.items()
    )


def _parameters(function: Callable[..., Answer], name: str) -> dict[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise UnweaveError(f"{name} cannot be used as a metric: its parameters are not known") from None
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {key: p for key, p in parameters.items() if p.kind not in several}
