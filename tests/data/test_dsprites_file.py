"""dSprites from its original files; nothing pickled in them is executed."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unweave.data import DSprites
from unweave.errors import UnweaveError

Link = Callable[..., None]
DSPRITES = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"
RNG = np.random.default_rng(0)


class Bomb:
    """What a pickle in a data file could do."""

    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("a pickle of a data file was executed",))


def test_dsprites_hdf5_round_trip(place: Path, formats: Path, link: Link) -> None:
    import h5py

    link("dsprites", f"{DSPRITES}.hdf5")
    with h5py.File(formats / f"{DSPRITES}.hdf5") as file:
        images, classes = file["imgs"][()], file["latents/classes"][()][:, 1:]
    dataset = DSprites(source="file")
    assert (dataset.count, dataset.image_shape) == (5, (1, 64, 64))
    assert dataset.space is not None
    assert dataset.space.sizes == (3, 6, 40, 32, 32)
    np.testing.assert_array_equal(dataset.at(np.arange(5))[:, 0], images)
    np.testing.assert_array_equal(dataset.factors_at(np.arange(5)), classes)
    np.testing.assert_array_equal(dataset.images(classes[[3, 1]])[:, 0], images[[3, 1]])
    assert dataset.held_out([[0, 0, 0, 0, 0]]).all()
    with pytest.raises(
        UnweaveError, match="no image has shape = 0, scale = 0, orientation = 0, x = 0, y = 0"
    ):
        dataset.images([[0, 0, 0, 0, 0]])


@pytest.mark.parametrize("compressed", [False, True])
def test_dsprites_npz_is_read_without_its_pickle(place: Path, compressed: bool) -> None:
    rendered = DSprites()
    factors = rendered.factor_space().sample(30, RNG)
    images = (rendered.images(factors)[:, 0] // 255).astype(np.uint8)
    classes = np.column_stack([np.zeros(30, np.int64), factors])
    (place / "dsprites").mkdir()
    save = np.savez_compressed if compressed else np.savez
    metadata = np.array(Bomb(), dtype=object)
    save(
        place / "dsprites" / f"{DSPRITES}.npz",
        metadata=metadata,
        imgs=images,
        latents_classes=classes,
        latents_values=classes * 0.5,
    )
    dataset = DSprites(source="file")
    np.testing.assert_array_equal(dataset.images(factors), rendered.images(factors))
    assert set(np.unique(dataset.sample(50, RNG).images)) == {0, 255}


def test_the_bomb_would_explode() -> None:
    with pytest.raises(pytest.fail.Exception):
        pickle.loads(pickle.dumps(Bomb()))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": np.zeros((2, 64, 64), np.uint8)}, "is not dSprites: it has no array 'imgs'"),
        (
            {"imgs": np.zeros((2, 32, 32), np.uint8), "latents_classes": np.zeros((2, 6), np.int64)},
            r"imgs must have shape \(n, 64, 64\) .* got \(2, 32, 32\)",
        ),
    ],
)
def test_wrong_dsprites_are_named(place: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    (place / "dsprites").mkdir()
    np.savez(place / "dsprites" / f"{DSPRITES}.npz", **arrays)
    with pytest.raises(UnweaveError, match=message):
        DSprites(source="file")
