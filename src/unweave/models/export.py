"""Encoder and decoder for other programs: ONNX, TorchScript, torch.export, each compared with PyTorch when it is made.

The encoder takes pictures as picture libraries hold them, uint8 ``(batch, height, width, channels)`` in the model's
size, and gives ``mean`` and ``deviation``, ``(batch, latents)``; dividing by 255 and standardising are part of it.
The decoder takes ``codes`` ``(batch, latents)`` and gives ``images``, ``(batch, height, width, channels)`` in [0, 1].
``preparation.json`` says how a picture of another size is brought to that size, and what the latents are called.
"""

import contextlib
import copy
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, jit, nn

from unweave import atomic
from unweave.errors import UnweaveError, unknown
from unweave.gan import GAN
from unweave.vae import VAE, Model

if TYPE_CHECKING:
    from unweave.models.trained import TrainedModel

FORMATS = ("onnx", "torchscript", "torch-export", "safetensors")
BATCHES = (1, 7)
"""Sizes of the batches by which an exported network is compared."""

TOLERANCE = 1e-4
"""A larger difference than this is an error: then the file does not hold this model. Of numbers beyond 1 it is a share
of the largest: float32 has seven digits, and a deviation may be a thousand."""

PREPARATION = "preparation.json"

Arrays = list[NDArray[Any]]


class Exported(NamedTuple):
    """A file that was written, its size in bytes, and its largest difference from PyTorch; none: not compared.

    Example:
        >>> Exported(Path("encoder.onnx"), 1000, 2e-7).difference
        2e-07
    """

    path: Path
    size: int
    difference: float | None


@final
class EncoderOf(nn.Module):
    """uint8 pictures ``(n, height, width, channels)`` to means and deviations ``(n, latents)``.

    Example:
        >>> mean, deviation = EncoderOf(VAE.assemble((3, 32, 32), 2))(torch.zeros(5, 32, 32, 3, dtype=torch.uint8))
        >>> mean.shape, deviation.shape
        (torch.Size([5, 2]), torch.Size([5, 2]))
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.is_vae = isinstance(model, VAE)
        # Of a VAE only the half that is used: a file holds all parameters of its network.
        self.network = nn.Sequential(model.encoder, model.posterior) if isinstance(model, VAE) else model

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Means and deviations."""
        images = pictures.permute(0, 3, 1, 2).float() / 255
        if self.is_vae:
            q = self.network(images)
            return q.mean, q.stddev
        assert isinstance(self.network, Model)
        found = self.network.measure(images, likelihood=False)
        return found.means, found.scales


@final
class DecoderOf(nn.Module):
    """Codes ``(n, latents)`` to expected images ``(n, height, width, channels)`` in [0, 1].

    Example:
        >>> DecoderOf(VAE.assemble((3, 32, 32), 2))(torch.zeros(5, 2)).shape
        torch.Size([5, 32, 32, 3])
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.network = nn.Sequential(model.decoder, model.likelihood) if isinstance(model, VAE) else model

    def forward(self, codes: Tensor) -> Tensor:
        """Images."""
        if isinstance(self.network, GAN):
            images = self.network.images_of(codes)
        else:
            images = self.network(codes).mean.clamp(0, 1)
        return images.permute(0, 2, 3, 1)


class _Part(NamedTuple):
    """A network to export: its file's name, what goes in and what comes out."""

    name: str
    network: nn.Module
    example: Tensor
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def expected(self, batch: Tensor) -> Arrays:
        with torch.no_grad():
            found = self.network(batch)
        return [part.numpy() for part in (found if isinstance(found, tuple) else (found,))]


def export(model: "TrainedModel", folder: Path, kind: str = "onnx") -> list[Exported]:
    """Write encoder and decoder for other programs, with any number of images at a time, and compare them with PyTorch.

    Args:
        model: what to export.
        folder: where to.
        kind: ``onnx`` (compared in ONNX Runtime; needs the extra ``export``), ``torchscript``, ``torch-export``, or
            ``safetensors``, the whole model as :meth:`TrainedModel.save` writes it.

    Example:
        >>> import tempfile
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> found = export(model, Path(tempfile.mkdtemp()), "torchscript")
        >>> [file.path.name for file in found], max(file.difference or 0 for file in found) < 1e-5
        (['encoder.pt', 'decoder.pt', 'preparation.json'], True)
    """
    if kind not in FORMATS:
        raise unknown("format", kind, FORMATS)
    if kind == "safetensors":
        model.save(folder)
        return [Exported(path, path.stat().st_size, None) for path in sorted(folder.iterdir())]
    writer = {"onnx": _onnx, "torchscript": _torchscript, "torch-export": _torch_export}[kind]
    with _quiet():
        made = [_checked(part, folder, writer) for part in _parts(model)]
    atomic.write_json(folder / PREPARATION, preparation_record(model))
    return [*made, Exported(folder / PREPARATION, (folder / PREPARATION).stat().st_size, None)]


def preparation_record(model: "TrainedModel") -> dict[str, Any]:
    """How a picture is brought into the form that an exported encoder takes, and what its numbers are called.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> preparation_record(model)["picture"]
        {'height': 32, 'width': 32, 'channels': 3, 'crop': 0, 'background': 'black', 'resize': 'bilinear, antialiased'}
    """
    channels, height, width = model.image_shape
    return {
        "model": model.title,
        "identity": model.config.identity,
        "picture": {
            "height": height,
            "width": width,
            "channels": channels,
            "crop": model.preparation.crop,
            "background": model.preparation.background,
            "resize": "bilinear, antialiased",
        },
        "inside": {"divided_by": 255, "mean": model.preparation.mean, "std": model.preparation.std},
        "latents": model.latent_names,
        "factors": [] if model.factors is None else model.factors.names,
    }


def _parts(model: "TrainedModel") -> list[_Part]:
    if not isinstance(model.model, VAE | GAN):
        raise UnweaveError(
            f"{model.config.model.label} cannot be exported: only VAEs and unweave's GANs can, other models are "
            f"saved with --format safetensors"
        )
    rng = np.random.default_rng(0)
    channels, height, width = model.image_shape
    most = max(BATCHES)
    pictures = rng.integers(0, 256, (most, height, width, channels)).astype(np.uint8)
    codes = rng.normal(size=(most, model.latents)).astype(np.float32)
    network = copy.deepcopy(model.model).cpu().eval().requires_grad_(False)
    return [
        _Part(
            "encoder",
            EncoderOf(network).eval(),
            torch.from_numpy(pictures),
            ("pictures",),
            ("mean", "deviation"),
        ),
        _Part("decoder", DecoderOf(network).eval(), torch.from_numpy(codes), ("codes",), ("images",)),
    ]


Writer = Callable[[_Part], "tuple[str, bytes, Callable[[Tensor], Arrays]]"]
"""Gives a file's ending, its content, and a function that runs it."""


def _checked(part: _Part, folder: Path, writer: Writer) -> Exported:
    """Export a network, run what was made, and write it if it gives what PyTorch gives."""
    ending, content, run = writer(part)
    difference, size = 0.0, 1.0
    for n in BATCHES:
        batch = part.example[:n]
        for ours, theirs in zip(part.expected(batch), run(batch), strict=True):
            if ours.shape != theirs.shape:
                raise UnweaveError(f"the exported {part.name} gives {theirs.shape} instead of {ours.shape}")
            difference = max(difference, float(np.abs(ours - theirs).max()))
            size = max(size, float(np.abs(ours).max()))
    if not difference <= TOLERANCE * size:
        raise UnweaveError(
            f"the exported {part.name} differs from PyTorch by {difference:.2g}, so it was not written"
        )
    path = folder / f"{part.name}{ending}"
    atomic.write(path, content)
    return Exported(path, len(content), difference)


def _onnx(part: _Part) -> "tuple[str, bytes, Callable[[Tensor], Arrays]]":
    try:
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise UnweaveError(
            f"ONNX needs the package {error.name}: pip install 'unweave[export]'; or choose --format torchscript"
        ) from None
    program = torch.onnx.export(
        part.network,
        (part.example,),
        dynamo=True,
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        input_names=list(part.inputs),
        output_names=list(part.outputs),
        verbose=False,
    )
    assert program is not None
    content = program.model_proto.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(batch: Tensor) -> Arrays:
        return list(session.run(list(part.outputs), {part.inputs[0]: batch.numpy()}))

    return ".onnx", content, run


def _torchscript(part: _Part) -> "tuple[str, bytes, Callable[[Tensor], Arrays]]":
    with torch.no_grad():
        traced: Any = jit.trace(part.network, part.example, check_trace=False)
    buffer = io.BytesIO()
    jit.save(traced, buffer)
    again: Any = jit.load(io.BytesIO(buffer.getvalue()))
    return ".pt", buffer.getvalue(), lambda batch: _arrays(again(batch))


def _torch_export(part: _Part) -> "tuple[str, bytes, Callable[[Tensor], Arrays]]":
    buffer = io.BytesIO()
    torch.export.save(_program(part), buffer)
    again = torch.export.load(io.BytesIO(buffer.getvalue())).module()
    return ".pt2", buffer.getvalue(), lambda batch: _arrays(again(batch))


def _program(part: _Part) -> torch.export.ExportedProgram:
    with torch.no_grad():
        return torch.export.export(
            part.network, (part.example,), dynamic_shapes=({0: torch.export.Dim("batch")},)
        )


def _arrays(found: Tensor | Sequence[Tensor]) -> Arrays:
    return [part.detach().numpy() for part in ([found] if isinstance(found, Tensor) else found)]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Inside, the exporters do not warn of what is not ours to change."""
    names = ("torch.onnx", "onnxscript", "onnx_ir", "torch.export")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
