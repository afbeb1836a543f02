"""The one shape in which every metric answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unweave.errors import UnweaveError


@dataclass(frozen=True)
class Score:
    """A measured number, how sure it is, what it may be, and what it was measured with.

    ``low`` and ``high`` bound the 95 % interval of ``value`` (``None`` where nothing was drawn at random).
    ``range`` holds the smallest and largest possible value (``None``: unbounded). ``constants`` holds every
    setting that changes the number, and the parts it was made of (per factor, per latent).

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

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def to_json(self) -> dict[str, Any]:
        """The score as a dictionary of plain lists, numbers and strings, ready for ``json.dumps``.

        Example:
            >>> Score("kl", 2.0, constants={"per_latent": np.array([1.5, 0.5])}).to_json()["constants"]
            {'per_latent': [1.5, 0.5]}

        """
        return {
            "name": self.name,
            "value": _plain(self.value),
            "low": _plain(self.low),
            "high": _plain(self.high),
            "range": list(self.range),
            "higher_is_better": self.higher_is_better,
            "reference": self.reference,
            "constants": {key: _plain(value) for key, value in self.constants.items()},
        }

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
        low, high = stored.get("range", (0.0, 1.0))
        return cls(
            name=str(stored["name"]),
            value=float("nan") if stored["value"] is None else float(stored["value"]),
            low=stored.get("low"),
            high=stored.get("high"),
            range=(low, high),
            higher_is_better=bool(stored.get("higher_is_better", True)),
            reference=str(stored.get("reference", "")),
            constants=dict(stored.get("constants", {})),
        )


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


def interval_of_mean(
    values: np.ndarray[Any, np.dtype[np.float64]],
) -> tuple[float, float | None, float | None]:
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
