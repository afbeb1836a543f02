"""ISA appendix B.2 to B.6: closed forms against sampling, and what mean-field inference does to degenerate models."""

import math

import numpy as np
import pytest

from unweave.theory.factor_analysis import FactorAnalysis, example, over_complete


def random_model(seed: int = 0) -> tuple[FactorAnalysis, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 3))
    return FactorAnalysis(rng.standard_normal((3, 2)), np.array([0.3, 0.5, 0.9]), x.T @ x / 40, 40), x


def test_the_likelihood_is_that_of_the_gaussian() -> None:
    from scipy.stats import multivariate_normal

    model, x = random_model()
    law = multivariate_normal(np.zeros(3), model.weights @ model.weights.T + np.diag(model.noise))
    assert model.log_likelihood() == pytest.approx(law.logpdf(x).sum())


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_reconstruction_and_divergence_are_what_sampling_says(beta: float) -> None:
    model, x = random_model()
    rng = np.random.default_rng(1)
    mean = x @ model.recognition(beta).T
    scale = np.sqrt(np.diag(model.mean_field_covariance(beta)))
    z = mean + scale * rng.standard_normal((20_000, 40, 2))
    error = x - z @ model.weights.T
    each = -0.5 * (error**2 / model.noise + np.log(2 * np.pi * model.noise)).sum((1, 2))
    assert abs(each.mean() - model.reconstruction(beta)) < 4 * each.std() / math.sqrt(len(each))
    closed = 0.5 * (mean**2 + scale**2 - 1 - 2 * np.log(scale)).sum()
    assert model.divergence(beta) == pytest.approx(closed)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_no_other_mean_field_posterior_has_a_larger_free_energy(beta: float) -> None:
    """The closed form is the maximum over means R x + d and diagonal variances."""
    model, x = random_model()

    def free_energy(recognition: np.ndarray, variances: np.ndarray) -> float:
        mean = x @ recognition.T
        error = ((x - mean @ model.weights.T) ** 2 / model.noise).sum()
        error += len(x) * (variances * (model.weights**2 / model.noise[:, None]).sum(0)).sum()
        reconstruction = -0.5 * (error + len(x) * np.log(2 * np.pi * model.noise).sum())
        rate = 0.5 * (mean**2).sum() + 0.5 * len(x) * (variances - 1 - np.log(variances)).sum()
        return reconstruction - beta * rate

    best_r, best_v = model.recognition(beta), np.diag(model.mean_field_covariance(beta))
    assert free_energy(best_r, best_v) == pytest.approx(model.free_energy(beta))
    rng = np.random.default_rng(2)
    for _ in range(50):
        other = free_energy(
            best_r + 0.05 * rng.standard_normal(best_r.shape), best_v * np.exp(0.1 * rng.standard_normal(2))
        )
        assert other < model.free_energy(beta)


def test_the_gap_is_the_divergence_to_the_true_posterior() -> None:
    model, _ = random_model()
    true, found = model.posterior_covariance(), model.mean_field_covariance()
    gap = 0.5 * (
        np.trace(np.linalg.solve(true, found)) - 2 + np.log(np.linalg.det(true) / np.linalg.det(found))
    )
    assert model.log_likelihood() - model.free_energy() == pytest.approx(40 * gap)


def test_turning_the_weights_changes_the_free_energy_and_not_the_likelihood() -> None:
    model = example()
    for angle in np.linspace(0, 2 * np.pi, 73):
        turned = model.rotated(angle)
        assert turned.log_likelihood() == pytest.approx(model.log_likelihood(), abs=1e-9)
        quarter = abs(math.remainder(angle, math.pi / 2)) < 1e-9
        if quarter:
            assert turned.free_energy() == pytest.approx(model.log_likelihood(), abs=1e-9)
        else:
            assert turned.free_energy() < model.log_likelihood() - 1e-3


def test_the_numbers_of_b3() -> None:
    """Two numbers that the paper prints; what it does not print was chosen so that they come out."""
    model = example()
    assert model.log_likelihood() == pytest.approx(-17.82, abs=1e-9)
    assert model.free_energy() == pytest.approx(-17.82, abs=1e-9)
    assert model.rotated(math.pi / 4).free_energy() == pytest.approx(-57.16, abs=1e-9)
    covariance = model.weights @ model.weights.T + np.diag(model.noise)
    np.testing.assert_allclose(covariance, model.moment)  # it is at its maximum likelihood


def test_over_complete_models_are_pruned() -> None:
    alphas = np.linspace(0, 1 / math.sqrt(2), 30)
    models = [over_complete(alpha) for alpha in alphas]
    likelihood = np.array([model.log_likelihood() for model in models])
    energy = np.array([model.free_energy() for model in models])
    np.testing.assert_allclose(likelihood, likelihood[0])
    assert energy[0] == pytest.approx(likelihood[0])  # pruned, the bound is tight
    assert (np.diff(energy) < 0).all()
    # the pruned latent's posterior is its prior
    np.testing.assert_allclose(models[0].mean_field_covariance()[0], [1, 0, 0], atol=1e-12)


@pytest.mark.parametrize("beta", [0.25, 2.0, 10.0])
def test_beta_changes_the_size_of_the_effect_and_not_the_directions(beta: float) -> None:
    model = example()
    angles = np.linspace(0, np.pi / 2, 91)
    energy = np.array([model.rotated(a).free_energy(beta) for a in angles])
    assert energy.argmax() in (0, 90) and energy[0] == pytest.approx(energy[90])
    assert energy.argmin() == 45
    swings = [np.ptp([model.rotated(a).free_energy(b) / b for a in angles]) for b in (1.0, 2.0, 10.0)]
    assert swings[0] > swings[1] > swings[2]  # in the units of the paper, the free energy over beta
