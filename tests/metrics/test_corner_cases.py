"""Corners of metrics with an exact answer: ties, oblong grids, tiny negative codes, seeds of predictors."""

import numpy as np
import pytest

from unweave.metrics import dci, geometry_score, hoyer, mig


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
        dci(codes, v, np.random.default_rng(5), backend=backend, half_samples=0, seed=seed)  # type: ignore[arg-type]
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
