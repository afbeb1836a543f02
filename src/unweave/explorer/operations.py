"""Networks as lists of operations that the page's kernel computes.

An operation is a dictionary: ``op`` says which, the rest are its sizes and where its weights are in the blob.

| op | computes | of |
|---|---|---|
| ``linear`` | ``activation(weight x + bias)`` | vectors |
| ``layernorm`` | layer norm and activation | vectors |
| ``unflatten``, ``flatten`` | a vector as maps, maps as a vector, channels innermost | |
| ``conv``, ``upconv`` | convolution with stride 1 or 2, transposed convolution with stride 2, and activation | maps |
| ``affine`` | ``scale x + shift`` of each channel | both |
| ``broadcast`` | tile a code, append coordinates, convolve | a vector to maps |

Batch norms are folded into the layer before them. With ``coordinates`` a convolution has two more inputs, x and y.
"""

from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from unweave.explorer.blob import Array, Blob, NotPackable
from unweave.networks import (
    Conv,
    CoordConv,
    DCGANDecoder,
    DCGANEncoder,
    Deconv,
    MLPDecoder,
    MLPEncoder,
    SpatialBroadcast,
)
from unweave.networks.infogan import InfoGANCritic, InfoGANGenerator
from unweave.networks.layers import ChainReLU, coordinates

Operation = dict[str, Any]
MapShape = tuple[int, int, int]

_LAYERS = ("linear", "conv", "upconv")
_DECODERS = (MLPDecoder, Deconv, InfoGANGenerator, CoordConv, DCGANDecoder, SpatialBroadcast)


def array(tensor: Tensor) -> Array:
    """A tensor as an array in double precision, in which batch norms are folded.

    Example:
        >>> array(torch.ones(2, dtype=torch.float16))
        array([1., 1.])
    """
    return tensor.detach().cpu().double().numpy()


@final
class Program:
    """Operations in the making; arrays in place of their descriptions until :meth:`stored`.

    Example:
        >>> program = Program()
        >>> program.add(nn.Sequential(nn.Linear(3, 4), nn.ReLU()))
        >>> [operation["op"] for operation in program.stored(Blob("float32"))]
        ['linear']
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._flat: MapShape | None = None  # of the maps that the next linear layer gets, channels first

    def add(self, network: nn.Module) -> None:
        """Append a layer, or all layers of a sequence."""
        padding = 0
        for layer in network if isinstance(network, nn.Sequential) else [network]:
            if isinstance(layer, nn.ZeroPad2d):
                padding = int(layer.padding[0])
            else:
                self._add_layer(layer, padding)
                padding = 0

    def _add_layer(self, layer: nn.Module, padding: int) -> None:
        if isinstance(layer, nn.Linear):
            self.linear(array(layer.weight), array(layer.bias))
        elif isinstance(layer, nn.Conv2d):
            self.conv(layer, padding)
        elif isinstance(layer, nn.ConvTranspose2d):
            self.upconv(layer)
        elif isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
            self._batch_norm(layer)
        elif isinstance(layer, nn.LayerNorm):
            scale, shift = array(layer.weight), array(layer.bias)
            self.operations.append(
                {"op": "layernorm", "scale": scale, "shift": shift, "epsilon": layer.eps, "slope": 1.0}
            )
        elif isinstance(layer, nn.ReLU | ChainReLU):
            self._activate("slope", 0.0)
        elif isinstance(layer, nn.LeakyReLU):
            self._activate("slope", float(layer.negative_slope))
        elif isinstance(layer, nn.Tanh):
            self._activate("tanh", True)
        else:
            raise NotPackable(f"the page has no layer {type(layer).__name__}")

    def linear(self, weight: Array, bias: Array) -> None:
        """Append a linear layer, weight (outputs, inputs); behind maps, with its inputs in their order."""
        if self._flat is not None:
            weight = weight.reshape(-1, *self._flat).transpose(0, 2, 3, 1).reshape(len(weight), -1)
            self._flat = None
        self.operations.append({"op": "linear", "weight": weight, "bias": bias, "slope": 1.0, "tanh": False})

    def conv(self, layer: nn.Conv2d, padding: int = 0, coordinates: bool = False) -> None:
        """Append a convolution, "same" or with stride 2; ``padding``: zeros that a layer before it puts in front."""
        before = padding + int(layer.padding[0])
        weight = array(layer.weight).transpose(2, 3, 1, 0)
        self._append_conv("conv", layer, weight, before, coordinates)

    def upconv(self, layer: nn.ConvTranspose2d, coordinates: bool = False) -> None:
        """Append a transposed convolution with stride 2."""
        weight = array(layer.weight).transpose(2, 3, 0, 1)
        self._append_conv("upconv", layer, weight, int(layer.padding[0]), coordinates)

    def _append_conv(
        self,
        op: str,
        layer: nn.Conv2d | nn.ConvTranspose2d,
        weight: Array,
        before: int,
        with_coordinates: bool,
    ) -> None:
        stride = layer.stride[0]
        plain = layer.groups == 1 and set(layer.dilation) == {1} and len({*layer.stride, stride}) == 1
        if not plain or layer.padding_mode != "zeros" or layer.bias is None or stride > 2:
            raise NotPackable(f"the page has no such {type(layer).__name__}: {layer}")
        bias = array(layer.bias)
        operation = {"op": op, "weight": weight, "bias": bias, "stride": stride, "before": before}
        self.operations.append({**operation, "coordinates": with_coordinates, "slope": 1.0})

    def _activate(self, key: str, value: float | bool) -> None:
        last = self.operations[-1] if self.operations else {}
        if last.get("slope") != 1.0 or last.get("tanh") or key not in last:
            raise NotPackable("the page has no activation that follows no layer")
        last[key] = value

    def _batch_norm(self, layer: nn.BatchNorm1d | nn.BatchNorm2d) -> None:
        if layer.running_mean is None or layer.running_var is None:
            raise NotPackable(
                "a batch norm without running statistics depends on the other images of its batch"
            )
        scale = array(layer.weight) / np.sqrt(array(layer.running_var) + layer.eps)
        shift = array(layer.bias) - array(layer.running_mean) * scale
        last: Operation = self.operations[-1] if self.operations else {"op": "none"}
        if last["op"] in _LAYERS and last["slope"] == 1.0 and not last.get("tanh"):
            along = scale[:, None] if last["op"] == "linear" else scale  # outputs come first, or last
            last["weight"] = last["weight"] * along
            last["bias"] = last["bias"] * scale + shift
        else:
            self.operations.append({"op": "affine", "scale": scale, "shift": shift})

    def unflatten(self, shape: MapShape) -> None:
        """The vector so far is maps (channels, height, width); its numbers are put in the order of the page's maps."""
        order = np.arange(int(np.prod(shape))).reshape(shape).transpose(1, 2, 0).ravel()
        for operation in reversed(self.operations):
            for key in ("weight", "bias", "scale", "shift"):
                if key in operation:
                    operation[key] = operation[key][order]
            if operation["op"] == "linear":
                break
        self.operations.append({"op": "unflatten", "shape": list(shape)})

    def flatten(self, shape: MapShape) -> None:
        """The maps (channels, height, width) so far become a vector."""
        self.operations.append({"op": "flatten"})
        self._flat = shape

    def keep_channels(self, channels: int) -> None:
        """Leave out all channels of the output maps but the first ones."""
        last = self.operations[-1]
        if last["op"] == "unflatten":
            total, height, width = last["shape"]
            last["shape"] = [channels, height, width]
            last = self.operations[-2]
            kept = np.arange(len(last["bias"])).reshape(height * width, total)[:, :channels].ravel()
            last["weight"], last["bias"] = last["weight"][kept], last["bias"][kept]
        else:
            last["weight"], last["bias"] = last["weight"][..., :channels], last["bias"][:channels]

    def stored(self, blob: Blob) -> list[Operation]:
        """The operations with their arrays in the blob, and their sizes."""
        sizes = [operation["weight"].size for operation in self.operations if "weight" in operation]
        mean = float(np.mean(sizes)) if sizes else 1.0
        return [_stored(operation, blob, mean) for operation in self.operations]


def _stored(operation: Operation, blob: Blob, mean_size: float) -> Operation:
    made = dict(operation)
    for key, value in operation.items():
        if not isinstance(value, np.ndarray):
            continue
        if key == "weight":
            # Rounding errors of the layers add up by their squares, and a bit costs as much as there are weights: the
            # sum is least for the bytes that are spent if each layer's square grows with its number of weights.
            coarseness = float(np.sqrt(value.size / mean_size))
            made[key] = blob.weights(value, by_row=operation["op"] == "linear", coarseness=coarseness)
        else:
            made[key] = blob.numbers(value)
    if operation["op"] == "linear":
        made["outputs"], made["inputs"] = operation["weight"].shape
    elif "weight" in operation:
        made["kernel"], _, made["inputs"], made["outputs"] = operation["weight"].shape
    elif "scale" in operation:
        made["channels"] = len(operation["scale"])
    return made


def require_known(slot: str, part: nn.Module, known: tuple[type[nn.Module], ...], kind: str) -> None:
    """Raise :class:`NotPackable` for a part from outside; so is a subclass of a built-in one: it may compute anything.

    Example:
        >>> require_known("encoder", nn.Flatten(), (Conv,), "networks")
        Traceback (most recent call last):
        ...
        unweave.explorer.blob.NotPackable: encoder Flatten is not one of the built-in networks
    """
    if type(part) not in known:
        raise NotPackable(f"{slot} {type(part).__name__} is not one of the built-in {kind}")


def decoder_program(decoder: nn.Module) -> Program:
    """The operations of a built-in decoder, from the code to the likelihood's features.

    Example:
        >>> [operation["op"] for operation in decoder_program(Deconv(2, (1, 8, 8), channels=(4, 4))).operations]
        ['linear', 'linear', 'unflatten', 'upconv', 'upconv']
    """
    program = Program()
    require_known("decoder", decoder, _DECODERS, "networks")
    if isinstance(decoder, MLPDecoder):
        program.add(decoder.linear)
        program.unflatten(decoder.output_shape)
    elif isinstance(decoder, Deconv | InfoGANGenerator):
        program.add(decoder.linear)
        program.unflatten(decoder.start)
        program.add(decoder.upconvolutions)
    elif isinstance(decoder, CoordConv):
        program.add(decoder.linear)
        program.unflatten(decoder.start)
        _add_coordconv(program, decoder)
    elif isinstance(decoder, DCGANDecoder):
        weight = array(decoder.first.weight)  # an up-convolution of one pixel: a linear layer
        assert decoder.first.bias is not None
        _, maps, height, width = weight.shape
        bias = np.repeat(array(decoder.first.bias), height * width)
        program.linear(weight.reshape(len(weight), -1).T, bias)
        program.unflatten((maps, height, width))
        _add_folded_start(program, decoder.upconvolutions)
    else:
        assert isinstance(decoder, SpatialBroadcast)
        _add_broadcast(program, decoder)
    return program


def _add_coordconv(program: Program, decoder: CoordConv) -> None:
    for place, layer in enumerate(decoder.upconvolutions):
        if place:
            program.add(nn.ReLU())
        if isinstance(layer, nn.ConvTranspose2d):
            program.upconv(layer, coordinates=True)
        else:
            assert isinstance(layer, nn.Conv2d)
            program.conv(layer, coordinates=True)


def _add_folded_start(program: Program, layers: nn.Sequential) -> None:
    """DCGAN's maps have their batch norm and ReLU behind the linear layer that makes them."""
    norm, _, *rest = layers
    assert isinstance(norm, nn.BatchNorm2d) and norm.running_mean is not None and norm.running_var is not None
    first, unflatten = program.operations
    repeats = unflatten["shape"][1] * unflatten["shape"][2]
    scale = array(norm.weight) / np.sqrt(array(norm.running_var) + norm.eps)
    shift = array(norm.bias) - array(norm.running_mean) * scale
    scale, shift = np.tile(scale, repeats), np.tile(shift, repeats)  # channels are innermost by now
    first["weight"] = first["weight"] * scale[:, None]
    first["bias"] = first["bias"] * scale + shift
    first["slope"] = 0.0
    program.add(nn.Sequential(*rest))


def _add_broadcast(program: Program, decoder: SpatialBroadcast) -> None:
    program.add(decoder.mlp)
    first = decoder.first
    grid = first.grid.detach().cpu()
    plain = torch.equal(grid, coordinates(*grid.shape[1:]))
    up = isinstance(first.layer, nn.ConvTranspose2d)
    order = (2, 3, 0, 1) if up else (2, 3, 1, 0)
    operation = {
        "op": "broadcast",
        "weight": array(first.layer.weight).transpose(order),
        "bias": array(first.layer.bias),
        "stride": 2 if up else 1,
        "before": int(first.layer.padding[0]),
        "latents": first.latents,
        "tile": list(grid.shape[1:]),
        "grid": None if plain else array(grid).transpose(1, 2, 0),
        "slope": 1.0,
    }
    program.operations.append(operation)
    for layer in decoder.rest:
        program.add(nn.Sequential(nn.ReLU(), layer))


def encoder_program(encoder: nn.Module) -> Program:
    """The operations of a built-in encoder, from the image to the posterior's features.

    Example:
        >>> [operation["op"] for operation in encoder_program(Conv((1, 8, 8), 4, channels=(4, 4))).operations]
        ['conv', 'conv', 'flatten', 'linear', 'linear']
    """
    program = Program()
    require_known("encoder", encoder, (MLPEncoder, Conv, DCGANEncoder), "networks")
    if isinstance(encoder, MLPEncoder):
        program.flatten(encoder.image_shape)
        program.add(encoder.linear)
    elif isinstance(encoder, Conv):
        program.add(encoder.convolutions)
        program.flatten(_last_maps(program, encoder.image_shape))
        program.add(encoder.linear)
    else:
        assert isinstance(encoder, DCGANEncoder)
        program.add(encoder.convolutions)
        weight, last = array(encoder.last.weight), encoder.last.bias
        assert last is not None
        program.flatten((weight.shape[1], weight.shape[2], weight.shape[3]))
        program.linear(weight.reshape(len(weight), -1), array(last))
    return program


def critic_program(critic: InfoGANCritic, image_shape: MapShape) -> Program:
    """The operations of a GAN's encoder Q, from the image to the features of its codes.

    Example:
        >>> critic = InfoGANCritic((1, 8, 8), 4, channels=(4, 4)).eval()
        >>> [operation["op"] for operation in critic_program(critic, (1, 8, 8)).operations]
        ['conv', 'conv', 'flatten', 'linear', 'linear', 'linear']
    """
    program = Program()
    program.add(critic.convolutions)
    program.flatten(_last_maps(program, image_shape))
    program.add(critic.linear)
    program.add(critic.code)
    return program


def _last_maps(program: Program, image_shape: MapShape) -> MapShape:
    """The shape of the maps behind the convolutions so far."""
    channels, height, width = image_shape
    for operation in program.operations:
        if operation["op"] == "conv":
            channels = operation["weight"].shape[-1]
            height, width = height // operation["stride"], width // operation["stride"]
    return channels, height, width
