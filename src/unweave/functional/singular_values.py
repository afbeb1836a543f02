"""Largest singular values of large matrices, and principal components of data that do not fit into memory."""

from collections.abc import Iterable

import torch
from torch import Tensor


def singular_values(matrix: Tensor, rank: int, *, extra: int = 20, passes: int = 8, seed: int = 0) -> Tensor:
    """The ``rank`` largest singular values of a matrix ``(n, m)``, largest first, by a randomised range finder.

    ``Q`` spans ``(A A^T)^passes A G`` for a Gaussian ``G`` of ``rank + extra`` columns, orthonormalised after every
    product; the singular values of the small ``Q^T A`` are those of ``A`` up to a relative error that falls
    geometrically with ``passes``. Zeros are appended if ``A`` has fewer than ``rank`` singular values. The result does
    not depend on the global random generator.

    Reference: Halko, Martinsson and Tropp 2011, algorithms 4.4 and 5.1.

    Example:
        >>> singular_values(torch.diag(torch.tensor([3.0, 1.0, 2.0])), 2).round(decimals=4)
        tensor([3., 2.])
    """
    columns = min(rank + extra, *matrix.shape)
    generator = torch.Generator().manual_seed(seed)
    sketch = torch.randn(matrix.shape[1], columns, generator=generator).to(matrix)
    basis = torch.linalg.qr(matrix @ sketch).Q
    for _ in range(passes):
        basis = torch.linalg.qr(matrix.T @ basis).Q
        basis = torch.linalg.qr(matrix @ basis).Q
    values: Tensor = torch.linalg.svdvals(basis.T @ matrix)[:rank]
    return torch.cat([values, values.new_zeros(rank - len(values))])


def principal_variances(blocks: Iterable[Tensor], rank: int) -> Tensor:
    """The ``rank`` largest variances of data along their principal components, largest first, exactly.

    Only the matrix of second moments is kept, ``(features, features)`` in double precision. Zeros are appended if there
    are fewer than ``rank`` features.

    Args:
        blocks: the data in parts ``(n, ...)``; what follows the first axis is one observation.
        rank: how many.

    Example:
        >>> data = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        >>> principal_variances(data.split(3), 2)
        tensor([2.0000, 0.5000])
    """
    count, total, moment = 0, torch.zeros(()), torch.zeros(())
    for block in blocks:
        rows = block.flatten(1)
        count += len(rows)
        total = total + rows.double().sum(0)
        moment = moment + (rows.T @ rows).double()
    mean = total / count
    values = torch.linalg.eigvalsh(moment / count - torch.outer(mean, mean)).flip(0)[:rank].clamp(min=0)
    return torch.cat([values, values.new_zeros(rank - len(values))]).float()
