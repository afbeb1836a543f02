"""The map of factors and latents on a page, and the responses below it."""

import numpy as np
import pytest

from unweave.metrics import relations
from unweave.metrics.metric import Encoded
from unweave.reports.latent_map import maps, responses

RNG = np.random.default_rng(0)
FACTORS = np.stack([RNG.integers(5, size=4000), RNG.integers(100, size=4000)], axis=1)
NOISE = RNG.standard_normal(4000)
CODES = np.stack([NOISE, -3.0 * FACTORS[:, 0], FACTORS[:, 1] / 10.0], axis=1)
ENCODED = Encoded.of(CODES, FACTORS, factor_names=["kind", "place"])


def test_rows_are_factors_and_columns_latents_in_the_given_order() -> None:
    found = relations(ENCODED)
    assert found is not None
    information, correlation = maps(found, [2, 1, 0])
    assert information.latents == ("z2", "z1", "z0")
    assert [name for name, _ in information.rows] == ["kind", "place"]
    [kind, place] = [cells for _, cells in information.rows]
    assert [cell.text for cell in kind] == [f"{found.information[j, 0]:.2f}" for j in (2, 1, 0)]
    assert kind[1].tint == 100
    assert place[0].tint > 60
    assert max(kind[0].tint, kind[2].tint, place[1].tint) < 5
    signed = correlation.rows[0][1][1]
    assert (signed.text, signed.negative, signed.tint) == ("\u22121.00", True, 100)
    assert correlation.rows[1][1][0].negative is False


def test_the_response_is_that_of_the_best_latent_in_medians_and_middle_80_percent() -> None:
    noisy = CODES.copy()
    noisy[:, 1] += NOISE
    encoded = Encoded.of(noisy, FACTORS, factor_names=["kind", "place"], latent_names=["a", "b", "c"])
    found = relations(encoded)
    assert found is not None
    kind, place = responses(encoded, found)
    assert (kind.factor, kind.latent, place.latent) == ("kind", "b", "c")
    assert kind.share == pytest.approx(found.information[1, 0])
    of_value = [noisy[FACTORS[:, 0] == v, 1] for v in range(5)]
    low, high = min(np.quantile(c, 0.1) for c in of_value), max(np.quantile(c, 0.9) for c in of_value)
    expected = [60 - 60 * (np.median(c) - low) / (high - low) for c in of_value]
    points = [tuple(map(float, point.split(","))) for point in kind.line.split()]
    assert [x for x, _ in points] == [0, 25, 50, 75, 100]
    np.testing.assert_allclose([y for _, y in points], expected, atol=0.051)
    assert (kind.low, kind.high) == (f"{low:.1f}".replace("-", "\u2212"), f"{high:.1f}")
    assert len(place.line.split()) == 24  # of 100 values


def test_a_constant_best_latent_has_a_flat_response() -> None:
    encoded = Encoded.of(np.ones((50, 1)), np.arange(50)[:, None] % 2, factor_names=["x"])
    found = relations(encoded)
    assert found is not None
    assert {point.split(",")[1] for point in responses(encoded, found)[0].line.split()} == {"60.0"}
