import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.metrics import factor_vae_score, mig
from unweave.metrics.validation import check_count, equal_width_bins, factor_classes

GOOD = np.random.default_rng(0).normal(size=(50, 2))
LABELS = np.arange(50)[:, None] % 5


@pytest.mark.parametrize(
    ("codes", "factors", "words"),
    [
        (np.where(GOOD > 1, np.nan, GOOD), LABELS, "codes must be finite.*diverge"),
        (np.where(GOOD > 1, np.inf, GOOD), LABELS, "codes must be finite"),
        (GOOD, np.where(LABELS == 3, np.nan, LABELS), "factors must be finite.*10 of 50"),
        (GOOD[:40], LABELS, "40 codes and 50 factors"),
        (GOOD, 0 * LABELS, "factor 0 has the one value 0"),
        (GOOD[:10], LABELS[:10], "at least 20 samples are needed, got 10"),
        (GOOD, LABELS.astype(str), "factors must be numbers.*np.unique"),
        (GOOD.astype(str), LABELS, "codes must be numbers"),
        (GOOD, LABELS[:, 0], r"factors must have two axes.*factors\[:, None\]"),
        (GOOD[:, 0], LABELS, r"codes must have two axes.*codes\[:, None\]"),
        (GOOD[:, :0], LABELS, "codes must not be empty"),
        ([[1, 2], [3]], LABELS, "differing lengths"),
        (GOOD.astype(complex), LABELS, "codes must be numbers"),
    ],
)
def test_bad_input_is_told_in_one_sentence(codes: object, factors: object, words: str) -> None:
    with pytest.raises(UnweaveError, match=words) as caught:
        mig(codes, factors)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_bad_options() -> None:
    for call in (
        lambda: mig(GOOD, LABELS, bins=1),
        lambda: factor_vae_score(GOOD, LABELS, np.random.default_rng(0), samples=1),
        lambda: factor_vae_score(GOOD, LABELS, np.random.default_rng(0), prune=1.0),
        lambda: factor_vae_score(GOOD, LABELS, np.random.default_rng(0), scales=GOOD[:, :1]),
        lambda: check_count("bins", 2.5, 1),  # type: ignore[arg-type]
        lambda: check_count("bins", True, 1),
    ):
        with pytest.raises(UnweaveError):
            call()


def test_bins_are_those_of_digitize_over_the_histogram_edges() -> None:
    for z in (GOOD[:, 0], np.repeat([0.0, 0.25, 1.0], 20), np.arange(41.0)):
        expected = np.digitize(z, np.histogram(z, 20)[1][:-1]) - 1
        np.testing.assert_array_equal(equal_width_bins(z[:, None], 20)[0], expected)
        assert expected.min() == 0
        assert expected.max() == 19


def test_codes_that_differ_by_rounding_are_one_bin() -> None:
    z = np.full(30, 0.1)
    z[::2] = np.nextafter(0.1, 1)
    assert not equal_width_bins(z[:, None], 20).any()


def test_whole_numbers_stay_classes_and_fractions_are_cut() -> None:
    whole = np.arange(1000.0) % 100
    smooth = np.linspace(0, 1, 1000)
    grid = np.round(np.linspace(0, 1, 32), 3)[np.arange(1000) % 32]
    classes, sizes = factor_classes(np.stack([whole, smooth, grid], 1))
    assert sizes == (100, 20, 32)
    np.testing.assert_array_equal(classes[:, 0], whole)
    np.testing.assert_array_equal(classes[:, 1], np.minimum((smooth * 20 + 1e-9).astype(int), 19))
    assert factor_classes(np.random.default_rng(0).random((50, 1)))[1][0] <= 20


def test_bins_are_those_of_digitize_next_to_edges_and_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    spread = rng.normal(size=4000)
    columns = [
        spread,
        np.round(spread, 1),  # many codes lie on edges
        rng.integers(0, 21, 4000) / 20,
        rng.integers(0, 21, 4000) * 0.1 + 7,
        1e6 + spread,
        1e9 + rng.integers(0, 200, 4000) * 1e-5,
        1e9 + rng.random(4000) * 3e-5,
        1e-12 * spread,
    ]
    for bins in (2, 10, 20, 33):
        ours = equal_width_bins(np.stack(columns, axis=1), bins)
        for z, found in zip(columns, ours, strict=True):
            edges = np.linspace(z.min(), z.max(), bins + 1)
            assert np.array_equal(found, np.digitize(z, edges[:-1]) - 1)
