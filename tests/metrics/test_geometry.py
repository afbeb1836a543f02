from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.metrics import embed_grid, geometry_score, informative_latents, plane_factors


def grid(n: int = 11) -> np.ndarray:
    return np.stack(np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij"), -1)


def turn(degrees: float) -> np.ndarray:
    a = np.radians(degrees)
    return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])


@pytest.mark.parametrize("degrees", [0, 20, 45, 110, 200, 290])
@pytest.mark.parametrize("mirror", [1, -1])
def test_euclidean_images_score_one(degrees: float, mirror: int) -> None:
    codes = 0.03 * (grid() * [1, mirror]) @ turn(degrees) + [5, -7]
    score = geometry_score(codes, grid())
    assert score.value == pytest.approx(1, abs=1e-12)
    assert score.constants["linear"] == pytest.approx(1, abs=1e-12)
    assert score.constants["unfolded"] == 1
    assert score.constants["tilt"] == pytest.approx(min(degrees % 90, 90 - degrees % 90), abs=1e-6)


def test_units_of_the_factors_do_not_matter() -> None:
    codes = grid() @ turn(30)
    assert geometry_score(codes, grid() * [1000, 0.6] + [3, 0.2]).value == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("shear", [0.5, 1.0, 3.0])
def test_shear_has_its_closed_form(shear: float) -> None:
    # Z = F A with Var F = v I, so R^2 = (sigma_1 + sigma_2)^2 / (2 ||A||_F^2); (s1+s2)^2 = ||A||^2 + 2 det A.
    a = np.array([[1.0, 0.0], [shear, 1.0]])
    expected = (2 + shear**2 + 2) / (2 * (2 + shear**2))
    score = geometry_score(grid() @ a, grid())
    assert score.value == pytest.approx(expected, abs=1e-12)
    assert score.constants["linear"] == pytest.approx(1, abs=1e-12)
    assert score.constants["unfolded"] == 1


def test_a_line_scores_one_half() -> None:
    f = grid()
    score = geometry_score(np.stack([f[..., 0], 0 * f[..., 0]], -1), f)
    assert score.value == pytest.approx(0.5, abs=1e-12)
    assert score.constants["unfolded"] == 0  # every cell has area 0


def test_folded_grid() -> None:
    f = grid(11)
    folded = np.stack([np.abs(f[..., 0] - 0.5), f[..., 1]], -1)
    score = geometry_score(folded, f)
    # |x - 1/2| is uncorrelated with x; y is kept; shares of the variance of Z decide the rest.
    x, y = np.var(np.abs(f[..., 0] - 0.5)), np.var(f[..., 1])
    assert score.value == pytest.approx(y**2 / ((x + y) * 2 * y), abs=1e-12)
    assert score.constants["linear"] == pytest.approx(0.5, abs=1e-12)
    assert score.constants["unfolded"] == 0.5


def test_random_and_constant_codes() -> None:
    rng = np.random.default_rng(0)
    f = grid(30)
    score = geometry_score(rng.normal(size=f.shape), f)
    assert score.value < 0.02
    assert score.constants["linear"] < 0.02
    assert 0.5 <= score.constants["unfolded"] < 0.6
    assert geometry_score(0 * f + 2, f).value == 0


def test_held_out_points_are_judged_by_the_fit_of_the_others() -> None:
    f = grid(21)
    hole = np.all(np.abs(f - 0.5) < 0.26, axis=-1)
    codes = f @ turn(15)
    good = geometry_score(codes, f, hole)
    assert good.value == pytest.approx(1, abs=1e-12)
    assert good.constants["held_out"] == pytest.approx(1, abs=1e-12)
    assert good.constants["held_out_unfolded"] == 1
    assert good.constants["points"] + good.constants["held_out_points"] == 441
    shifted = codes + hole[..., None] * np.array([0.3, 0.4])
    bad = geometry_score(shifted, f, hole)
    assert bad.value == pytest.approx(1, abs=1e-12)
    inside = f[hole]
    # The fit is the exact inverse rotation, so every held-out point is off by 0.5.
    expected = 1 - len(inside) * 0.25 / np.sum((inside - inside.mean(0)) ** 2)
    assert bad.constants["held_out"] == pytest.approx(expected, abs=1e-9)
    assert bad.constants["held_out"] < 0
    collapsed = np.where(hole[..., None], codes[10, 10], codes)
    assert geometry_score(collapsed, f, hole).constants["held_out"] == pytest.approx(0, abs=1e-9)


def test_order_of_points_does_not_matter_and_scattered_points_have_no_cells() -> None:
    f, rng = grid(9).reshape(-1, 2), np.random.default_rng(0)
    codes = f @ turn(10) + 0.05 * rng.normal(size=f.shape)
    mixed = rng.permutation(len(f))
    a, b = geometry_score(codes, f), geometry_score(codes[mixed], f[mixed])
    assert a.value == pytest.approx(b.value, abs=1e-12)
    assert a.constants["unfolded"] == b.constants["unfolded"] < 1
    scattered = rng.random((50, 2))
    assert geometry_score(scattered, scattered).constants["unfolded"] is None


def test_errors() -> None:
    f = grid(4)
    for codes, factors, hole in (
        (f[..., :1], f, None),
        (f[:2], f, None),
        (f, 0 * f, None),
        (f, f, np.zeros(3)),
        (f, f, np.ones((4, 4))),
        (np.where(f > 0.5, np.nan, f), f, None),
    ):
        with pytest.raises(UnweaveError):
            geometry_score(codes, factors, hole)
    with pytest.raises(UnweaveError, match="at most"):
        informative_latents(np.ones((3, 2)), 3)


def test_informative_latents_are_ordered_by_mean_variance() -> None:
    # Mean scale would call latent 0 (mean 0.5) better than latent 1 (0.55); mean variance says otherwise.
    scales = np.array([[0.05, 0.55, 1.0], [0.95, 0.55, 1.0]])
    assert informative_latents(scales, 3).tolist() == [1, 0, 2]


def space(**sizes: Any) -> SimpleNamespace:
    return SimpleNamespace(names=tuple(sizes), sizes=tuple(sizes.values()))


def test_plane_factors() -> None:
    assert plane_factors(space(x=(0.2, 0.8), hue=(0.2, 0.8))) == ("x", "hue")
    assert plane_factors(space(hue=(0.0, 1.0), value=(0.3, 0.7), x=32, y=32)) == (
        "x",
        "y",
    )  # coloured sprites
    assert plane_factors(space(shape=3, position_x=32, position_y=32)) == ("position_x", "position_y")
    assert plane_factors(space(shape=3, posX=32, posY=32)) == ("posX", "posY")
    assert plane_factors(space(x_R=8, y_R=8, x_G=8, y_G=8)) == ("x_R", "y_R")
    assert plane_factors(space(x0=8, y1=8)) is None
    assert plane_factors(space(x=1, y=8)) is None
    assert plane_factors(space(hue=(0, 1), size=4)) is None


def test_embed_grid_keeps_other_factors_in_the_middle() -> None:
    seen: list[np.ndarray] = []

    def images(factors: np.ndarray) -> np.ndarray:
        seen.append(factors)
        return factors

    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x, np.tile([1.0, 0.2, 0.1], (len(x), 1))

    data = SimpleNamespace(space=space(shape=3, x=4, y=5), images=images, held_out=lambda f: f[:, 1] == 0)
    embedding = embed_grid(encode, data)
    assert embedding is not None
    assert seen[0].shape == (20, 3)
    assert set(seen[0][:, 0]) == {1}
    assert embedding.latents == (1, 2)
    assert embedding.held_out.sum() == 5
    np.testing.assert_array_equal(embedding.factors, seen[0][:, 1:])
    score = embedding.score()
    assert score.constants["factors"] == ["x", "y"]
    assert score.constants["latents"] == [1, 2]
    rotation = np.array(score.constants["rotation"])
    np.testing.assert_allclose(rotation, np.eye(2), atol=0.2)

    def absent(factors: np.ndarray) -> np.ndarray:
        raise UnweaveError("no image has x = 0")

    assert embed_grid(encode, SimpleNamespace(space=data.space, images=absent, held_out=None)) is None
    assert embed_grid(encode, SimpleNamespace(space=None, images=images, held_out=None)) is None
    assert embed_grid(encode, SimpleNamespace(space=space(shape=3), images=images, held_out=None)) is None
