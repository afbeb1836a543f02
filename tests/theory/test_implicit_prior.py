"""The prior that beta implies: DEC section 4 quotes Hoffman et al. 2017, checked here by quadrature."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Independent, Normal

from unweave.functional import Aggregate, aggregate, kl, pointwise_mutual_information

MEANS = torch.tensor([[-1.2], [0.3], [1.0]], dtype=torch.float64)
SCALES = torch.tensor([[0.85], [0.9], [0.8]], dtype=torch.float64)
GRID = torch.linspace(-14, 14, 40_001, dtype=torch.float64)


def integral(values: Tensor) -> Tensor:
    return torch.trapezoid(values, GRID, dim=-1)


@pytest.mark.parametrize("beta", [0.3, 1.0, 1.6])
def test_a_beta_vae_is_a_vae_with_another_prior(beta: float) -> None:
    """``beta E_x[KL(q(z|x) || p)] = E_x[KL(q(z|x) || r)] - (1 - beta) I(x; z) - log Z``, ``r = q^(1-beta) p^beta / Z``.

    The reconstruction is the same on both sides: the target is an ELBO with the prior ``r``, plus the information and
    the logarithm of the prior's constant. Three data points, one latent.
    """
    q = Independent(Normal(MEANS, SCALES), 1)
    p = Independent(Normal(torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)), 1)
    z = GRID[:, None]
    at: Aggregate = aggregate(q, z)
    unscaled = (1 - beta) * at.joint + beta * p.log_prob(z)
    log_z = integral(unscaled.exp()).log()
    each = torch.stack([Independent(Normal(m, s), 1).log_prob(z) for m, s in zip(MEANS, SCALES, strict=True)])
    to_r = integral(each.exp() * (each - (unscaled - log_z))).mean()
    information = torch.stack(
        [
            integral(row.exp() * pointwise_mutual_information(Independent(Normal(m, s), 1), z, at))
            for row, m, s in zip(each, MEANS, SCALES, strict=True)
        ]
    ).mean()
    to_p = kl(q, p, MEANS).mean()
    assert float(beta * to_p) == pytest.approx(float(to_r - (1 - beta) * information - log_z), abs=1e-9)
    if beta == 1:
        assert float(log_z) == pytest.approx(0, abs=1e-9)
    else:
        assert abs(float(log_z)) > 1e-2
        assert 0.1 < float(information) < math.log(3)
