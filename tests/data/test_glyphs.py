from pathlib import Path

import numpy as np
import pytest

from unweave.data import Glyphs
from unweave.errors import UnweaveError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path))


@pytest.fixture(autouse=True)
def few_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unweave.data.glyphs._BUNDLED", ("DejaVuSans", "DejaVuSerif-Bold"))
    monkeypatch.setattr("unweave.data.glyphs._LETTERS", "IOT")


def centre(image: np.ndarray) -> tuple[float, float]:
    y, x = np.mgrid[:64, :64]
    weight = image / image.sum()
    return float((x * weight).sum()), float((y * weight).sum())


def test_factors_do_what_they_say() -> None:
    glyphs = Glyphs()
    space = glyphs.factor_space()
    assert space.sizes == (2, 3, 3, 8, 8, 8)
    at = [0, 1, 1, 4, 3, 3]  # the O, which is as wide as high and nearly round
    x = [centre(image[0].astype(float))[0] for image in glyphs.images(space.traversal("x", at))]
    y = [centre(image[0].astype(float))[1] for image in glyphs.images(space.traversal("y", at))]
    step = (64 - 38) / 7
    np.testing.assert_allclose(np.diff(x), step, atol=1.0)
    np.testing.assert_allclose(np.diff(y), step, atol=1.0)
    assert (x[0] + x[-1]) / 2 == pytest.approx(31.5, abs=1)
    area = glyphs.images(space.traversal("size", at)).astype(float).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(area[1:] / area[:-1], np.array([0.36 / 0.28, 0.44 / 0.36]) ** 2, rtol=0.12)


def test_rotation_turns_counter_clockwise() -> None:
    glyphs = Glyphs()
    stroke = glyphs.images(glyphs.factor_space().traversal("rotation", [0, 0, 2, 0, 3, 3]))[:, 0].astype(
        float
    )
    for image, expected in zip(stroke, np.linspace(-35, 35, 8), strict=True):
        y, x = np.mgrid[:64, :64]
        weight = image / image.sum()
        dx, dy = x - (x * weight).sum(), (y * weight).sum() - y  # up
        angle = 0.5 * np.degrees(np.arctan2(2 * (weight * dx * dy).sum(), (weight * (dx**2 - dy**2)).sum()))
        assert (angle - 90 - expected + 90) % 180 - 90 == pytest.approx(0, abs=1.5)


def test_rows_count_like_the_space_and_faces_differ() -> None:
    glyphs = Glyphs(size=32)
    rows = np.random.default_rng(0).integers(glyphs.count, size=30)
    np.testing.assert_array_equal(glyphs.at(rows), glyphs.images(glyphs.factors_at(rows)))
    sans, serif = glyphs.images([[0, 2, 1, 4, 3, 3], [1, 2, 1, 4, 3, 3]])
    assert (sans != serif).mean() > 0.02
    assert glyphs.image_shape == (1, 32, 32)


def test_masks_are_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unweave.data import glyphs as module

    module._masks.cache_clear()
    first = Glyphs(size=32).at([0, 500])
    assert len(list(tmp_path.glob("glyphs-1-*-32.masks"))) == 1
    module._masks.cache_clear()
    monkeypatch.setattr(module, "_draw", lambda *_: pytest.fail("drawn twice"))
    np.testing.assert_array_equal(Glyphs(size=32).at([0, 500]), first)


def test_system_fonts_are_those_with_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    ttf = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    (tmp_path / "fonts").mkdir()
    for name in ("DejaVuSansMono", "DejaVuSans", "STIXSizOneSymReg"):
        (tmp_path / "fonts" / f"{name}.ttf").write_bytes((ttf / f"{name}.ttf").read_bytes())
    (tmp_path / "fonts" / "broken.ttf").write_bytes(b"no font")
    monkeypatch.setattr("unweave.data.glyphs._PLACES", (str(tmp_path / "fonts"),))
    assert Glyphs(typefaces="system").faces == ("DejaVuSans", "DejaVuSansMono")
    assert Glyphs(typefaces="system", most=1).faces == ("DejaVuSans",)
    monkeypatch.setattr("unweave.data.glyphs._PLACES", (str(tmp_path / "none"),))
    with pytest.raises(UnweaveError, match="found no font with Latin letters"):
        Glyphs(typefaces="system")


def test_mistakes_are_named() -> None:
    with pytest.raises(UnweaveError, match="size of Glyphs must be at least 24 pixels, got 16"):
        Glyphs(size=16)
    with pytest.raises(UnweaveError, match="unknown typefaces of Glyphs 'bundle': did you mean bundled"):
        Glyphs(typefaces="bundle")  # type: ignore[arg-type]
