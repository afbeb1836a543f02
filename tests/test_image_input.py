"""Images of any layout, kind and device reach a model as the same numbers."""

import numpy as np
import pytest
import torch

from unweave.errors import UnweaveError
from unweave.image_input import image_input
from unweave.vae import VAE

PIXELS = np.random.default_rng(0).integers(256, size=(5, 3, 8, 16), dtype=np.uint8)
EXPECTED = torch.from_numpy(PIXELS).double().div(255).float()


@pytest.mark.parametrize(
    "given",
    [
        PIXELS,
        PIXELS.transpose(0, 2, 3, 1),
        PIXELS / 255,
        torch.from_numpy(PIXELS),
        torch.from_numpy(PIXELS).permute(0, 2, 3, 1),
        torch.from_numpy(PIXELS).double().div(255).requires_grad_(),
        torch.from_numpy(PIXELS).to(memory_format=torch.channels_last),
        list(PIXELS),
    ],
)
def test_every_layout_gives_the_same_numbers(given: object) -> None:
    torch.testing.assert_close(image_input(given, (3, 8, 16)), EXPECTED, rtol=0, atol=1e-7)


def test_one_image_and_missing_axes() -> None:
    for one in (PIXELS[0], PIXELS[0].transpose(1, 2, 0)):
        torch.testing.assert_close(image_input(one, (3, 8, 16)), EXPECTED[:1], rtol=0, atol=1e-7)
    grey = PIXELS[:, 0]
    for given in (grey, grey[..., None], grey[:, None]):
        torch.testing.assert_close(image_input(given, (1, 8, 16)), EXPECTED[:, :1], rtol=0, atol=1e-7)
    torch.testing.assert_close(image_input(grey[0], (1, 8, 16)), EXPECTED[:1, :1], rtol=0, atol=1e-7)
    assert image_input(grey > 100, (1, 8, 16)).unique().tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (PIXELS[..., :8], r"images must be \(n, 3, 8, 16\) or \(n, 8, 16, 3\), got \(5, 3, 8, 8\)"),
        (
            PIXELS.astype(np.float32),
            "float images must lie between 0 and 1, got values from 0 to 255: rescale",
        ),
        (PIXELS / 127.5 - 1, "got values from -1 to 1"),
        (np.where(PIXELS > 250, np.nan, 0.5), "got values from nan to nan"),
        (PIXELS.astype(np.int64), r"must be uint8 \(0 to 255\), bool or float \(0 to 1\), got torch.int64"),
        ("cat.png", "images must be an array of numbers, got str"),
        ([[1], [2, 3]], "images must be an array of numbers, got list"),
        (None, "images must be an array of numbers, got NoneType"),
    ],
)
def test_wrong_images_are_one_sentence(given: object, expected: str) -> None:
    with pytest.raises(UnweaveError, match=expected) as caught:
        VAE.assemble((3, 8, 16), 2, encoder="MLP", decoder="MLP").codes(given)
    assert "\n" not in str(caught.value)


def test_codes_of_tensors_are_those_of_arrays() -> None:
    torch.manual_seed(0)
    vae = VAE.assemble((3, 8, 16), 2, encoder="MLP", decoder="MLP")
    expected = vae.codes(PIXELS, block=2)
    for given in (torch.from_numpy(PIXELS).permute(0, 2, 3, 1), PIXELS / 255, [*PIXELS]):
        for got, wanted in zip(vae.codes(given, block=3), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6)
    assert vae.codes(PIXELS[0])[0].shape == (1, 2)
    assert vae.codes(PIXELS[:0])[0].shape == (0, 2)
