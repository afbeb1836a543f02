"""DEC appendix C: the minibatch estimate of H[q(z)] is biased by up to log n, and the bias fades with the batch."""

import itertools
import math

import pytest
import torch
from scipy import stats
from torch.distributions import Independent, Normal

from unweave.theory.entropy import EntropyBias, entropy_bias, minibatch_entropy


@pytest.fixture(scope="module")
def bias() -> EntropyBias:
    return entropy_bias(n=2000, batch_sizes=(2, 8, 32, 128, 512, 2000), batches=60)


def test_the_estimate_is_equation_ten() -> None:
    torch.manual_seed(0)
    means, scales, z = torch.randn(5, 3).double(), torch.rand(5, 3).double() + 0.5, torch.randn(5, 3).double()
    densities = stats.norm.pdf(z[:, None], means, scales).prod(-1)
    n = 40
    expected = []
    for b in range(5):
        others = sum(densities[b, c] for c in range(5) if c != b)
        expected.append(-math.log(densities[b, b] / n + (n - 1) / (n * 4) * others))
    found = minibatch_entropy(Independent(Normal(means, scales), 1), z, n).item()
    assert found == pytest.approx(sum(expected) / 5)


def test_with_the_whole_data_set_there_is_no_bias(bias: EntropyBias) -> None:
    error = math.hypot(bias.errors[-1], bias.exact_error)
    assert abs(bias.estimates[-1] - bias.exact) < 4 * error


def test_the_bias_fades_with_the_batch(bias: EntropyBias) -> None:
    excess = [estimate - bias.exact for estimate in bias.estimates]
    assert all(a > b for a, b in itertools.pairwise(excess))
    assert excess[0] > 2 and excess[2] > 1 and excess[4] < 0.2


def test_small_batches_say_log_n_plus_the_entropy_of_an_encoding(bias: EntropyBias) -> None:
    """The offset: log 2000 = 7.6 nats above E_x H[q(z|x)], of which a tenth of a nat is left over."""
    assert bias.no_overlap - bias.estimates[0] == pytest.approx(0, abs=0.2)
    own = 4 * (0.5 * math.log(2 * math.pi * math.e) + math.log(0.25))
    assert bias.estimates[0] - own == pytest.approx(math.log(2000), abs=0.2)


def test_the_estimated_divergence_is_negative_where_the_true_one_is_not(bias: EntropyBias) -> None:
    assert bias.divergence > 0
    assert bias.divergence_estimates[0] < -1.5
    assert bias.divergence_estimates[-1] == pytest.approx(bias.divergence, abs=0.1)


def test_without_overlap_in_the_data_there_is_nothing_to_miss() -> None:
    narrow = entropy_bias(n=500, latents=8, deviation=0.001, batch_sizes=(2, 50), batches=400)
    for estimate, error in zip(narrow.estimates, narrow.errors, strict=True):
        assert abs(estimate - narrow.exact) < 4 * math.hypot(error, narrow.exact_error)
