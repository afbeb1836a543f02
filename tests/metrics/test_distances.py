import numpy as np
import pytest

from unweave.data import Circles, DSprites, XYSquares
from unweave.errors import UnweaveError
from unweave.metrics import distance_matrices, overlap, perceived_distances
from unweave.metrics.distances import LOSSES, bce, mse

# REC table A1: mean and deviation of perceived distances.
DSPRITES = {
    "random": (0.0754, 0.0289), "y": (0.0584, 0.0378), "x": (0.0559, 0.0363), "scale": (0.0250, 0.0148),
    "shape": (0.0214, 0.0095), "orientation": (0.0172, 0.0106),
}  # fmt: skip
XYSQUARES = {"random": (0.0308, 0.0022)} | {f"{axis}_{c}": (0.0104, 0.0) for axis in "xy" for c in "rgb"}


def test_table_a1_of_dsprites() -> None:
    found = perceived_distances(DSprites(), np.random.default_rng(0), pairs=8_000)
    scores = found.scores()
    assert set(scores) == set(DSPRITES)
    for name, (mean, deviation) in DSPRITES.items():
        tolerance = 0.002 if name in ("x", "y") else 0.001
        assert scores[name].value == pytest.approx(mean, abs=tolerance)
        assert scores[name].constants["deviation"] == pytest.approx(deviation, abs=0.0015)
    assert found.table()[1][0] == "random"
    # Small steps in x, y, scale look close, large ones far; orientations come round again.
    correlations = found.correlations()
    assert min(correlations[name] for name in ("x", "y", "scale")) > 0.65


def test_table_a1_of_xysquares() -> None:
    found = perceived_distances(XYSquares(), np.random.default_rng(0), pairs=1_500)
    for name, (mean, deviation) in XYSQUARES.items():
        values = found.values[name]
        if name != "random":
            assert values == pytest.approx(2 * 64 / (3 * 64 * 64), abs=1e-9)
            assert found.correlations()[name] == 0
        assert values.mean() == pytest.approx(mean, abs=2e-4)
        assert values.std() == pytest.approx(deviation, abs=2e-4)
    exact = 3 * 63 / 64 * 2 * 64 / (3 * 64 * 64) / (1 - 8.0**-6)
    assert found.values["random"].mean() == pytest.approx(exact, abs=3 * 0.0022 / np.sqrt(1_500))
    assert f"{exact:.4f}" == "0.0308"


def test_losses_written_out() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 2, 6, 6)), rng.random((3, 2, 6, 6))
    assert mse(a, b) == pytest.approx(((a - b) ** 2).mean((1, 2, 3)), rel=1e-5)
    assert bce(a, b) == pytest.approx(-(a * np.log(b) + (1 - a) * np.log(1 - b)).mean((1, 2, 3)), rel=1e-6)
    padded = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    blurred = sum(padded[..., i : i + 6, j : j + 6] for i in range(3) for j in range(3)) / 9
    padded = np.pad(b, ((0, 0), (0, 0), (1, 1), (1, 1)))
    other = sum(padded[..., i : i + 6, j : j + 6] for i in range(3) for j in range(3)) / 9
    expected = mse(a, b) + 9 * mse(blurred, other)
    assert overlap(mse, radius=1)(a, b) == pytest.approx(expected, rel=1e-4)


def test_the_blurred_loss_gives_xysquares_an_order() -> None:
    rng = np.random.default_rng(0)
    plain = distance_matrices(XYSquares(), "x_r", rng, traversals=3)
    blurred = distance_matrices(XYSquares(), "x_r", rng, loss="blurred_mse", traversals=3)
    assert plain.correlations()["observations"] == 0
    assert blurred.correlations()["observations"] > 0.9
    # REC figure 8: with a smaller spacing squares overlap, and pixels see the order too.
    near = distance_matrices(XYSquares(spacing=2), "x_r", rng, traversals=3)
    assert near.correlations()["observations"] > 0.7


def test_matrices_at_five_levels() -> None:
    data = XYSquares()
    means = lambda x: x.reshape(len(x), 3, 8, 8, 8, 8).mean((3, 5)).reshape(len(x), -1) / 255  # noqa: E731
    encode = lambda x: (means(x), np.full((len(x), 192), 0.5))  # noqa: E731
    decode = lambda z: z.reshape(-1, 3, 8, 8).repeat(8, 2).repeat(8, 3)  # noqa: E731
    found = distance_matrices(
        data, "y_g", np.random.default_rng(0), encode=encode, decode=decode, traversals=2
    )
    levels = found.levels
    assert list(levels) == ["factors", "observations", "means", "posteriors", "reconstructions"]
    assert levels["factors"] == pytest.approx(np.abs(np.subtract.outer(np.arange(8), np.arange(8))))
    off = ~np.eye(8, dtype=bool)
    # Two of 192 codes differ by one: distance sqrt 2, KL 2 / (2 * 0.25); the picture comes back as it was.
    assert levels["means"][off] == pytest.approx(np.sqrt(2))
    assert levels["posteriors"][off] == pytest.approx(4.0)
    assert levels["reconstructions"] == pytest.approx(levels["observations"], abs=1e-6)
    assert all(np.allclose(m.diagonal(), 0) for m in levels.values())


def test_continuous_factors_and_own_losses() -> None:
    found = perceived_distances(
        Circles(size=16), np.random.default_rng(0), loss=lambda a, b: np.abs(a - b).sum((1, 2, 3)), pairs=60
    )
    assert set(found.values) == {"random", "x", "y"}
    assert min(values.mean() for values in found.values.values()) > 0
    assert distance_matrices(Circles(size=16), "x", np.random.default_rng(0), levels=5, traversals=1).levels[
        "observations"
    ].shape == (5, 5)


def test_mistakes() -> None:
    with pytest.raises(UnweaveError, match="did you mean mse"):
        perceived_distances(XYSquares(), np.random.default_rng(0), loss="mes")
    with pytest.raises(UnweaveError, match="unknown factor"):
        distance_matrices(XYSquares(), "z", np.random.default_rng(0))
    with pytest.raises(UnweaveError, match="unknown factor"):
        perceived_distances(XYSquares(), np.random.default_rng(0), factors=["z"])
    assert {"mse", "bce"} <= set(LOSSES)
