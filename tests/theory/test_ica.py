"""ISA appendix B.7 and B.8: what mean-field inference does to over-complete components."""

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from unweave.theory.ica import Components, _Expected, fit_components


@pytest.fixture(scope="module")
def fits() -> dict[float, Components]:
    return {beta: fit_components(beta=beta, n=150, steps=80) for beta in (1.0, 5.0)}


def test_the_cross_entropy_is_the_integral() -> None:
    expected = _Expected(3.5)
    for mean, scale in ((0.0, 1.0), (2.0, 0.1), (-4.0, 2.5)):
        exact = integrate.quad(
            lambda z, m=mean, s=scale: stats.norm.pdf(z, m, s) * stats.t.logpdf(z, 3.5),
            mean - 12 * scale,
            mean + 12 * scale,
        )[0]
        got = expected(torch.tensor(mean).double(), torch.tensor(scale).double()).item()
        assert got == pytest.approx(exact, abs=2e-3)


def test_every_step_improves_the_free_energy(fits: dict[float, Components]) -> None:
    for fit in fits.values():
        assert (np.diff(fit.free_energy) > -1e-9).all()


def test_beta_five_prunes_a_component_and_beta_one_does_not(fits: dict[float, Components]) -> None:
    assert fits[5.0].lengths.min() < 0.01
    assert np.sort(fits[5.0].lengths)[1] > 0.5
    assert fits[1.0].lengths.min() > 0.5


def test_what_remains_is_more_orthogonal_than_the_truth(fits: dict[float, Components]) -> None:
    """The true components are 60 degrees apart as lines."""
    assert 60 < fits[1.0].angle() < 90
    assert fits[5.0].angle() == pytest.approx(90, abs=10)


def test_learning_starts_at_the_truth(fits: dict[float, Components]) -> None:
    for fit in fits.values():
        np.testing.assert_array_equal(fit.path[0], fit.true)
        np.testing.assert_allclose(np.linalg.norm(fit.true, axis=0), 1)


@pytest.mark.slow
def test_given_time_beta_one_prunes_too() -> None:
    """Not in the paper: its beta = 1 is on the way to the same solution, only much slower."""
    fit = fit_components(beta=1.0, n=150, steps=400)
    assert fit.lengths.min() < 0.05
