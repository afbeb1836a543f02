"""Blurs of images, each channel on its own.

:func:`unweave.metrics.distances.box_blurred` is the box blur in numpy, because metrics must not import torch;
``tests/metrics/test_functional_parity.py`` checks that the two agree.
"""

import math
from typing import Literal

import torch
from torch import Tensor


def blur_profile(kind: Literal["box", "gaussian"], radius: int) -> Tensor:
    """The weights of a blur along one axis, ``(2 radius + 1,)``, which sum to 1.

    The box has equal weights; the Gaussian has standard deviation ``radius / 3`` and is cut at three deviations. The
    weights of a two-dimensional blur are the products of those of the two axes.

    Example:
        >>> blur_profile("box", 1)
        tensor([0.3333, 0.3333, 0.3333])
        >>> blur_profile("gaussian", 1)
        tensor([0.0109, 0.9783, 0.0109])
    """
    offsets = torch.arange(-radius, radius + 1, dtype=torch.float64)
    weights = (
        torch.ones_like(offsets) if kind == "box" or radius == 0 else (-4.5 * (offsets / radius) ** 2).exp()
    )
    return (weights / weights.sum()).float()


def blur(images: Tensor, profile: Tensor) -> Tensor:
    """``sum_rs profile[r] profile[s] images[i + r, j + s]`` with zeros outside the image, for every channel.

    This is the linear convolution of the zero-padded image, cropped to the image; it is not periodic. Along an axis of
    length ``n`` it is a product with a banded ``n x n`` matrix, which costs the same for a window of any size and is
    exact, whereas running sums lose digits and a direct convolution takes ``(2 radius + 1)^2`` operations a pixel.

    Args:
        images: ``(n, channels, height, width)``.
        profile: weights along one axis, odd length.

    Reference: REC Eq. 11.

    Example:
        >>> image = torch.zeros(1, 1, 5, 5)
        >>> image[..., 2, 2] = 9.0
        >>> blur(image, blur_profile("box", 1))[0, 0, 1]
        tensor([0., 1., 1., 1., 0.])
    """
    height, width = images.shape[-2:]
    return blur_with(images, blur_matrix(height, profile).to(images), blur_matrix(width, profile).to(images))


def blur_with(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """:func:`blur` with precomputed matrices of :func:`blur_matrix` for the height and the width.

    Example:
        >>> rows = blur_matrix(3, blur_profile("box", 1))
        >>> blur_with(torch.ones(1, 1, 3, 3), rows, rows)[0, 0, 1]
        tensor([0.6667, 1.0000, 0.6667])
    """
    return rows @ images.contiguous() @ columns.T


def blur_matrix(size: int, profile: Tensor) -> Tensor:
    """The matrix ``(size, size)`` whose row ``i`` holds the profile around column ``i``.

    Example:
        >>> blur_matrix(3, torch.tensor([0.25, 0.5, 0.25]))
        tensor([[0.5000, 0.2500, 0.0000],
                [0.2500, 0.5000, 0.2500],
                [0.0000, 0.2500, 0.5000]])
    """
    radius = len(profile) // 2
    offset = torch.arange(size, device=profile.device) - torch.arange(size, device=profile.device)[:, None]
    inside = offset.abs() <= radius
    return torch.where(inside, profile[(offset + radius).clamp(0, 2 * radius)], profile.new_zeros(()))


def window_area(radius: int) -> float:
    """``(2 radius + 1)^2`` pixels, the weight that REC gives to the blurred term: 63^2 for radius 31.

    Example:
        >>> window_area(31)
        3969.0
    """
    return float(math.pow(2 * radius + 1, 2))
