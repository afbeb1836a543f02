"""Largest singular values of large matrices."""

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
