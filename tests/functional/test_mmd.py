import math
from functools import partial

import pytest
import torch
from torch import Tensor

from unweave.errors import UnweaveError
from unweave.functional.mmd import gaussian_kernel, inverse_multiquadratic, mmd, over_scales

KERNELS = {
    "imq": partial(inverse_multiquadratic, width=3.0),
    "imq plain": partial(inverse_multiquadratic, width=3.0, norm="plain"),
    "gaussian": partial(gaussian_kernel, width=3.0),
    "imq at two widths": over_scales(inverse_multiquadratic, [1.0, 4.0]),
}


def by_hand(name: str, x: Tensor, y: Tensor) -> float:
    square = sum((a - b) ** 2 for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return {
        "imq": 3 / (3 + square),
        "imq plain": 3 / (3 + math.sqrt(square)),
        "gaussian": math.exp(-square / 3),
        "imq at two widths": 1 / (1 + square) + 4 / (4 + square),
    }[name]


@pytest.mark.parametrize("name", KERNELS)
def test_mmd_equals_a_double_loop(name: str) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(5, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64) + 0.5
    among_x = sum(by_hand(name, x[i], x[j]) for i in range(5) for j in range(5) if i != j) / 20
    among_y = sum(by_hand(name, y[i], y[j]) for i in range(4) for j in range(4) if i != j) / 12
    between = sum(by_hand(name, a, b) for a in x for b in y) / 20
    assert mmd(x, y, KERNELS[name]).item() == pytest.approx(among_x + among_y - 2 * between, rel=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_mmd_is_zero_on_average_for_one_distribution_and_positive_for_two(name: str) -> None:
    torch.manual_seed(0)
    same = torch.stack([mmd(torch.randn(12, 3), torch.randn(9, 3), KERNELS[name]) for _ in range(1500)])
    error = same.std().item() / math.sqrt(1500)
    assert abs(same.mean().item()) < 4 * error
    assert (same < 0).any()  # a V-statistic, with the diagonal in it, never is
    other = torch.stack([mmd(torch.randn(12, 3), torch.randn(9, 3) + 1, KERNELS[name]) for _ in range(100)])
    assert other.mean().item() > 20 * error


@pytest.mark.parametrize("name", KERNELS)
def test_gradients_are_finite_even_where_points_coincide(name: str) -> None:
    x = torch.zeros(4, 3, requires_grad=True)
    mmd(x, torch.ones(4, 3), KERNELS[name]).backward()
    assert torch.isfinite(x.grad).all()


def test_a_single_point_is_refused_on_either_side() -> None:
    """There is no other point of the sample to compare it with: the mean over pairs would be 0 / 0."""
    one, two = torch.zeros(1, 2), torch.ones(2, 2)
    for x, y in ((one, two), (two, one)):
        with pytest.raises(UnweaveError, match="at least 2 points, got 1"):
            mmd(x, y, inverse_multiquadratic)
