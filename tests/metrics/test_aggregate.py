import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from unweave.errors import UnweaveError
from unweave.metrics import (
    classifier_total_correlation,
    decomposition,
    gaussian_total_correlation,
    log_joint,
    log_marginals,
    mixture_total_correlation,
    sampled_mig,
    subspace_mig,
)
from unweave.metrics.aggregate import Mixture
from unweave.metrics.sampled_mig import _draw_values


def posteriors(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n, 3)) * [1.0, 2.0, 0.1] + [0.0, 5.0, -1.0]
    return means, np.exp(rng.normal(size=(n, 3)) * 0.7 + np.log([0.05, 0.5, 0.9]))


def literal(z: np.ndarray, means: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """log N(z_s; mean_n, scale_n^2), (s, n, latents), the double sum written out."""
    logs: np.ndarray = norm.logpdf(z[:, None], means[None], scales[None])
    return logs


def test_the_joint_density_is_the_double_sum() -> None:
    means, scales = posteriors()
    z = means[:50] + scales[:50] * np.random.default_rng(1).normal(size=(50, 3))
    exact = logsumexp(literal(z, means, scales).sum(2), axis=1) - np.log(400)
    assert log_joint(z, means, scales) == pytest.approx(exact, abs=1e-8)
    assert log_joint(z, means, scales, block=700) == pytest.approx(exact, abs=1e-8)


def test_the_marginals_are_the_double_sum_to_a_ten_thousandth() -> None:
    means, scales = posteriors(3000)
    z = means[:500] + scales[:500] * np.random.default_rng(1).normal(size=(500, 3))
    exact = logsumexp(literal(z, means, scales), axis=1) - np.log(3000)
    assert log_marginals(z, means, scales) == pytest.approx(exact, abs=1e-4)


def test_far_points_narrow_and_constant_latents() -> None:
    means = np.array([[0.0], [1.0], [1.0]])
    scales = np.array([[1e-3], [0.5], [2.0]])
    z = np.array([[0.0], [0.0005], [30.0], [-9.0], [1.0]])
    exact = logsumexp(literal(z, means, scales), axis=1) - np.log(3)
    # Five deviations out the interpolation is off by half a percent; beyond six it is summed directly.
    assert log_marginals(z, means, scales) == pytest.approx(exact, abs=1e-2)
    assert log_marginals(z, means, scales)[[0, 1, 2, 4]] == pytest.approx(exact[[0, 1, 2, 4]], abs=1e-4)
    one = np.full((50, 1), 0.3)
    assert log_marginals(one, one, 0 * one + 1e-6)[0, 0] == pytest.approx(norm.logpdf(0, 0, 1e-6), abs=1e-3)


def test_mixtures_of_values_are_those_of_their_images() -> None:
    means, scales = posteriors(600)
    classes = np.random.default_rng(2).integers(0, 3, (600, 2))
    mixture = Mixture(means[:, 1], scales[:, 1], classes, (3, 3))
    z, value = means[:40, 1], np.arange(40) % 3
    ours = mixture.log_density(z, 1, value)
    for i in range(40):
        own = classes[:, 1] == value[i]
        exact = logsumexp(norm.logpdf(z[i], means[own, 1], scales[own, 1])) - np.log(own.sum())
        assert ours[i] == pytest.approx(exact, abs=1e-4)


def test_the_three_parts_add_up_to_the_divergence() -> None:
    means, scales = posteriors()
    scores = decomposition(means, scales, np.random.default_rng(0), samples=20_000)
    kl = np.mean(np.sum(0.5 * (means**2 + scales**2 - 1) - np.log(scales), axis=1))
    assert sum(s.value for s in scores.values()) == pytest.approx(kl, rel=0.02)
    assert scores["index_code_mi"].value <= np.log(400) + 0.01
    assert all(s.low < s.value < s.high for s in scores.values())  # type: ignore[operator]


def test_total_correlation_of_a_gaussian() -> None:
    # Means on a line plus posterior noise: q(z) is nearly Gaussian with correlation r; TC = -log(1 - r^2) / 2.
    rng = np.random.default_rng(0)
    means = rng.normal(size=(20_000, 1)) @ np.ones((1, 2))
    scales = np.full(means.shape, 0.5)
    r = 1 / 1.25
    exact = -0.5 * np.log(1 - r**2)
    assert mixture_total_correlation(means, scales, rng, samples=4_000).value == pytest.approx(
        exact, abs=0.04
    )
    z = means + scales * rng.normal(size=means.shape)
    assert gaussian_total_correlation(z).value == pytest.approx(exact, abs=0.03)
    learned = classifier_total_correlation(z[:8_000], rng, hidden=(32, 32), steps=30)
    assert learned.value == pytest.approx(exact, abs=0.12)
    assert (
        abs(classifier_total_correlation(rng.normal(size=(4_000, 2)), rng, hidden=(32,), steps=20).value)
        < 0.05
    )


def test_a_single_latent_has_no_total_correlation() -> None:
    rng = np.random.default_rng(1)
    means, scales = rng.normal(size=(500, 1)), np.full((500, 1), 0.3)
    found = mixture_total_correlation(means, scales, rng)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)


def test_gaussian_total_correlation_is_minus_half_the_log_determinant() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))
    exact = -0.5 * np.log(np.linalg.det(np.corrcoef(z.T)))
    assert gaussian_total_correlation(z).value == pytest.approx(exact, abs=1e-9)
    assert multivariate_normal(cov=np.eye(2)).dim == 2


def test_the_interval_of_the_gaussian_total_correlation_leaves_out_code_after_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("unweave.metrics.interval_limits.COUNTED", {})
    rng = np.random.default_rng(3)
    z = rng.uniform(-1, 1, size=(60, 4)) @ rng.normal(size=(4, 4))
    score = gaussian_total_correlation(z)
    without = np.array([gaussian_total_correlation(np.delete(z, i, 0)).value for i in range(60)])
    centre = score.value - 59 * (without.mean() - score.value)
    half = 1.96 * np.sqrt(59 * np.mean((without - without.mean()) ** 2))
    assert score.corrected == pytest.approx((centre, centre - half, centre + half), abs=1e-9)
    # Independent codes: without the bias taken off, ten latents never reach 0.
    found = [gaussian_total_correlation(rng.normal(size=(500, 10))) for _ in range(50)]
    assert sum(score.corrected is not None and score.corrected[1] == 0 for score in found) >= 45


def test_the_batch_estimate_fails_as_the_paper_says() -> None:
    # FAC appendix D: narrow posteriors in many dimensions: the mixture over a batch misses the samples, and the
    # estimate of a quantity that cannot be negative is far below zero.
    rng = np.random.default_rng(0)
    means, scales = rng.normal(size=(5_000, 6)), np.full((5_000, 6), 0.05)
    exact = decomposition(means, scales, rng, samples=500)["total_correlation"].value
    batch = decomposition(means, scales, rng, estimator="batch", batch=500, samples=500)[
        "total_correlation"
    ].value
    assert exact > 0
    assert batch < -10
    weighted = decomposition(means, scales, rng, estimator="weighted", batch=500, samples=500)
    assert weighted["total_correlation"].constants["batch"] == 500


def test_weighted_estimate_of_one_batch_of_all_images_is_biased_by_log_n() -> None:
    # With M = N draws log q(z) = log sum_m q(z|x_m) - 2 log N: each density is low by log N, the joint once, the
    # product once for every latent.
    means, scales = posteriors(200)
    rng = np.random.default_rng(0)
    rows = np.arange(200)
    z = means + scales * rng.normal(size=means.shape)
    from unweave.metrics.decomposition import _weighted

    joint, product = _weighted(z[rows], means, scales, 200, 200)
    assert joint == pytest.approx(log_joint(z, means, scales) - np.log(200), abs=1e-8)
    assert product == pytest.approx(log_marginals(z, means, scales).sum(1) - 3 * np.log(200), abs=1e-3)


def table(n: int = 3_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    v = np.stack([rng.integers(0, s, n) for s in (3, 5)], 1)
    means = np.hstack([v @ [[1.0, 0.3], [0.1, 0.8]] + 0.2 * rng.normal(size=(n, 2)), rng.normal(size=(n, 1))])
    return means, np.exp(0.3 * rng.normal(size=means.shape) + np.log([0.1, 0.3, 0.9])), v


def literal_logs(z: np.ndarray, means: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """log of the mean over n of N(z_sj; mean_nj, scale_nj^2), (s, latents): the double sum, a few rows at a time."""
    logs = np.empty(z.shape)
    rows = max(1, 200_000 // len(means))
    for j in range(z.shape[1]):
        rate, top = 1 / (np.sqrt(2) * scales[:, j]), 1 / (np.sqrt(2 * np.pi) * scales[:, j])
        for start in range(0, len(z), rows):
            x = (z[start : start + rows, j, None] - means[:, j]) * rate
            logs[start : start + rows, j] = np.log(np.mean(top * np.exp(-x * x), axis=1))
    return logs


def literal_sampled_mig(
    means: np.ndarray, scales: np.ndarray, v: np.ndarray, samples: int, seed: int, mode: str
) -> tuple[float, np.ndarray]:
    """The gap and the informations (latents, K) by double sums, of the draws that ``sampled_mig`` makes."""
    rng = np.random.default_rng(seed)
    latents, sizes = means.shape[1], (v.max(0) + 1).tolist()
    spread = 0.0 if mode == "disentangling_vae" else 1.0
    rows = rng.integers(0, len(means), samples)
    z = means[rows] + spread * scales[rows] * rng.normal(size=(samples, latents))
    groups = [_draw_values(v[:, k], size, samples, rng) for k, size in enumerate(sizes)]
    noise = [rng.normal(size=(len(g), latents)) for g in groups]
    h = -np.mean(literal_logs(z, means, scales), axis=0)
    information = np.empty((latents, len(sizes)))
    for k, size in enumerate(sizes):
        conditional = np.zeros(latents)
        for value in range(size):
            part = slice(value * samples, (value + 1) * samples)
            drawn = groups[k][part]
            assert (v[drawn, k] == value).all()
            here = means[drawn] + spread * scales[drawn] * noise[k][part]
            own = v[:, k] == value
            weight = own.mean() if mode == "paper" else 1 / size
            conditional -= literal_logs(here, means[own], scales[own]).mean(0) * weight
        information[:, k] = np.maximum(h - conditional, 0)
    ranked = np.sort(information, axis=0)[::-1]
    shares = [np.bincount(v[:, k]) / len(v) for k in range(len(sizes))]
    entropies = [-np.sum(p * np.log(p)) for p in shares] if mode == "paper" else np.log(sizes)
    return float(np.mean((ranked[0] - ranked[1]) / entropies)), information


def test_the_blocked_double_sum_is_the_double_sum() -> None:
    means, scales = posteriors(500)
    z = means[:30] + scales[:30] * np.random.default_rng(1).normal(size=(30, 3))
    exact = logsumexp(literal(z, means, scales), axis=1) - np.log(500)
    assert literal_logs(z, means, scales) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("mode", ["paper", "beta_tcvae", "disentangling_vae"])
def test_sampled_mig_equals_the_literal_double_sum_on_the_same_draws(mode: str) -> None:
    means, scales, v = table()
    ours = sampled_mig(means, scales, v, np.random.default_rng(9), mode=mode, samples=300)  # type: ignore[arg-type]
    exact, information = literal_sampled_mig(means, scales, v, 300, 9, mode)
    assert ours.value == pytest.approx(exact, abs=1e-3)
    assert np.array(ours.constants["mutual_information"]) == pytest.approx(information, abs=1e-3)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_sampled_mig_of_20_000_images_is_within_a_thousandth_of_the_literal_double_sum() -> None:
    """The score of 2,000 draws, and the log-densities of 20,000, summed over 20,000 images term by term."""
    means, scales, v = like_dsprites()
    subset = np.random.default_rng(1).choice(len(v), 20_000, replace=False)
    means, scales, v = means[subset], scales[subset], v[subset]
    ours = sampled_mig(means, scales, v, np.random.default_rng(9), samples=2_000)
    exact, information = literal_sampled_mig(means, scales, v, 2_000, 9, "paper")
    assert ours.value == pytest.approx(exact, abs=1e-3)
    assert np.array(ours.constants["mutual_information"]) == pytest.approx(information, abs=1e-3)
    z = means + scales * np.random.default_rng(2).normal(size=means.shape)
    found, logs = log_marginals(z, means, scales).mean(0), literal_logs(z, means, scales).mean(0)
    assert found == pytest.approx(logs, abs=1e-4)


def like_dsprites() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Posteriors (737,280, 10) that mix five factors, three latents idle, and the factors."""
    rng = np.random.default_rng(0)
    sizes = (3, 6, 40, 32, 32)
    v = np.stack(np.meshgrid(*[np.arange(s) for s in sizes], indexing="ij"), -1).reshape(-1, 5)
    means = 3 * (v / (np.array(sizes) - 1) - 0.5) @ (np.eye(5, 10) + 0.2 * rng.normal(size=(5, 10)))
    scales = np.exp(
        0.4 * rng.normal(size=means.shape) + np.log([0.05, 0.1, 0.1, 0.05, 0.05, 0.9, 0.9, 0.02, 0.3, 0.9])
    )
    return means, scales, v


def test_subspaces_do_not_mind_a_rotation_inside() -> None:
    v = np.stack(np.meshgrid(range(8), range(8), indexing="ij"), -1).reshape(-1, 2)
    other = np.random.default_rng(0).normal(size=(64, 1))
    z = np.hstack([v[:, :1], other, v[:, 1:], other])
    turn = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    turned = np.hstack([z[:, :2] @ turn, z[:, 2:] @ turn])
    scales = np.full(z.shape, 0.05)
    for codes in (z, turned):
        found = subspace_mig(codes, scales, v, np.random.default_rng(0), subspaces=(2, 2), samples=400)
        # The shared nuisance tells images apart in both subspaces, so single latents are needed for a gap of 1.
        assert 0 <= found.value < 0.3
    clean = np.hstack([v[:, :1], -v[:, :1], v[:, 1:], 2 * v[:, 1:]]) * 1.0
    mixed = np.hstack([clean[:, :2] @ turn, clean[:, 2:] @ turn])
    for codes in (clean, mixed):
        found = subspace_mig(codes, scales, v, np.random.default_rng(0), subspaces=(2, 2), samples=400)
        assert found.value == pytest.approx(1, abs=1e-6)
    assert sampled_mig(clean, scales, v, np.random.default_rng(0), samples=400).value < 0.1


def test_subspaces_of_one_latent_are_the_sampled_gap() -> None:
    means, scales, v = table(800)
    one = subspace_mig(means, scales, v, np.random.default_rng(0), subspaces=(1, 1, 1), samples=4_000)
    two = sampled_mig(means, scales, v, np.random.default_rng(0), samples=4_000)
    assert one.value == pytest.approx(two.value, abs=0.04)
    with pytest.raises(UnweaveError, match="sum to the 3 latents"):
        subspace_mig(means, scales, v, np.random.default_rng(0), subspaces=(2, 2))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_all_of_dsprites_in_little_memory_and_within_a_thousandth() -> None:
    """737,280 codes x 10 latents: less than 4 GB; a subset of 20,000 agrees with the double sum (time: benchmarks)."""
    import resource

    rng = np.random.default_rng(1)
    means, scales, v = like_dsprites()
    subset = rng.choice(len(v), 20_000, replace=False)
    z = means[subset[:400]] + scales[subset[:400]] * rng.normal(size=(400, 10))
    for j in range(10):
        exact = logsumexp(norm.logpdf(z[:, j, None], means[subset, j], scales[subset, j]), axis=1) - np.log(
            20_000
        )
        ours = log_marginals(z[:, j : j + 1], means[subset, j : j + 1], scales[subset, j : j + 1])[:, 0]
        assert ours == pytest.approx(exact, abs=1e-3)
    score = sampled_mig(means, scales, v, rng, samples=10_000)
    assert 0.2 < score.value < 0.6
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4e6
