"""DEC figure 3: the batched computation against one model at a time, and the pattern of the paper."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal

from unweave.functional import aggregate
from unweave.theory.pinwheel import _LogAggregate, ablation


def test_the_aggregate_and_its_gradient() -> None:
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(9, 7, 2, generator=generator, dtype=torch.float64, requires_grad=True)
    log_variance = torch.randn(9, 7, 2, generator=generator, dtype=torch.float64, requires_grad=True)
    z = torch.randn(11, 2, generator=generator, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda m, v: _LogAggregate.apply(m, v, z), (mean, log_variance))
    got = _LogAggregate.apply(mean, log_variance, z)
    for k in range(9):
        q = Independent(Normal(mean[k], (0.5 * log_variance[k]).exp()), 1)
        expected = torch.logsumexp(q.log_prob(z[:, None]), 1) - math.log(7)
        torch.testing.assert_close(aggregate(q, z).joint, expected)
        torch.testing.assert_close(got[k], expected.mean())


def test_models_do_not_touch_each_other() -> None:
    """A model trained in a batch ends where it ends alone."""
    together = ablation(alphas=(0.0, 2.0), betas=(0.1, 1.0), seeds=2, steps=5)
    alone = ablation(alphas=(2.0,), betas=(1.0,), seeds=2, steps=5)
    np.testing.assert_allclose(together.means[1, 1], alone.means[0, 0], atol=1e-5)
    np.testing.assert_allclose(together.scales[1, 1], alone.scales[0, 0], atol=1e-5)


def test_overlap_and_mismatch_are_what_they_are_called() -> None:
    done = ablation(alphas=(1.0,), betas=(0.3,), seeds=1, steps=30)
    mean, scale = done.means[0, 0, 0], done.scales[0, 0, 0]
    rng = np.random.default_rng(0)
    z = mean + scale * rng.standard_normal(mean.shape)
    densities = np.exp(-0.5 * (((z[:, None] - mean) / scale) ** 2).sum(-1)) / (2 * np.pi * scale.prod(-1))
    information = np.log(np.diag(densities) / densities.mean(1)).mean()
    assert done.overlap[0, 0, 0] == pytest.approx(len(mean) * np.exp(-information), rel=0.15)
    points = np.stack(np.meshgrid(*[np.linspace(-4, 5, 181)] * 2), -1).reshape(-1, 2)
    q = done.density(0, 0, 0, points)
    area = (9 / 180) ** 2
    assert q.sum() * area == pytest.approx(1, abs=0.02)
    p = sum(
        0.25 / (2 * np.pi * 0.03) * np.exp(-0.5 * ((points - np.array([a, b])) ** 2).sum(-1) / 0.03)
        for a in (0, 1)
        for b in (0, 1)
    )
    exact = (p * (np.log(p + 1e-300) - np.log(q + 1e-300))).sum() * area
    assert done.mismatch[0, 0, 0] == pytest.approx(exact, abs=0.05)


def test_overlap_grows_with_beta_and_the_match_with_alpha() -> None:
    """A corner of the figure, one seed; the whole of it is the slow test."""
    done = ablation(alphas=(0.0, 5.0), betas=(0.01, 0.3, 1.2), seeds=1, steps=250)
    assert (np.diff(done.overlap[..., 0], axis=1) > 0).all()
    assert (np.diff(done.mismatch[..., 0], axis=0) < 0).all()


@pytest.mark.slow
@pytest.mark.timeout(7200)  # two minutes of a core, an hour beside fifteen busy processes
def test_the_pattern_of_figure_three() -> None:
    done = ablation()
    assert done.overlap.shape == (5, 5, 4)
    overlap, mismatch = np.log(done.overlap).mean(-1), done.mismatch.mean(-1)
    assert (np.diff(overlap, axis=1) > 0).all()  # at every alpha, over the seeds
    falls = np.diff(mismatch, axis=0) < 0
    # At beta 0.6 two seeds have not finished after the paper's 500 epochs and match worse at alpha 8 than at 5.
    assert falls[:3].all() and falls[3, [0, 1, 2, 4]].all()
    longer = ablation(alphas=(5.0, 8.0), betas=(0.6,), steps=2000)
    assert (np.diff(longer.mismatch, axis=0) < 0).all()  # the twentieth step too, for every seed
