"""What an encoder makes of a sample of a data set, stored beside a run."""

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unweave import artefacts
from unweave.atomic import ARCHIVE_DAMAGE

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Codes:
    """What the encoder made of a sample of the data set, encoded once for all scores.

    ``means``, ``scales`` and ``kl`` (to the prior, in nats) are ``(n, latents)``; ``kl`` is ``(n, 1)``, the whole KL,
    if the prior does not factorise over latents. ``factors`` is ``(n, factors)`` or ``None``. ``nll`` is
    ``-log p(x|z)`` in nats of the first images, at a sample ``z`` of their posterior; empty if the model has no
    likelihood. ``step`` is the training step of the weights.

    Example:
        >>> zeros = np.zeros((2, 3))
        >>> Codes(means=zeros, scales=zeros + 1, kl=zeros, factors=None, nll=np.zeros(2), step=100).means.shape
        (2, 3)
    """

    means: Floats
    scales: Floats
    kl: Floats
    factors: NDArray[np.generic] | None
    nll: Floats
    step: int

    @property
    def varying_factors(self) -> NDArray[np.generic] | None:
        """The factors, unless they are unknown or the same in all images.

        Example:
            >>> zeros = np.zeros((2, 1))
            >>> Codes(zeros, zeros + 1, zeros, np.array([[3], [3]]), np.zeros(0), 1).varying_factors is None
            True
        """
        if self.factors is None or not np.any(self.factors != self.factors[0]):
            return None
        return self.factors

    def save(self, path: Path) -> None:
        """Write the arrays as an npz file."""
        arrays = {name: getattr(self, name) for name in ("means", "scales", "kl", "nll", "step")}
        if self.factors is not None:
            arrays["factors"] = self.factors
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        artefacts.write(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> "Codes | None":
        """The arrays of a file that :meth:`save` wrote, ``None`` if there is none; a damaged one is an error."""
        if not os.path.lexists(path):
            return None
        content = artefacts.read(path)
        with (
            artefacts.structure_of(path, *ARCHIVE_DAMAGE),
            np.load(io.BytesIO(content), allow_pickle=False) as file,
        ):
            factors = file.get("factors")
            codes = cls(file["means"], file["scales"], file["kl"], factors, file["nll"], int(file["step"]))
            counts = {len(rows) for rows in (codes.means, codes.scales, codes.kl)}
            if len(counts) > 1 or codes.means.ndim != 2 or codes.means.shape != codes.scales.shape:
                raise ValueError("its arrays are not of the same images")
            return codes
