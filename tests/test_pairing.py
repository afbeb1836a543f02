from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Independent, Normal

from unweave.data import Arrays, XYSquares
from unweave.errors import UnweaveError
from unweave.objectives import BetaVAE, FactorVAE, Loss, Objective, Progress
from unweave.pairing import AdaGVAE, AdaMLVAE, Pairing
from unweave.training import train
from unweave.vae import VAE

TINY: dict[str, Any] = {"encoder": {"name": "MLP", "hidden": [8]}, "decoder": {"name": "MLP", "hidden": [8]}}


def posteriors(first: list[list[float]], second: list[list[float]], scale: Tensor | float = 1.0) -> Any:
    means = torch.tensor(first + second)
    return Independent(Normal(means, torch.as_tensor(scale).expand_as(means)), 1)


def test_a_pair_shares_exactly_the_latents_below_the_midpoint() -> None:
    """Unit variances: d_j = (mean difference)^2 / 2 = 0, 0.5, 2, 8 in pair 0 (threshold 4) and 2, 8, 4.5, 0.5 in 1."""
    q = posteriors([[0, 0, 0, 0], [0, 0, 0, 0]], [[0, 1, 2, 4], [2, 4, 3, 1]])
    paired = AdaGVAE()(q)
    expected = [
        [0, 0.5, 1, 0],
        [1, 0, 0, 0.5],
        [0, 0.5, 1, 4],
        [1, 4, 3, 0.5],
    ]  # 4.5 > (0.5 + 8) / 2: not shared
    assert paired.mean.tolist() == expected
    assert torch.equal(paired.stddev, torch.ones(4, 4))


def test_averages_by_hand() -> None:
    scale = torch.tensor([[1.0, 1.0], [3.0, 1.0]])
    q = posteriors([[0.0, 0.0]], [[0.5, 90.0]], scale)
    means, deviations = AdaGVAE()(q).mean, AdaGVAE()(q).stddev
    assert means[:, 0].tolist() == [0.25, 0.25]
    torch.testing.assert_close(deviations[:, 0] ** 2, torch.full((2,), (1 + 9) / 2))
    product = AdaMLVAE()(q)
    variance = 2 / (1 / 1 + 1 / 9)
    torch.testing.assert_close(product.stddev[:, 0] ** 2, torch.full((2,), variance))
    torch.testing.assert_close(product.mean[:, 0], torch.full((2,), variance / 2 * (0 / 1 + 0.5 / 9)))
    for paired in (AdaGVAE()(q), product):
        assert paired.mean[:, 1].tolist() == [0.0, 90.0]


def test_symmetric_and_one_sided_divergences_choose_differently() -> None:
    """Latent 0 widens from 0.1 to 1: KL(q1 || q2) = 1.81, KL(q2 || q1) = 47.2. Latent 1 moves: 5 both ways."""
    scale = torch.tensor([[0.1, 1.0, 1.0], [1.0, 1.0, 1.0]])
    q = posteriors([[0.0, 0.0, 0.0]], [[0.0, 10**0.5, 0.0]], scale)
    first, second = Normal(q.mean[:1], scale[:1]), Normal(q.mean[1:], scale[1:])
    one_sided = AdaGVAE(divergence="one_sided").shared(first, second)
    assert one_sided.tolist() == [[True, False, True]]  # 1.81, 5, 0: threshold 2.5
    assert AdaGVAE().shared(first, second).tolist() == [[False, True, True]]  # 24.5, 5, 0: threshold 12.3


def test_the_distance_is_equation_14() -> None:
    """Just above and just below the midpoint of 0 and the largest, computed from the closed form of the KL."""

    def symmetric(scale: float) -> float:
        log = np.log(scale)
        return 0.5 * ((log + 0.5 / scale**2 - 0.5) + (-log + 0.5 * scale**2 - 0.5))

    largest = symmetric(4.0)
    scales = np.linspace(1, 4, 2001)
    middle = scales[np.argmin(np.abs([symmetric(s) - largest / 2 for s in scales]))]
    for scale, shares in ((middle - 0.01, True), (middle + 0.01, False)):
        scale = torch.tensor([[1.0, 1.0, 1.0], [1.0, scale, 4.0]])
        mask = AdaGVAE().shared(Normal(torch.zeros(1, 3), scale[:1]), Normal(torch.zeros(1, 3), scale[1:]))
        assert mask.tolist() == [[True, shares, False]]


class Watch(Objective):
    """Keeps the images of a step and the posteriors that the VAE makes of them."""

    def __init__(self, batches: int = 1) -> None:
        super().__init__()
        self.batches = batches
        self.seen: list[Tensor] = []

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        self.seen.append(images)
        return BetaVAE()(vae, images.chunk(self.batches)[0], progress)


def pixels() -> Arrays:
    """4 x 4 images whose first three pixels are the three factors, of 4 values each."""
    factors = np.stack(np.meshgrid(range(4), range(4), range(4), indexing="ij"), -1).reshape(-1, 3)
    images = np.zeros((64, 4, 4), np.uint8)
    images[:, 0, :3] = 60 * factors + 1
    return Arrays.from_arrays(images, factors, ["a", "b", "c"])


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("batches", [1, 2])
def test_the_loop_hands_over_pairs_that_differ_in_k_factors(k: int, batches: int) -> None:
    vae = VAE.assemble((1, 4, 4), 2, **TINY, pairing=AdaGVAE(k=k))
    objective = Watch(batches)
    train(vae, objective, pixels(), steps=3, batch_size=10)
    for images in objective.seen:
        assert len(images) == 20 * batches
        for batch in images.chunk(batches):
            first, second = batch[:, 0, 0, :3].chunk(2)
            assert ((first != second).sum(1) == k).all()


def test_k_is_drawn_evenly_if_it_is_not_given() -> None:
    vae = VAE.assemble((1, 4, 4), 2, **TINY, pairing=AdaGVAE())
    objective = Watch()
    train(vae, objective, pixels(), steps=1, batch_size=3000)
    first, second = objective.seen[0][:, 0, 0, :3].chunk(2)
    counts = torch.bincount((first != second).sum(1), minlength=4)
    assert counts[0] == 0
    assert (counts[1:] - 1000).abs().max() < 4 * (3000 * 2 / 9) ** 0.5


@pytest.mark.parametrize("pairing", [AdaGVAE(), AdaMLVAE()])
def test_codes_are_paired_in_training_and_never_elsewhere(pairing: Pairing) -> None:
    torch.manual_seed(0)
    vae = VAE.assemble((1, 4, 4), 5, **TINY, pairing=pairing).train()
    plain = VAE(vae.encoder, vae.posterior, vae.prior, vae.decoder, vae.likelihood)
    images = torch.rand(6, 1, 4, 4)
    q, _, _ = vae(images)
    torch.testing.assert_close(q.mean, pairing(plain.encode(images)).mean)
    assert not torch.equal(q.mean, plain.encode(images).mean)
    assert torch.equal(vae.encode(images).mean, plain.encode(images).mean)
    vae.eval()
    assert torch.equal(vae(images).q.mean, plain.encode(images).mean)


def test_a_shared_latent_has_one_posterior_but_two_samples() -> None:
    torch.manual_seed(0)
    vae = VAE.assemble((1, 4, 4), 5, **TINY, pairing=AdaGVAE()).train()
    q, z, _ = vae(torch.rand(2, 1, 4, 4))
    same = q.mean[0] == q.mean[1]
    assert same.any()
    assert (z[0] != z[1]).all()


def test_data_without_factors_cannot_be_paired() -> None:
    data = Arrays.from_arrays(np.zeros((5, 4, 4), np.uint8) + np.arange(5, dtype=np.uint8)[:, None, None] + 1)
    vae = VAE.assemble((1, 4, 4), 2, **TINY, pairing=AdaGVAE())
    with pytest.raises(
        UnweaveError, match="pairing AdaGVAE needs pairs that differ in known factors, but Arrays"
    ):
        train(vae, BetaVAE(), data, steps=1, batch_size=2)


def test_more_changes_than_factors_are_refused() -> None:
    vae = VAE.assemble((1, 4, 4), 2, **TINY, pairing=AdaMLVAE(k=4))
    with pytest.raises(UnweaveError, match="k"):
        train(vae, BetaVAE(), pixels(), steps=1, batch_size=2)
    with pytest.raises(UnweaveError, match=r"pairing\.k must be at least 1, got 0"):
        AdaGVAE(k=0)


@pytest.mark.parametrize("divergence", ["symmetric", "one_sided"])
def test_pairs_compose_with_a_critic(divergence: Literal["symmetric", "one_sided"]) -> None:
    vae = VAE.assemble((3, 64, 64), 3, **TINY, pairing=AdaGVAE(divergence=divergence))
    objective = FactorVAE(3, critic_layers=1, critic_width=8)
    assert train(vae, objective, XYSquares(), steps=2, batch_size=4).status == "finished"
