"""The exclusive KL of DEC appendix C as a divergence of Eq. 7."""

import math
from pathlib import Path

import pytest
import torch
from torch.distributions import Independent, Normal

from unweave.errors import UnweaveError
from unweave.functional import mixture_weights, pointwise_exclusive_kl
from unweave.objectives import DecompositionVAE, Progress
from unweave.runs.config import Config
from unweave.runs.run import Run
from unweave.vae import VAE

SMALL = {"name": "MLP", "hidden": (6,)}


def test_all_data_the_same_is_the_kl_of_two_gaussians() -> None:
    q = Independent(Normal(torch.full((50, 2), 0.7).double(), torch.full((50, 2), 0.5).double()), 1)
    p = Independent(Normal(torch.zeros(2).double(), torch.ones(2).double()), 1)
    torch.manual_seed(0)
    z = q.rsample((4000,)).flatten(0, 1)
    exact = 2 * (0.5 * (0.25 + 0.49 - 1) - math.log(0.5))
    assert pointwise_exclusive_kl(p, q, z).mean().item() == pytest.approx(exact, abs=0.01)


def test_the_estimate_of_the_batch_is_equation_10() -> None:
    """``1/n q(z_b|x_b) + (n - 1) / (n (B - 1)) sum_b' q(z_b|x_b')``, written out."""
    generator = torch.Generator().manual_seed(0)
    means = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    q = Independent(Normal(means, torch.full_like(means, 0.4)), 1)
    z = means + 0.4 * torch.randn(4, 3, generator=generator, dtype=torch.float64)
    p, n = Independent(Normal(torch.zeros(3).double(), torch.ones(3).double()), 1), 100
    found = pointwise_exclusive_kl(p, q, z, mixture_weights("split", 4, n))
    for b in range(4):
        each = torch.stack(
            [Independent(Normal(m, torch.full_like(m, 0.4)), 1).log_prob(z[b]).exp() for m in means]
        )
        others = each.sum() - each[b]
        estimate = each[b] / n + (n - 1) / (n * 3) * others
        torch.testing.assert_close(found[b], estimate.log() - p.log_prob(z[b]))


def test_a_small_batch_of_codes_apart_gives_the_kl_of_the_bound_less_log_n() -> None:
    """DEC appendix C: the estimator mimics the beta-VAE up to log n, so it may be negative."""
    torch.manual_seed(0)
    vae = VAE.assemble((1, 8, 8), 12, encoder=SMALL, decoder=SMALL).double()
    with torch.no_grad():
        *_, last = vae.encoder.parameters()
        last[12:] = -6.0  # narrow encodings
        for weight in vae.encoder.parameters():
            if weight.ndim == 2:
                weight.mul_(4.0)
    objective = DecompositionVAE(divergence="exclusive_kl", dataset_size=10_000)
    images = torch.rand(4, 1, 8, 8, dtype=torch.float64)
    terms = objective(vae, images, Progress(0, 1)).terms
    z_kl = []
    for seed in range(200):
        torch.manual_seed(seed)
        z_kl.append(objective(vae, images, Progress(0, 1)).terms["exclusive_kl"])
    assert torch.stack(z_kl).mean().item() == pytest.approx(terms["kl"].item() - math.log(10_000), abs=1.0)


def test_with_all_data_the_mixture_is_that_of_all_data(tmp_path: Path) -> None:
    words = ["data=Pinwheel", "encoder=MLP", "decoder=MLP", "encoder.hidden=[4]", "decoder.hidden=[4]"]
    words += ["latents=2", "steps=3", "batch_size=8", "likelihood=Gaussian", "objective=DecompositionVAE"]
    words += ["objective.divergence=exclusive_kl", "prior=GaussianMixture"]
    values = {}
    for kind in ("batch", "data"):
        run = Run.create(Config.read(words=[*words, f"objective.aggregate={kind}"]), tmp_path / kind)
        run.train()
        values[kind] = run.history[0]["exclusive_kl"]
    assert values["data"] != values["batch"] and math.isfinite(values["data"])


def test_the_number_of_images_is_needed_for_the_batch() -> None:
    from unweave.data import Circles

    objective = DecompositionVAE(divergence="exclusive_kl")
    with pytest.raises(UnweaveError, match=r"set objective.dataset_size"):
        objective.prepare(Circles(size=16), 8)
