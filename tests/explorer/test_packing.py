"""What is packed, how exactly, and what is refused."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))

from explorer_cases import CASES, Case

from unweave.errors import UnweaveError
from unweave.explorer.blob import Blob, NotPackable
from unweave.explorer.packing import pack
from unweave.likelihoods import Likelihood
from unweave.models import TrainedModel
from unweave.networks import Deconv
from unweave.objectives import Objective
from unweave.standalone import StandaloneModel
from unweave.vae import VAE, Measurement

SMALL = Case("latents=3 encoder.channels=[8,8] decoder.channels=[8,8]", (1, 8, 8))


def test_float16_keeps_eleven_bits_of_large_and_small_weights() -> None:
    rng = np.random.default_rng(0)
    for size in (1e-9, 1e-3, 1.0, 1e8):
        values = size * rng.normal(size=1000)
        blob = Blob("float16")
        place = blob.weights(values[None], by_row=True)
        assert (place["count"], place["type"], len(blob.content())) == (1000, "float16", 2000)
        back = np.frombuffer(blob.content(), np.float16).astype(np.float64) * place["scale"]
        assert np.abs(back / values - 1).max() <= 2.0**-11


@pytest.mark.parametrize("by_row", [True, False])
def test_fixed16_is_within_half_a_step_of_each_output_whatever_their_sizes(by_row: bool) -> None:
    rng = np.random.default_rng(0)
    sizes = np.array([1e-9, 1.0, 0.0, 1e6])
    values = rng.normal(size=(4, 500)) * sizes[:, None]
    values[1, 7] = 100.0  # far beyond the others of its output
    blob = Blob("fixed16")
    place = blob.weights(values if by_row else values.T.reshape(5, 10, 10, 4), by_row=by_row)
    content = blob.content()
    whole = np.frombuffer(content, np.int16, place["count"], place["offset"]).reshape(
        place["rows"], place["columns"]
    )
    steps = np.frombuffer(content, np.float32, place["steps"]["count"], place["steps"]["offset"]).astype(
        float
    )
    back = whole * steps[:, None] if by_row else (whole * steps).T
    assert (np.abs(back - values) <= 0.5001 * steps[:, None]).all()
    roots = np.sqrt((values**2).mean(1))
    assert np.allclose(steps[[0, 3]], roots[[0, 3]] / 4096)
    assert steps[1] == pytest.approx(100 / 32767)


@pytest.mark.parametrize("name", CASES)
def test_descriptions_are_json_and_refer_to_the_whole_blob_once(name: str) -> None:
    model = CASES[name].model()
    fixed, half, single = pack(model), pack(model, "float16"), pack(model, "float32")
    assert fixed.description["precision"] == "fixed16"
    assert json.loads(json.dumps(fixed.description)) == fixed.description
    for packed in (fixed, half, single):
        spans = []
        for part in ("decoder", "encoder"):
            for operation in packed.description[part]["operations"]:
                values = [value for value in operation.values() if isinstance(value, dict)]
                for value in [*values, *(value["steps"] for value in values if "steps" in value)]:
                    size = 4 if value["type"] == "float32" else 2
                    spans.append((value["offset"], -(-size * value["count"] // 4) * 4))
        end = 0
        for start, length in sorted(spans):
            assert start == end
            end = start + length
        assert end == len(packed.weights)
    assert len(half.weights) < len(fixed.weights) < 0.8 * len(single.weights)


def test_outside_decoders_likelihoods_and_models_are_not_packable() -> None:
    class Twice(nn.Module):
        def forward(self, codes: torch.Tensor) -> torch.Tensor:
            return codes

    class Other(Likelihood):
        def forward(self, features: torch.Tensor) -> torch.distributions.Distribution:
            raise NotImplementedError

    class Grey(StandaloneModel):
        def game(self) -> Objective:
            raise NotImplementedError

        def measure(self, images: torch.Tensor, *, likelihood: bool = True) -> Measurement:
            raise NotImplementedError

        def decode_mean(self, codes, block=64):  # type: ignore[no-untyped-def]
            raise NotImplementedError

    class Deeper(Deconv):  # type: ignore[misc]
        pass

    for part, other, sentence in (
        (
            "decoder",
            Deeper(3, (1, 8, 8), channels=(4, 4)),
            "decoder Deeper is not one of the built-in networks",
        ),
        ("decoder", Twice(), "decoder Twice is not one of the built-in networks"),
        ("likelihood", Other((1, 8, 8)), "likelihood Other is not one of the built-in likelihoods"),
    ):
        model = SMALL.model()
        setattr(model.model, part, other)
        with pytest.raises(NotPackable, match=sentence):
            pack(model)
    model = SMALL.model()
    grey = Grey()
    grey.image_shape, grey.latents = (1, 8, 8), 3
    with pytest.raises(NotPackable, match="model Grey is not one of the built-in models"):
        pack(TrainedModel(grey, model.about))


def test_a_layer_that_is_not_known_is_refused() -> None:
    model = SMALL.model()
    assert isinstance(model.model, VAE)
    model.model.decoder.upconvolutions.append(nn.Softplus())
    with pytest.raises(NotPackable, match="the page has no layer Softplus"):
        pack(model)


def test_without_a_known_encoder_the_decoder_is_packed_and_the_reason_said() -> None:
    model = SMALL.model()
    assert isinstance(model.model, VAE)
    model.model.encoder = nn.Flatten()
    description = pack(model).description
    assert description["encoder"] is None
    assert description["encoder_missing"] == "encoder Flatten is not one of the built-in networks"


def test_a_diverged_model_is_refused() -> None:
    model = SMALL.model()
    next(model.model.decoder.parameters()).data[0] = torch.nan
    with pytest.raises(NotPackable, match="NaN or infinity"):
        pack(model)


def test_an_unknown_precision_is_said() -> None:
    with pytest.raises(UnweaveError, match="unknown precision 'float8'"):
        pack(SMALL.model(), "float8")  # type: ignore[arg-type]


def test_packing_leaves_the_model_as_it_is() -> None:
    model = CASES["DCGAN"].model()
    before = {name: tensor.clone() for name, tensor in model.model.state_dict().items()}
    pack(model)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.model.state_dict().items())


@pytest.mark.parametrize("name", ["Gaussian, a variance per output", "Gaussian, a variance per output, MLP"])
def test_decoded_variances_which_no_picture_shows_are_left_out(name: str) -> None:
    case = CASES[name]
    *_, last = pack(case.model()).description["decoder"]["operations"]
    assert (last["shape"][0] if last["op"] == "unflatten" else last["outputs"]) == case.shape[0]
