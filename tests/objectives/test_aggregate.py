import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Independent, Normal

from unweave.data import Arrays, Circles
from unweave.errors import UnweaveError
from unweave.functional import kl
from unweave.functional.decomposition import half_log_determinant
from unweave.objectives import DIPVAE, BetaTCVAE, DecompositionVAE, InformationDropout, Objective, Progress
from unweave.training import train
from unweave.vae import VAE

LATENTS = 4
SHAPE = (1, 8, 8)
TINY = {"encoder": {"name": "MLP", "hidden": [8]}, "decoder": {"name": "MLP", "hidden": [8]}}


def vae_and_images(n: int = 24) -> tuple[VAE, Tensor]:
    vae = VAE.assemble(SHAPE, LATENTS, **TINY)
    with torch.no_grad():
        vae.encoder.linear[-1].weight.mul_(20)  # type: ignore[index, union-attr]
    return vae, torch.rand(n, *SHAPE)


@pytest.mark.parametrize("seed", range(5))
def test_dip_vae_one_and_two_equal_numpy_on_random_batches(seed: int) -> None:
    torch.manual_seed(seed)
    vae, images = vae_and_images()
    features = vae.encoder(images).detach().numpy().astype(np.float64)
    means, variances = features[:, :LATENTS], np.exp(features[:, LATENTS:])
    of_means = np.cov(means, rowvar=False, ddof=0)
    matrices = {"i": of_means, "ii": of_means + np.diag(variances.mean(axis=0))}
    for kind, matrix in matrices.items():
        loss = DIPVAE(kind=kind, lambda_od=3.0, lambda_d=5.0)(vae, images, Progress(0, 1))  # type: ignore[arg-type]
        off = (matrix**2).sum() - (np.diag(matrix) ** 2).sum()
        diagonal = ((np.diag(matrix) - 1) ** 2).sum()
        np.testing.assert_allclose(loss.terms["covariance_off_diagonal"].item(), off, rtol=1e-5)
        np.testing.assert_allclose(loss.terms["covariance_diagonal"].item(), diagonal, rtol=1e-5)
        rest = loss.reconstruction + loss.terms["kl"]
        np.testing.assert_allclose((loss.total - rest).item(), 3 * off + 5 * diagonal, rtol=1e-4)


@pytest.mark.parametrize("beta", [0.5, 2.0, 7.0])
def test_the_entropy_form_is_the_beta_vae_with_rescaled_codes(beta: float) -> None:
    """DEC corollary 1: ``L_beta = L' + (beta - 1)/2 log|S'| + c`` with means sqrt(beta) mu and covariances beta S."""
    torch.manual_seed(0)
    mean, scale = torch.randn(6, 3, dtype=torch.float64), torch.rand(6, 3, dtype=torch.float64) + 0.2
    prior = Independent(Normal(torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)), 1)
    q = Independent(Normal(mean, scale), 1)
    rescaled = Independent(Normal(math.sqrt(beta) * mean, math.sqrt(beta) * scale), 1)
    z = torch.zeros(6, 3)
    ours = -kl(rescaled, prior, z) + (beta - 1) * half_log_determinant(rescaled)
    log_f = 3 / 2 * ((1 - beta) * math.log(2 * math.pi) - math.log(beta))  # of the integral of p(z)^beta
    c = 3 * (beta - 1) / 2 * (1 + math.log(2 * math.pi / beta)) + log_f
    torch.testing.assert_close(-beta * kl(q, prior, z), ours + c)


def test_the_aggregate_of_all_data_is_asked_for_all_data() -> None:
    rng = np.random.default_rng(0)
    data = Arrays.from_arrays(rng.integers(0, 256, (30, 8, 8), dtype=np.uint8))
    torch.manual_seed(0)
    vae, images = vae_and_images(8)
    objective = DecompositionVAE(aggregate="data")
    objective.prepare(data, 8)
    torch.manual_seed(1)
    loss = objective(vae, images, Progress(0, 1))
    torch.manual_seed(1)
    vae(images)
    samples = vae.prior().rsample((8,))
    whole = torch.from_numpy(np.ascontiguousarray(data.at(np.arange(30)))).float() / 255
    q = vae.encode(whole)
    mixture = Normal(q.mean, q.stddev).log_prob(samples[:, None]).sum(2).logsumexp(1) - math.log(30)
    torch.testing.assert_close(loss.terms["inclusive_kl"], (vae.prior().log_prob(samples) - mixture).mean())


@pytest.mark.parametrize("objective", [BetaTCVAE(), InformationDropout()])
def test_the_size_of_the_data_set_is_its_own_or_asked_for(objective: Objective) -> None:
    with pytest.raises(UnweaveError, match=r"needs the number of images .* set objective\.dataset_size"):
        objective(*vae_and_images(), Progress(0, 1))
    vae = VAE.assemble((3, 32, 32), LATENTS, **TINY)
    with pytest.raises(
        UnweaveError, match=r"but Circles has none: set objective\.dataset_size, or .*=mixture"
    ):
        train(vae, objective, Circles(size=32), steps=1, batch_size=4)
    train(vae, type(objective)(dataset_size=1000), Circles(size=32), steps=1, batch_size=4)  # type: ignore[call-arg]
    train(vae, type(objective)(estimator="mixture"), Circles(size=32), steps=1, batch_size=4)  # type: ignore[call-arg]


def test_a_batch_larger_than_the_data_is_refused_before_the_first_step() -> None:
    data = Arrays.from_arrays(np.random.default_rng(0).integers(0, 256, (3, 8, 8), dtype=np.uint8))
    with pytest.raises(UnweaveError, match="mss needs a data set of at least batch - 1 = 7 images, got 3"):
        train(VAE.assemble(SHAPE, LATENTS, **TINY), BetaTCVAE(estimator="mss"), data, steps=1, batch_size=8)


def test_all_data_of_an_endless_set_are_refused() -> None:
    vae = VAE.assemble((3, 32, 32), LATENTS, **TINY)
    with pytest.raises(
        UnweaveError, match=r"Circles has no fixed number of them: set objective\.aggregate=batch"
    ):
        train(vae, DecompositionVAE(aggregate="data"), Circles(size=32), steps=1, batch_size=4)
