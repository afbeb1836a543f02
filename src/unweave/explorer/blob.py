"""Many arrays in one block of bytes, of 16 or 32 bits a number."""

import math
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from unweave.errors import UnweaveError

Precision = Literal["fixed16", "float16", "float32"]
Array = NDArray[np.float64]


class NotPackable(UnweaveError):  # noqa: N818  a finding, not a fault: the page then shows frames
    """A model of which the page cannot compute the decoder; the message says why.

    Example:
        >>> raise NotPackable("decoder MyDecoder is not one of the built-in networks")
        Traceback (most recent call last):
        ...
        unweave.explorer.blob.NotPackable: decoder MyDecoder is not one of the built-in networks
    """


@final
class Blob:
    """A block of bytes that grows; each array is described by where it is and how it is stored.

    * ``fixed16``: whole numbers times a step for each output of the layer, a 4096th of the root mean square of its
      weights times ``coarseness`` (more if one of them is eight times as large as that). Weights are off by at most
      half a step.
    * ``float16``: divided by a power of two that puts the largest just below 32,768, so that neither large nor small
      ones are lost: each is rounded by at most one part in 2,048, unless it is 500 million times smaller than the
      largest. Of the large weights, which matter most, this keeps less.
    * ``float32``: as they are.

    Biases and constants are always float32: there are few.

    Args:
        precision: of the weights.

    Example:
        >>> blob = Blob("float16")
        >>> blob.weights(np.array([[1e6, -0.5e6]]), by_row=True)
        {'offset': 0, 'count': 2, 'type': 'float16', 'scale': 32.0}
        >>> blob.numbers(np.array([0.25]))
        {'offset': 4, 'count': 1, 'type': 'float32', 'scale': 1.0}
        >>> len(blob.content())
        8
    """

    def __init__(self, precision: Precision) -> None:
        self.precision = precision
        self._parts: list[bytes] = []
        self._length = 0

    def weights(self, values: Array, *, by_row: bool, coarseness: float = 1.0) -> dict[str, Any]:
        """Store weights; where they are.

        Args:
            values: of one layer.
            by_row: outputs come first, as in linear layers, else last.
            coarseness: of the steps of ``fixed16``.
        """
        if self.precision == "float32":
            return self.numbers(values)
        _require_finite(values)
        if self.precision == "fixed16":
            return self._fixed(values, by_row, coarseness)
        largest = float(np.abs(values).max(initial=0))
        scale = 2.0 ** (math.frexp(largest)[1] - 15) if largest else 1.0
        return self._append((values / scale).astype(np.float16), "float16", scale)

    def _fixed(self, values: Array, by_row: bool, coarseness: float) -> dict[str, Any]:
        table = values.reshape(len(values), -1) if by_row else values.reshape(-1, values.shape[-1])
        axis = 1 if by_row else 0
        size, largest = np.sqrt((table**2).mean(axis)), np.abs(table).max(axis)
        steps = np.maximum(size * (coarseness / 4096), largest / 32767)
        # the page has the steps in float32: what is divided by must be what it multiplies with
        steps = np.where(steps > 0, steps, 1.0).astype(np.float32).astype(np.float64)
        whole = np.rint(table / (steps[:, None] if by_row else steps)).clip(-32768, 32767).astype(np.int16)
        place = self._append(whole, "fixed16", 1.0)
        rows, columns = table.shape
        return {**place, "steps": self.numbers(steps), "rows": rows, "columns": columns, "by_row": by_row}

    def numbers(self, values: Array) -> dict[str, Any]:
        """Store an array as float32; where it is."""
        _require_finite(values)
        return self._append(values.astype(np.float32), "float32", 1.0)

    def __len__(self) -> int:
        return self._length

    def content(self) -> bytes:
        """All of it."""
        return b"".join(self._parts)

    def _append(self, array: NDArray[Any], kind: Precision, scale: float) -> dict[str, Any]:
        raw = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        offset = self._length
        padded = raw + bytes(-len(raw) % 4)  # every array starts where a float32 may
        self._parts.append(padded)
        self._length += len(padded)
        return {"offset": offset, "count": int(array.size), "type": kind, "scale": scale}


def _require_finite(values: Array) -> None:
    if not np.isfinite(values.astype(np.float32)).all():
        raise NotPackable("the weights of the model contain NaN or infinity: it diverged in training")
