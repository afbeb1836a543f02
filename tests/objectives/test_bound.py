import copy

import pytest
import torch
from torch import Tensor

from unweave.errors import UnweaveError
from unweave.functional import averaged_to_summed
from unweave.objectives import AnnealedVAE, Averaged, BetaVAE, Objective, Progress
from unweave.vae import VAE

SHAPE = (1, 32, 32)


def vae_and_images() -> tuple[VAE, Tensor]:
    torch.manual_seed(0)
    return VAE.assemble(SHAPE, latents=3), torch.rand(4, *SHAPE)


def evaluated(objective: Objective, progress: Progress = Progress(0, 10)) -> tuple[float, dict[str, float]]:
    vae, images = vae_and_images()
    torch.manual_seed(1)
    loss = objective(vae.double(), images.double(), progress)
    return loss.total.item(), loss.logged()


def test_the_bound_is_reconstruction_plus_kl_computed_by_hand() -> None:
    vae, images = vae_and_images()
    torch.manual_seed(1)
    loss = BetaVAE()(vae, images, Progress(0, 1))
    torch.manual_seed(1)
    mean, log_variance = vae.encoder(images).chunk(2, dim=1)
    z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
    probability = vae.decoder(z).sigmoid()
    cross_entropy = (
        -(images * probability.log() + (1 - images) * (1 - probability).log()).sum((1, 2, 3)).mean()
    )
    divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1).mean()
    torch.testing.assert_close(loss.reconstruction, cross_entropy)
    torch.testing.assert_close(loss.terms["kl"], divergence)
    torch.testing.assert_close(loss.total, cross_entropy + divergence)
    torch.testing.assert_close(loss.terms["kl_per_latent"].sum(), divergence)


def test_beta_weighs_the_kl_and_nothing_else() -> None:
    three, terms = evaluated(BetaVAE(beta=3.0))
    one, _ = evaluated(BetaVAE(beta=1.0))
    zero, _ = evaluated(BetaVAE(beta=0.0))
    assert three - one == pytest.approx(2 * terms["kl"], rel=1e-12)
    assert zero == pytest.approx(terms["reconstruction"], rel=1e-12)


def test_gamma_weighs_the_distance_from_the_capacity() -> None:
    middle = Progress(step=25, steps=1000)
    three, terms = evaluated(AnnealedVAE(gamma=3.0, capacity=8.0, anneal_steps=100), middle)
    one, _ = evaluated(AnnealedVAE(gamma=1.0, capacity=8.0, anneal_steps=100), middle)
    assert terms["capacity"] == pytest.approx(2.0)
    assert three - one == pytest.approx(2 * abs(terms["kl"] - 2.0), rel=1e-9)


@pytest.mark.parametrize(("step", "capacity"), [(0, 0.0), (50, 4.0), (100, 8.0), (900, 8.0)])
def test_the_capacity_grows_in_a_line_and_stays(step: int, capacity: float) -> None:
    _, terms = evaluated(AnnealedVAE(capacity=8.0, anneal_steps=100), Progress(step, 1000))
    assert terms["capacity"] == pytest.approx(capacity)


def test_without_anneal_steps_the_capacity_is_reached_at_the_end_of_the_run() -> None:
    _, terms = evaluated(AnnealedVAE(capacity=8.0), Progress(500, 1000))
    assert terms["capacity"] == pytest.approx(4.0)


def test_capacity_zero_and_gamma_one_is_the_vae() -> None:
    assert evaluated(AnnealedVAE(gamma=1.0, capacity=0.0))[0] == pytest.approx(
        evaluated(BetaVAE())[0], rel=1e-12
    )


def test_averaged_has_the_gradient_of_the_converted_beta_divided_by_the_image_size() -> None:
    vae, images = vae_and_images()
    vae, images = vae.double(), images.double()
    other = copy.deepcopy(vae)
    beta = averaged_to_summed(0.01, SHAPE, 3)
    torch.manual_seed(1)
    Averaged(BetaVAE(beta=0.01))(vae, images, Progress(0, 1)).total.backward()
    torch.manual_seed(1)
    (BetaVAE(beta=beta)(other, images, Progress(0, 1)).total / 1024).backward()
    for ours, theirs in zip(vae.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BetaVAE(beta=-1.0), r"objective\.beta must be at least 0, got -1"),
        (lambda: AnnealedVAE(gamma=-2.0), r"objective\.gamma must be at least 0, got -2"),
        (lambda: AnnealedVAE(capacity=-2.0), r"objective\.capacity must be at least 0, got -2"),
        (lambda: AnnealedVAE(anneal_steps=-2), r"objective\.anneal_steps must be at least 0, got -2"),
    ],
)
def test_negative_weights_are_refused(make: object, message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        make()  # type: ignore[operator]
