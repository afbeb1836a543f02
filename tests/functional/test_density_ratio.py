import math

import pytest
import torch
from torch.distributions import MultivariateNormal

from unweave.functional.density_ratio import (
    discriminator_accuracy,
    discriminator_loss,
    log_density_ratio,
    permute_dims,
)


def test_permuting_keeps_every_marginal_and_breaks_every_tie() -> None:
    torch.manual_seed(0)
    column = torch.randn(4000, 1)
    z = torch.cat([column, 2 * column, -column], 1)
    permuted = permute_dims(z)
    assert torch.equal(permuted.sort(0).values, z.sort(0).values)
    correlations = torch.corrcoef(permuted.T) - torch.eye(3)
    assert correlations.abs().max() < 4 / math.sqrt(4000)


def test_all_permutations_are_equally_likely() -> None:
    torch.manual_seed(0)
    z = torch.arange(3.0)[:, None].expand(3, 2000)
    counts: dict[tuple[float, ...], int] = {}
    for column in permute_dims(z).T.tolist():
        counts[tuple(column)] = counts.get(tuple(column), 0) + 1
    assert len(counts) == 6
    assert all(abs(count - 2000 / 6) < 4 * math.sqrt(2000 * 5 / 36) for count in counts.values())


def test_loss_and_accuracy_by_hand() -> None:
    of_q, of_r = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[0.0, 3.0], [0.0, 1.0]])

    def log_sigmoid(x: float) -> float:
        return -math.log1p(math.exp(-x))

    expected = -0.25 * (log_sigmoid(1) + log_sigmoid(-2) + log_sigmoid(3) + log_sigmoid(1))
    assert discriminator_loss(of_q, of_r).item() == pytest.approx(expected, rel=1e-6)
    assert discriminator_accuracy(of_q, of_r).item() == 0.75
    assert log_density_ratio(of_q).tolist() == [1.0, -2.0]


def test_the_best_discriminator_gives_the_total_correlation() -> None:
    """With logits log q and log prod q_j the estimate is that of the truth itself."""
    torch.manual_seed(0)
    q = MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 0.8], [0.8, 1.0]]))
    z = q.sample((50_000,))
    marginals = torch.distributions.Normal(0, 1).log_prob(z).sum(1)
    found = log_density_ratio(torch.stack([q.log_prob(z), marginals], 1))
    truth = -0.5 * math.log(1 - 0.64)
    assert abs(found.mean().item() - truth) < 4 * found.std().item() / math.sqrt(50_000)
