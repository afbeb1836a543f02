"""Blurs of images, each channel on its own."""

import math
from typing import Literal

import torch
from torch import Tensor


def blur_profile(kind: Literal["box", "gaussian"], radius: int) -> Tensor:
    """The weights of a blur along one axis, ``(2 radius + 1,)``, which sum to 1.

    The box is even; the Gaussian has standard deviation ``radius / 3``, so that it ends at three of them. The blur of
    an image is the product of the two axes' weights.

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

    This is the linear convolution (what a Fourier transform of zero-padded images gives) cut to the image: light that
    leaves over the edge is lost, nothing comes back on the other side. Along an axis of length ``n`` it is a product
    with a banded ``n x n`` matrix, which costs the same for a window of any size and is exact, where running sums
    lose digits and a direct convolution takes ``(2 radius + 1)^2`` operations a pixel.

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
    return blur_by(images, band(height, profile).to(images), band(width, profile).to(images))


def blur_by(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The same with the matrices of :func:`band` for height and width made beforehand.

    Example:
        >>> rows = band(3, blur_profile("box", 1))
        >>> blur_by(torch.ones(1, 1, 3, 3), rows, rows)[0, 0, 1]
        tensor([0.6667, 1.0000, 0.6667])
    """
    return rows @ images.contiguous() @ columns.T


def band(size: int, profile: Tensor) -> Tensor:
    """The matrix ``(size, size)`` whose row ``i`` holds the profile around column ``i``.

    Example:
        >>> band(3, torch.tensor([0.25, 0.5, 0.25]))
        tensor([[0.5000, 0.2500, 0.0000],
                [0.2500, 0.5000, 0.2500],
                [0.0000, 0.2500, 0.5000]])
    """
    radius = len(profile) // 2
    offset = torch.arange(size, device=profile.device) - torch.arange(size, device=profile.device)[:, None]
    inside = offset.abs() <= radius
    return torch.where(inside, profile[(offset + radius).clamp(0, 2 * radius)], profile.new_zeros(()))


def kernel_area(radius: int) -> float:
    """``(2 radius + 1)^2``, the weight that REC gives the blurred term: 63^2 for radius 31.

    Example:
        >>> kernel_area(31)
        3969.0
    """
    return float(math.pow(2 * radius + 1, 2))
