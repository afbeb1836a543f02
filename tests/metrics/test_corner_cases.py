"""Corners of metrics with an exact answer: ties, oblong grids, tiny negative codes, seeds of predictors."""

import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.metrics import dci, downstream_accuracy, geometry_score, hoyer, mig, sap
from unweave.metrics.mig import leading_gaps
from unweave.metrics.predictors import fit_predictor
from unweave.metrics.votes import VotingProtocol, vote_constants


def test_of_equal_latents_the_first_leads() -> None:
    v = np.random.default_rng(0).integers(0, 4, (200, 1))
    score = mig(np.repeat(v * 1.0, 40, axis=1), v)
    assert score.constants["leading_latents"] == [0]
    assert score.value == 0


@pytest.mark.parametrize("sizes", [(3, 5), (5, 3), (2, 7)])
def test_folded_cells_of_an_oblong_grid(sizes: tuple[int, int]) -> None:
    """The last column is folded back over the one before it: its cells turn the other way."""
    rows, columns = sizes
    f = np.stack(np.meshgrid(range(rows), range(columns), indexing="ij"), -1).reshape(-1, 2).astype(float)
    assert geometry_score(f, f).constants["unfolded"] == 1
    z = f.copy()
    z[f[:, 1] == columns - 1, 1] = columns - 3 + 0.5
    score = geometry_score(z, f)
    assert score.constants["unfolded"] == pytest.approx((columns - 2) / (columns - 1))
    order = np.random.default_rng(0).permutation(len(f))
    assert geometry_score(z[order], f[order]).constants["unfolded"] == score.constants["unfolded"]


def test_codes_so_small_that_their_squares_vanish() -> None:
    assert hoyer([[-1e-200, 0.0], [0.0, 1e-200]], normalised=False).value == pytest.approx(1)
    assert hoyer([[-1e-200, -1e-200]], normalised=False).value == pytest.approx(0)
    assert hoyer([[0.0, 0.0]], normalised=False).value == 0


@pytest.mark.parametrize("backend", ["forest", "sklearn"])
def test_the_seed_of_the_predictors(backend: str) -> None:
    rng = np.random.default_rng(0)
    v = rng.integers(0, 3, (120, 2))
    codes = v @ [[1.0, 0.4, 0.2], [0.3, 0.5, 1.0]] + rng.normal(size=(120, 3))
    found = [
        dci(codes, v, np.random.default_rng(5), backend=backend, seed=seed)  # type: ignore[arg-type]
        for seed in (0, 0, 7)
    ]
    assert found[0] == found[1]
    assert [scores["dci"].constants["seed"] for scores in found] == [0, 0, 7]
    if backend == "forest":
        assert found[0]["dci"].value != found[2]["dci"].value


def test_the_seed_of_forests_that_regress() -> None:
    rng = np.random.default_rng(0)
    v = rng.random((80, 2))
    codes = v @ [[1.0, 0.4], [0.3, 1.0]] + 0.3 * rng.normal(size=(80, 2))
    found = [
        dci(codes, v, np.random.default_rng(5), mode="ubisoft", backend="forest", seed=s)["dci"].value
        for s in (0, 0, 7)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_of_equal_shares_the_first_two_lead() -> None:
    """A third of the shares are the largest: the leaders are the first two of these, whatever the sorting does."""
    shares = np.random.default_rng(0).integers(0, 3, (300, 4)) / 2
    order, gaps = leading_gaps(shares)
    assert order.T.tolist() == [np.flatnonzero(column == 1)[:2].tolist() for column in shares.T]
    assert gaps.tolist() == [0, 0, 0, 0]


def test_a_factor_counted_twice_leaves_sap_and_its_interval_as_they_are() -> None:
    """SAP is a mean over factors, so two equal factors are one."""
    rng = np.random.default_rng(0)
    v = rng.random((600, 1))
    codes = np.hstack([v + 0.3 * rng.normal(size=v.shape), v + rng.normal(size=v.shape)])
    once, twice = (sap(codes, np.repeat(v, count, axis=1), mode="ubisoft") for count in (1, 2))
    assert twice.value == pytest.approx(once.value)
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))


def test_sap_of_one_latent_is_its_accuracy() -> None:
    v = np.tile([[0], [1]], (30, 1))
    score = sap(v * 2.0 - 1, v)
    assert (score.value, score.constants["accuracies"]) == (1, [[1.0]])


def test_a_predictor_uses_a_single_latent_that_moves() -> None:
    target = np.tile([0, 1], 20)
    importance, predict = fit_predictor(target[:, None] * 3.0, target, "forest", 0)
    assert importance.tolist() == [1]
    assert predict(np.array([[0.0], [3.0]])).tolist() == [0, 1]
    importance, predict = fit_predictor(np.tile([1.0, 2.0], (40, 1)), np.tile([1, 1, 0, 1], 10), "forest", 0)
    assert importance.tolist() == [0, 0]  # nothing moves
    assert predict(np.zeros((3, 2))).tolist() == [1, 1, 1]


def test_guessing_gets_nothing_where_scores_are_rescaled() -> None:
    assert vote_constants("ubisoft", VotingProtocol(5, 10, 4, rescaled=True), 4)["chance"] == 0
    assert vote_constants("paper", VotingProtocol(5, 10, 4), 5)["chance"] == 0.2


def test_downstream_accuracy_takes_twenty_samples_and_no_fewer() -> None:
    v = np.tile([[0], [1]], (10, 1))
    assert downstream_accuracy(v * 1.0, v).value == 1
    with pytest.raises(UnweaveError, match="20"):
        downstream_accuracy(v[1:] * 1.0, v[1:])
