"""The density-ratio trick: a KL divergence from a classifier of samples (FAC section 3)."""

import torch
import torch.nn.functional as F
from torch import Tensor


def log_density_ratio(logits: Tensor) -> Tensor:
    """``log D(z) / (1 - D(z)) = logit_0 - logit_1``, ``(n,)``: the estimate of ``log q(z) / r(z)``.

    Logit 0 is that of "``z`` is from ``q``", logit 1 that of "from ``r``". The mean over ``z ~ q`` estimates
    ``KL(q || r)``; with ``r`` the product of ``q``'s marginals that is the total correlation.

    Reference: FAC Eq. 3.

    Example:
        >>> log_density_ratio(torch.tensor([[2.0, 0.5]]))
        tensor([1.5000])
    """
    return logits[:, 0] - logits[:, 1]


def discriminator_loss(of_q: Tensor, of_r: Tensor) -> Tensor:
    """``-1/2 (mean log D(z) + mean log(1 - D(z')))`` for the logits of ``z ~ q`` and of ``z' ~ r``.

    Reference: FAC algorithm 2, last line.

    Example:
        >>> discriminator_loss(torch.zeros(3, 2), torch.zeros(3, 2))  # log 2
        tensor(0.6931)
    """
    return -0.5 * (F.log_softmax(of_q, 1)[:, 0].mean() + F.log_softmax(of_r, 1)[:, 1].mean())


def discriminator_accuracy(of_q: Tensor, of_r: Tensor) -> Tensor:
    """Fraction of samples that the discriminator classifies correctly, with equal weight for both classes.

    Example:
        >>> discriminator_accuracy(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
        tensor(0.5000)
    """
    right, wrong = log_density_ratio(of_q) > 0, log_density_ratio(of_r) > 0
    return 0.5 * (right.float().mean() + 1 - wrong.float().mean())


def permute_dims(z: Tensor) -> Tensor:
    """Each latent permuted across the batch independently: samples of ``prod_j q(z_j)``.

    Reference: FAC algorithm 1.

    Example:
        >>> z = torch.arange(6.0).view(3, 2)
        >>> permute_dims(z).sort(0).values.equal(z)
        True
    """
    return z.gather(0, torch.rand_like(z).argsort(0))
