from pathlib import Path

import numpy as np
import pytest

from unweave.data import Objects3D
from unweave.data.objects3d import Part, _ball, _box, _cone, _tube, build, render
from unweave.errors import UnweaveError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("meet", "inside"),
    [
        (_ball, lambda p: (p**2).sum(-1) <= 1),
        (_box, lambda p: (np.abs(p) <= 1).all(-1)),
        (_tube, lambda p: ((p[..., :2] ** 2).sum(-1) <= 1) & (np.abs(p[..., 2]) <= 1)),
        (_cone, lambda p: (np.hypot(p[..., 0], p[..., 1]) <= (1 - p[..., 2]) / 2) & (np.abs(p[..., 2]) <= 1)),
    ],
)
def test_rays_meet_solids_where_walking_along_them_does(meet, inside) -> None:  # type: ignore[no-untyped-def]
    for _ in range(20):
        start = RNG.normal(size=3)
        start *= 4 / np.linalg.norm(start)
        ray = (RNG.uniform(-1.2, 1.2, (5, 5, 3)) - start) / 4
        distance, normal = meet(start, ray)
        walk = np.linspace(0, 8, 4001)
        within = inside(start + walk[:, None, None, None] * ray)
        first = np.where(within.any(axis=0), walk[within.argmax(axis=0)], np.inf)
        hit = np.isfinite(first)
        assert (np.isfinite(distance) == hit).mean() >= 0.95  # a step may pass over an edge
        both = hit & np.isfinite(distance)
        assert np.abs(distance[both] - first[both]).max(initial=0) < 0.06
        assert np.median(np.abs(distance[both] - first[both])) < 0.0021
        # the outside is where the normal points
        place = start + distance[both][:, None] * ray[both]
        out = normal[both] / np.linalg.norm(normal[both], axis=-1, keepdims=True)
        assert inside(place - 1e-3 * out).mean() > 0.95
        assert inside(place + 1e-3 * out).mean() < 0.05


def test_a_ball_looks_round_and_lit_from_where_the_light_is() -> None:
    ball = [Part("ball", np.array([0, 0, 0.46]), np.full(3, 0.4), np.eye(3), np.ones(3))]
    pictures = render(ball, 77.0, 10.0).astype(float)
    left, right, above, _ = pictures.mean(axis=3)
    assert left[32, 16:32].mean() > left[32, 32:48].mean() + 20
    assert right[32, 32:48].mean() > right[32, 16:32].mean() + 20
    assert above[18:30, 32].mean() > above[34:46, 32].mean() + 20
    # a ball covers the same pixels whatever the azimuth
    np.testing.assert_allclose(render(ball, 200.0, 10.0), pictures, atol=1)


def test_azimuth_turns_the_object() -> None:
    """Turning an object by half a circle mirrors the picture of one that is the same on both sides."""
    arrow = [
        Part("box", np.array([0, 0, 0.4]), np.array([0.6, 0.1, 0.1]), np.eye(3), np.ones(3)),
        Part("ball", np.array([0.6, 0, 0.4]), np.full(3, 0.2), np.eye(3), np.ones(3)),
    ]
    one, two = (render(arrow, azimuth, 10.0)[2].astype(int) for azimuth in (90.0, 270.0))
    assert np.abs(one - two[:, ::-1]).mean() < 0.2
    assert np.abs(one - two).mean() > 1


def test_every_object_differs_and_stays_in_the_frame() -> None:
    pictures = {}
    for category in range(5):
        for instance in range(8):
            picture = render(build(category, instance), 35.0, 25.0)[3].astype(int)
            background = picture[0, 0]
            shown = (np.abs(picture - background).sum(axis=2) > 60).mean()
            assert 0.02 < shown < 0.6
            pictures[category, instance] = picture
    keys = list(pictures)
    for i, a in enumerate(keys):
        for b in keys[:i]:
            assert np.abs(pictures[a] - pictures[b]).mean() > 1


def test_the_grid_is_what_was_rendered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    space = Objects3D().factor_space()
    assert (space.names, space.sizes) == (
        ("category", "instance", "azimuth", "elevation", "lighting"),
        (5, 8, 24, 4, 4),
    )
    rows = np.array([0, 15_359, 7_777])
    made = np.zeros((15_360, 64, 64, 3), np.uint8)
    for row, (category, instance, azimuth, elevation, lighting) in zip(
        rows, space.factors(rows), strict=True
    ):
        made[row] = render(build(category, instance), 15.0 * azimuth, 10.0 + 15.0 * elevation)[lighting]
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path))
    monkeypatch.setattr("unweave.data.objects3d._render_all", lambda: made)
    objects = Objects3D()
    np.testing.assert_array_equal(objects.at(rows).transpose(0, 2, 3, 1), made[rows])
    np.testing.assert_array_equal(objects.images(space.factors(rows)).transpose(0, 2, 3, 1), made[rows])
    grey = Objects3D(channels=1).at(rows)
    assert grey.shape == (3, 1, 64, 64)
    np.testing.assert_array_equal(grey[:, 0], made[rows].mean(axis=3).round())
    with pytest.raises(UnweaveError, match="channels of Objects3D must be 1"):
        Objects3D(channels=2)  # type: ignore[arg-type]
