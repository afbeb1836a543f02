"""Spatial Broadcast decoder (SBD algorithm 1, tables 1, 5, 7, 9, 10, figure 5)."""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unweave.errors import UnweaveError, check_at_least
from unweave.networks import fast
from unweave.networks.layers import (
    ImageDecoder,
    Initialisation,
    SameConv2d,
    Upconv2d,
    channels_last,
    coordinates,
    initialise,
    linear_stack,
    upconv_or_same,
)
from unweave.networks.shapes import ImageSizeError


def broadcast(codes: Tensor, height: int, width: int) -> Tensor:
    """Tile the codes over the image and append the coordinates x and y (SBD algorithm 1).

    (n, k) -> (n, k + 2, height, width). :class:`SpatialBroadcast` computes the convolution of this tensor without
    constructing it.

    Example:
        >>> broadcast(torch.tensor([[5.0]]), 1, 3)[0].tolist()
        [[[5.0, 5.0, 5.0]], [[-1.0, 0.0, 1.0]], [[-1.0, -1.0, -1.0]]]
    """
    n, latents = codes.shape
    tiles = codes[:, :, None, None].expand(n, latents, height, width)
    return torch.cat([tiles, coordinates(height, width).to(codes).expand(n, 2, height, width)], 1)


def shuffled_coordinates(height: int, width: int, seed: int) -> Tensor:
    """The coordinate channels with their pixels in random order, each pair (x, y) intact (SBD appendix B).

    (2, height, width); the order depends on the seed alone.

    Example:
        >>> pairs = shuffled_coordinates(4, 4, seed=0).flatten(1).t().tolist()
        >>> sorted(pairs) == sorted(coordinates(4, 4).flatten(1).t().tolist())
        True
    """
    order = torch.randperm(height * width, generator=torch.Generator().manual_seed(seed))
    return coordinates(height, width).flatten(1)[:, order].view(2, height, width)


@final
class BroadcastConv2d(nn.Module):
    """First layer of a Spatial Broadcast decoder: convolve tiled codes and coordinates without tiling.

    ``relu(layer(concat(tile(codes), coordinates)))`` for ``layer`` a "same" convolution or an
    up-convolution. A tiled code is the same everywhere, so its convolution at pixel p is ``(sum of the
    kernel's taps that stay inside the image at p) @ code``. Pixels with the same set of such taps form a
    border class; there are k x k of them (4 x 4 for an up-convolution), whatever the image size. The
    convolution of the coordinates is one map for all codes. So

        out[n, :, i, j] = relu( per_class[n, rows[i], columns[j]] + constant[:, i, j] )
        per_class = codes @ (masks @ latent weights)          constant = layer(coordinates) + bias

    Exact: equal to the literal form to rounding, gradients too. Forward and backward take 11 ms instead of
    70 for 16 codes at 64 x 64 with 64 channels on one core.

    Args:
        latents: size of the code.
        layer: holds weight and bias; has ``latents + 2`` inputs.
        grid: the coordinate channels (2, height, width), part of the ``state_dict``.

    Example:
        >>> first = BroadcastConv2d(10, SameConv2d(12, 64), coordinates(8, 8))
        >>> codes = torch.ones(2, 10)
        >>> torch.allclose(first(codes), torch.relu(first.layer(broadcast(codes, 8, 8))), atol=1e-5)
        True
    """

    grid: Tensor
    masks: Tensor
    rows: Tensor
    columns: Tensor

    def __init__(self, latents: int, layer: SameConv2d | Upconv2d, grid: Tensor) -> None:
        super().__init__()
        self.latents = latents
        self.layer = layer
        stride = 2 if isinstance(layer, Upconv2d) else 1
        kernel = layer.kernel_size[0]
        row_masks, rows = _border_classes(grid.shape[1], kernel, stride)
        column_masks, columns = _border_classes(grid.shape[2], kernel, stride)
        self.register_buffer("grid", grid.clone())
        self.register_buffer("masks", torch.kron(row_masks, column_masks), persistent=False)
        self.register_buffer("rows", rows, persistent=False)
        self.register_buffer("columns", columns, persistent=False)

    def forward(self, codes: Tensor, extra: int = 0) -> Tensor:
        """(n, latents) -> (n, C, H + extra, W + extra); the extra rows and columns at the end are zeros."""
        weight = self.layer.weight
        if isinstance(self.layer, Upconv2d):
            weight = weight.transpose(0, 1)
        n, outputs = codes.shape[0], weight.shape[0]  # len() would fix the number in an export
        classes = torch.einsum("pt,cdt->dpc", self.masks, weight[:, : self.latents].flatten(2))
        per_class = codes @ classes.flatten(1)
        # A row (or column) of zeros in the expansion makes a row (or column) of zeros in the maps.
        rows, columns = (F.pad(expand, (0, 0, 0, extra)) for expand in (self.rows, self.columns))
        per_row = columns @ per_class.view(n * rows.shape[1], columns.shape[1], outputs)
        maps = rows @ per_row.view(n, rows.shape[1], len(columns) * outputs)
        constant = F.pad(self._constant(), (0, extra, 0, extra)).permute(1, 2, 0).reshape(len(rows), -1)
        return maps.add_(constant).relu_().view(n, len(rows), len(columns), outputs).permute(0, 3, 1, 2)

    def _constant(self) -> Tensor:
        """The contribution of the coordinates and the bias, (C, H, W), the same for every code."""
        layer, grid = self.layer, self.grid[None]
        if isinstance(layer, Upconv2d):
            weight = layer.weight[self.latents :]
            return F.conv_transpose2d(grid, weight, layer.bias, 2, layer.padding, layer.output_padding)[0]
        grid = F.pad(grid, (0, layer.extra, 0, layer.extra))
        return F.conv2d(grid, layer.weight[:, self.latents :], layer.bias, padding=layer.padding)[0]


def _border_classes(size: int, kernel: int, stride: int) -> tuple[Tensor, Tensor]:
    """Along one axis: the distinct sets of valid taps, and which of them each position has.

    Returns the sets as 0/1 (classes, kernel), and each position's class as one-hot (positions, classes).

    A tap of a stride-1 convolution is valid where it is inside the image; a tap of an up-convolution, where in
    addition its source is an input pixel and not between two.
    """
    before = (kernel - 1) // 2
    positions: list[tuple[bool, ...]] = []
    for place in range(size * stride):
        if stride == 1:
            sources = [place - before + tap for tap in range(kernel)]
            positions.append(tuple(0 <= source < size for source in sources))
        else:
            sources = [place + before - tap for tap in range(kernel)]
            positions.append(tuple(source % 2 == 0 and 0 <= source // 2 < size for source in sources))
    classes = list(dict.fromkeys(positions))
    member = torch.tensor([classes.index(position) for position in positions])
    return torch.tensor(classes, dtype=torch.float32), F.one_hot(member, len(classes)).float()


@final
class SpatialBroadcast(ImageDecoder):
    """Spatial Broadcast decoder: tile the code, append x and y, convolve with stride 1 (SBD algorithm 1).

    (n, latents) -> (n, C, H, W), any height and width. ReLU between the layers, none at the end. The first
    layer is computed without tiling (:class:`BroadcastConv2d`).

    | published | options |
    |---|---|
    | SBD tables 1 and 2 (the defaults) | ``depth=3`` |
    | SBD table 5 | ``depth=2`` ... ``5``; 3D Object-in-Room ``depth=6`` |
    | SBD tables 7 and 9 | ``mlp=()``, ``(256,)``, ``(256, 256)``, ``(256, 256, 256)`` |
    | SBD table 10 | ``upscales=0`` ... ``3`` |
    | SBD figure 5 | ``shuffle_coordinates=True`` |

    Args:
        latents: size of the code.
        output_shape: (channels, height, width) of the output; the channels are those the likelihood needs.
        depth: number of convolutions, the output layer among them; at least 2.
        width: channels of the hidden convolutions.
        kernel: kernel size; "same" padding, an even kernel has its extra zero at the end.
        mlp: widths of linear layers (ReLU) before the tiling; SBD publishes only their number.
        upscales: how many layers, from the code on, are up-convolutions with stride 2 (SBD appendix G.3); the
            tile is smaller accordingly.
        shuffle_coordinates: put the coordinate pairs in a random order that stays the same for the whole run.
        shuffle_seed: seed of that order; none: drawn with the weights, so that every seed of a run has an order of its
            own (SBD figure 5).
        initialisation: "truncated_normal" weights with zero biases (SBD appendix A) or PyTorch's "default".

    Example:
        >>> decoder = SpatialBroadcast(10, (3, 64, 64))
        >>> decoder(torch.zeros(2, 10)).shape
        torch.Size([2, 3, 64, 64])
        >>> sum(p.numel() for p in decoder.parameters())
        81027
    """

    def __init__(
        self,
        latents: int,
        output_shape: tuple[int, int, int],
        *,
        depth: int = 3,
        width: int = 64,
        kernel: int = 4,
        mlp: tuple[int, ...] = (),
        upscales: int = 0,
        shuffle_coordinates: bool = False,
        shuffle_seed: int | None = 0,
        initialisation: Initialisation = "truncated_normal",
    ) -> None:
        super().__init__(latents, output_shape, depth=depth, width=width, kernel=kernel, mlp=mlp)
        colours, rows, columns = self.output_shape
        if not 2 <= depth <= 1000:
            raise UnweaveError(
                f"depth must be at least 2 (one hidden layer and the output) and at most 1000, got {depth}"
            )
        check_at_least("kernel", kernel, 2)
        tile = _tile(rows, columns, depth, upscales)
        grid = coordinates(*tile)
        if shuffle_coordinates:
            drawn = int(torch.randint(1 << 31, (), device="cpu")) if shuffle_seed is None else shuffle_seed
            grid = shuffled_coordinates(*tile, drawn)
        self.mlp = nn.Sequential(*linear_stack((latents, *mlp)))
        size = (latents, *mlp)[-1]
        sizes = (size + 2, *[width] * (depth - 1), colours)
        first, *rest = (
            upconv_or_same(sizes[place], sizes[place + 1], 2 if place < upscales else 1, kernel)
            for place in range(depth)
        )
        self.first = BroadcastConv2d(size, first, grid)
        self.rest = nn.ModuleList(rest)
        initialise(self, initialisation)

    def forward(self, codes: Tensor) -> Tensor:
        """(n, latents) -> (n, C, H, W)."""
        second = self.rest[0]
        # The first layer can append the extra zeros that an even kernel needs, which saves the second layer a copy.
        spare = isinstance(second, SameConv2d) and second.extra == 1 and second.out_channels > fast.THIN
        maps: Tensor = self.first(self.mlp(codes), extra=int(spare))
        maps = second(maps, appended=True) if spare else second(maps)
        for layer in self.rest[1:]:
            maps = layer(maps.relu_())
        return channels_last(maps)


def _tile(rows: int, columns: int, depth: int, upscales: int) -> tuple[int, int]:
    """Height and width of the tiled code, which is doubled ``upscales`` times."""
    if isinstance(upscales, bool) or not isinstance(upscales, int) or not 0 <= upscales <= depth:
        raise UnweaveError(f"upscales must be a whole number from 0 to the depth, {depth}, got {upscales}")
    shrink = 2**upscales
    if rows % shrink or columns % shrink:
        raise ImageSizeError(
            f"image size {rows} x {columns} cannot be doubled {upscales} times from a smaller tile: "
            f"choose a multiple of {shrink} or fewer upscales",
            -(-max(rows, columns) // shrink) * shrink,
        )
    return rows // shrink, columns // shrink
