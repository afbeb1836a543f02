"""Metrics inside anyone's loop: collect codes batch by batch, then score them."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.errors import UnweaveError
from unweave.metrics.metric import ARRAYS, Encoded
from unweave.metrics.registry import MetricLike, score_all
from unweave.metrics.score import Score


class Accumulator:
    """Collects codes, factors and scales of batches, numpy arrays or torch tensors on any device, and scores them.

    The scores are those of :func:`unweave.metrics.score_all` on all batches at once: a score of few codes is biased, so
    a mean of scores of batches would be another number.

    Args:
        metrics: as for :func:`unweave.metrics.resolve_metric`; by default the standard ones whose needs are met.
        seed: of all draws.
        interval: whether to compute intervals.

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8)), -1).reshape(-1, 2)
        >>> collected = Accumulator(["mig"])
        >>> for half in (v[:32], v[32:]):
        ...     _ = collected.update(half * 1.0, half)
        >>> round(collected.compute()["mig"].value, 6), collected.reset().samples
        (1.0, 0)
    """

    def __init__(
        self, metrics: Iterable[MetricLike] | None = None, *, seed: int = 0, interval: bool = True
    ) -> None:
        self.metrics = None if metrics is None else list(metrics)
        self.seed, self.interval = seed, interval
        self._parts: dict[str, list[NDArray[Any]]] = {}

    @property
    def samples(self) -> int:
        """How many codes were collected."""
        return sum(len(part) for part in self._parts.get("codes", []))

    def update(self, codes: Any, factors: Any = None, scales: Any = None) -> "Accumulator":
        """Add a batch: codes (n, latents), and factors (n, K) and scales (n, latents) if they are known.

        Example:
            >>> Accumulator().update([[0.0], [1.0]]).samples
            2
        """
        given = {"codes": codes, "factors": factors, "scales": scales}
        batch = {name: _array(given[name]) for name in ARRAYS if given[name] is not None}
        if self._parts and set(batch) != set(self._parts):
            raise UnweaveError(
                f"every batch must have the same arrays, {', '.join(self._parts)} before, got {', '.join(batch)}"
            )
        for name, array in batch.items():
            earlier = self._parts.get(name)
            if array.ndim != 2 or (earlier and array.shape[1] != earlier[0].shape[1]):
                expected = earlier[0].shape[1] if earlier else "columns"
                raise UnweaveError(f"{name} of a batch must be (n, {expected}), got {array.shape}")
            if len(array) != len(batch["codes"]):
                raise UnweaveError(
                    f"{name} must have a row for each of {len(batch['codes'])} codes, got {len(array)}"
                )
        for name, array in batch.items():
            self._parts.setdefault(name, []).append(array)
        return self

    def compute(self) -> dict[str, Score]:
        """The scores of all batches since the last reset.

        Example:
            >>> Accumulator(["hoyer"]).update([[3.0, 0.0], [0.0, 2.0]]).compute()["hoyer"].value > 0.5
            True
        """
        if not self._parts:
            raise UnweaveError("there are no codes to score: call update(codes, factors) first")
        whole = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        encoded = Encoded.of(whole["codes"], whole.get("factors"), whole.get("scales"))
        return score_all(encoded, self.metrics, seed=self.seed, interval=self.interval)

    def reset(self) -> "Accumulator":
        """Forget all batches.

        Example:
            >>> Accumulator().update([[0.0]]).reset().samples
            0
        """
        self._parts = {}
        return self


def _array(values: Any) -> NDArray[Any]:
    """A copy, so that a caller may reuse its memory; tensors are detached and brought to the processor."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        # numpy has no bfloat16, which mixed precision computes with; float32 holds its numbers exactly.
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    return np.array(values)
