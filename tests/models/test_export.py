"""What is exported gives what PyTorch gives, for every kind of network, at batches of 1 and 7."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from unweave import UnweaveError
from unweave.models import TrainedModel
from unweave.models.export import BATCHES, export
from unweave.networks import DECODERS, ENCODERS
from unweave.posteriors import POSTERIORS
from unweave.runs import Config

SHAPE = (3, 32, 32)
SMALLER = {
    "Conv": ["encoder.channels=[4,4]", "encoder.hidden=[8]"],
    "MLP": ["encoder.hidden=[8]"],
    "DCGAN": ["encoder.channels=[4,4]"],
    "Deconv": ["decoder.channels=[4,4]", "decoder.hidden=[8]"],
    "SpatialBroadcast": ["decoder.width=4"],
    "CoordConv": ["decoder.channels=[4,4]"],
}
SMALLER_DECODERS = {**SMALLER, "MLP": ["decoder.hidden=[8]"], "DCGAN": ["decoder.channels=[4,4]"]}
PAIRS = [
    *(("Conv", "Deconv", "DiagonalNormal"), ("MLP", "SpatialBroadcast", "FullNormal")),
    *(
        ("DCGAN", "CoordConv", "IsotropicNormal"),
        ("Conv", "MLP", "BallMixture"),
        ("MLP", "DCGAN", "DiagonalNormal"),
    ),
]


def made(encoder: str, decoder: str, posterior: str = "DiagonalNormal", *words: str) -> TrainedModel:
    """A model with weights large enough that a wrong layer would show."""
    smaller = [*SMALLER[encoder], *SMALLER_DECODERS[decoder]]
    chosen = [f"encoder={encoder}", f"decoder={decoder}", f"posterior={posterior}"]
    config = Config.read(words=["data=circles", "latents=3", *chosen, *smaller, *words])
    model = TrainedModel.untrained(config, SHAPE)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in [*model.model.parameters(), *model.model.buffers()]:
            if (
                tensor.dtype == torch.float32 and tensor.dim() == 1
            ):  # biases, and the statistics of batch norm
                tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
    return model


def expected(model: TrainedModel, n: int) -> tuple[np.ndarray, list[np.ndarray], np.ndarray, np.ndarray]:
    """Pictures and codes, and what the model itself makes of them: its public methods, not the exported wrapper."""
    rng = np.random.default_rng(n)
    pictures = rng.integers(0, 256, (n, 32, 32, 3)).astype(np.uint8)
    codes = rng.normal(size=(n, model.latents)).astype(np.float32)
    means, scales = model.model.codes(pictures.transpose(0, 3, 1, 2))
    return pictures, [means, scales], codes, model.model.decode_mean(codes).transpose(0, 2, 3, 1)


def check_onnx(model: TrainedModel, folder: Path) -> None:
    import onnxruntime

    found = export(model, folder, "onnx")
    assert [file.path.name for file in found] == ["encoder.onnx", "decoder.onnx", "preparation.json"]
    assert max(file.difference or 0.0 for file in found) < 1e-5
    for n in (*BATCHES, 3):
        pictures, code, codes, images = expected(model, n)
        encoder, decoder = (
            onnxruntime.InferenceSession(folder / f"{name}.onnx") for name in ("encoder", "decoder")
        )
        for ours, theirs in zip(
            code, encoder.run(["mean", "deviation"], {"pictures": pictures}), strict=True
        ):
            np.testing.assert_allclose(theirs, ours, atol=1e-5)
        np.testing.assert_allclose(decoder.run(["images"], {"codes": codes})[0], images, atol=1e-5)


def test_onnx_gives_what_pytorch_gives(tmp_path: Path) -> None:
    check_onnx(made("Conv", "SpatialBroadcast"), tmp_path)
    stored = json.loads((tmp_path / "preparation.json").read_text())
    assert stored["latents"] == ["z0", "z1", "z2"]
    assert stored["picture"]["height"] == 32


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "decoder", "posterior"), PAIRS)
def test_onnx_of_every_kind(encoder: str, decoder: str, posterior: str, tmp_path: Path) -> None:
    check_onnx(made(encoder, decoder, posterior), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["likelihood=MSE", "standardise=true"], ["likelihood=Gaussian", "likelihood.per_output=true"]]
)
def test_onnx_of_other_likelihoods(words: list[str], tmp_path: Path) -> None:
    check_onnx(made("Conv", "Deconv", "DiagonalNormal", *words), tmp_path)


def test_every_kind_is_among_them() -> None:
    for place, names in enumerate((ENCODERS.parts, DECODERS.parts, POSTERIORS.parts)):
        assert {pair[place] for pair in PAIRS} == set(names)


@pytest.mark.parametrize(("encoder", "decoder", "posterior"), PAIRS)
def test_torchscript_of_every_kind(encoder: str, decoder: str, posterior: str, tmp_path: Path) -> None:
    model = made(encoder, decoder, posterior)
    export(model, tmp_path, "torchscript")
    networks = [torch.jit.load(str(tmp_path / f"{name}.pt")) for name in ("encoder", "decoder")]
    for n in (1, 7, 3):
        pictures, code, codes, images = expected(model, n)
        for ours, theirs in zip(code, networks[0](torch.from_numpy(pictures)), strict=True):
            np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-5)
        np.testing.assert_allclose(networks[1](torch.from_numpy(codes)).numpy(), images, atol=1e-5)


def test_torch_export_gives_what_pytorch_gives(tmp_path: Path) -> None:
    model = made("DCGAN", "CoordConv")
    assert [file.path.name for file in export(model, tmp_path, "torch-export")][:2] == [
        "encoder.pt2",
        "decoder.pt2",
    ]
    decoder = torch.export.load(tmp_path / "decoder.pt2").module()
    _, _, codes, images = expected(model, 5)
    np.testing.assert_allclose(decoder(torch.from_numpy(codes)).numpy(), images, atol=1e-5)


def test_standardising_is_part_of_the_file(tmp_path: Path) -> None:
    model = made("Conv", "Deconv", "DiagonalNormal", "likelihood=MSE", "standardise=true")
    with torch.no_grad():
        for part in model.model.modules():
            if type(part).__name__ == "Standardised":
                part.mean.fill_(0.3)
                part.std.fill_(0.2)
    export(model, tmp_path, "torchscript")
    pictures, code, _, _ = expected(model, 3)
    means, _ = torch.jit.load(str(tmp_path / "encoder.pt"))(torch.from_numpy(pictures))
    np.testing.assert_allclose(means.numpy(), code[0], atol=1e-5)


def test_a_wrong_export_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unweave.models import export as module

    right = module._torchscript

    def wrong(part: object) -> object:
        ending, content, run = right(part)  # type: ignore[arg-type]
        return ending, content, lambda batch: [each + 1e-3 for each in run(batch)]

    monkeypatch.setattr(module, "_torchscript", wrong)
    with pytest.raises(
        UnweaveError, match=r"the exported encoder differs from PyTorch by 0\.001, so it was not written"
    ):
        export(made("Conv", "Deconv"), tmp_path, "torchscript")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("error", "is_written"), [(3e-7, True), (1e-3, False)])
def test_large_deviations_are_compared_by_their_digits(
    error: float, is_written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is sure of nothing says deviations of thousands, of which float32 cannot tell 1e-4."""
    from unweave.models import export as module

    right = module._torchscript

    def rounded(part: object) -> object:
        ending, content, run = right(part)  # type: ignore[arg-type]
        return ending, content, lambda batch: [each * (1 + error) for each in run(batch)]

    monkeypatch.setattr(module, "_torchscript", rounded)
    model = made("Conv", "Deconv")
    with torch.no_grad():
        model.model.encoder.linear[-1].bias[3:] = 24.0  # type: ignore[index,union-attr,operator]
    if is_written:
        [encoder, *_] = export(model, tmp_path, "torchscript")
        assert encoder.difference is not None
        assert encoder.difference > 1e-2
    else:
        with pytest.raises(UnweaveError, match="differs from PyTorch"):
            export(model, tmp_path, "torchscript")


def test_a_missing_extra_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        UnweaveError, match=r"ONNX needs the package onnxruntime: pip install 'unweave\[export\]'"
    ):
        export(made("Conv", "Deconv"), tmp_path, "onnx")


def test_the_model_is_left_as_it_was(tmp_path: Path) -> None:
    model = made("Conv", "Deconv")
    before = {name: tensor.clone() for name, tensor in model.model.state_dict().items()}
    export(model, tmp_path, "torchscript")
    assert all(parameter.requires_grad for parameter in model.model.parameters())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.model.state_dict().items())
