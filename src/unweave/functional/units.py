"""The two conventions for beta, summed and averaged losses, and the conversion between them."""

import math


def averaged_to_summed(beta: float, image_shape: tuple[int, ...], latents: int) -> float:
    r"""The beta of the summed loss that has the same minimiser as ``beta`` of the averaged loss.

    Paper REC takes means over the ``D`` image elements and over the ``L`` latents,
    ``reconstruction / D + beta * KL / L``. Multiplied by ``D`` this is ``reconstruction + (beta * D / L) * KL``.

    Reference: REC appendix B.1.

    Example:
        >>> averaged_to_summed(0.001, (1, 64, 64), 8)
        0.512
    """
    return beta * math.prod(image_shape) / latents


def summed_to_averaged(beta: float, image_shape: tuple[int, ...], latents: int) -> float:
    """The inverse of :func:`averaged_to_summed`: ``beta * L / D``.

    Reference: REC appendix B.1.

    Example:
        >>> summed_to_averaged(0.512, (1, 64, 64), 8)
        0.001
    """
    return beta * latents / math.prod(image_shape)
