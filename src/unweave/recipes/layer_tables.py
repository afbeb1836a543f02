"""Architecture tables of the papers: the layers of built networks beside the published ones."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from matplotlib.figure import Figure
from torch import nn

from unweave.networks.layers import ChainReLU
from unweave.plots.style import PALETTE, new_figure

_ACTIVATIONS = (ChainReLU, nn.ReLU, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.BatchNorm2d)


class Layer(NamedTuple):
    """One layer as tables print it: what it is, its outputs, kernel and stride, and what follows it.

    A linear layer has kernel and stride 0. ``halves``: means, then log-variances, printed as 2x10.

    Example:
        >>> Layer("conv", 32, 4, 2, ("ReLU",)).text, Layer("FC", 20, halves=True).text
        ('4x4 conv. 32 stride 2 & ReLU', 'FC. 2x10')
    """

    kind: str
    outputs: int
    kernel: int = 0
    stride: int = 0
    after: tuple[str, ...] = ()
    halves: bool = False

    @property
    def text(self) -> str:
        """As a cell of a table."""
        size = f"{self.kernel}x{self.kernel} " if self.kernel else ""
        stride = f" stride {self.stride}" if self.stride else ""
        outputs = f"2x{self.outputs // 2}" if self.halves else str(self.outputs)
        return " & ".join([f"{size}{self.kind}. {outputs}{stride}", *self.after])


def linear(*widths: int, after: tuple[str, ...] = ()) -> list[Layer]:
    """Linear layers of these widths, each with the same activation.

    Example:
        >>> [layer.text for layer in linear(1200, 1200, after=("ReLU",))]
        ['FC. 1200 & ReLU', 'FC. 1200 & ReLU']
    """
    return [Layer("FC", width, after=after) for width in widths]


def layers_of(network: nn.Module, *, halves: bool = False) -> list[Layer]:
    """The layers of a network, in the order in which it holds (and applies) them.

    Args:
        network: an encoder, decoder or critic.
        halves: the outputs of the last layer are means and log-variances.

    Example:
        >>> from unweave.networks import MLPDecoder
        >>> [layer.text for layer in layers_of(MLPDecoder(2, (1, 1, 2), hidden=(100,), activation="relu"))]
        ['FC. 100 & ReLU', 'FC. 2']
    """
    found: list[Layer] = []
    for module in network.modules():
        if isinstance(module, nn.Linear):
            found.append(Layer("FC", module.out_features))
        elif isinstance(module, nn.ConvTranspose2d | nn.Conv2d):
            kind = "upconv" if isinstance(module, nn.ConvTranspose2d) else "conv"
            found.append(Layer(kind, module.out_channels, module.kernel_size[0], module.stride[0]))
        elif isinstance(module, _ACTIVATIONS):
            found[-1] = found[-1]._replace(after=(*found[-1].after, _name(module)))
    found[-1] = found[-1]._replace(halves=halves)
    return found


def _name(module: nn.Module) -> str:
    if isinstance(module, ChainReLU):
        return "ReLU"
    return (
        f"LeakyReLU({module.negative_slope:g})" if isinstance(module, nn.LeakyReLU) else type(module).__name__
    )


def beside(name: str, published: Sequence[Layer], network: nn.Module) -> list[list[str]]:
    """Rows of a table: part, published layer, built layer, and whether they are the same.

    Where the published table prints a last layer in halves, so is the last built layer.

    Example:
        >>> from unweave.networks import MLPEncoder
        >>> beside("encoder", linear(3, after=("ReLU",)), MLPEncoder((1, 1, 2), 4, hidden=(3,)))
        [['encoder', 'FC. 3 & ReLU', 'FC. 3 & ReLU', 'same'], ['encoder', '', 'FC. 4', 'differs']]
    """
    rows = []
    built = layers_of(network, halves=bool(published) and published[-1].halves)
    for theirs, ours in zip_longest(published, built):
        texts = ["" if layer is None else layer.text for layer in (theirs, ours)]
        rows.append([name, *texts, "same" if theirs == ours else "differs"])
    return rows


def differing(rows: Sequence[Sequence[str]]) -> int:
    """How many rows of :func:`beside` differ.

    Example:
        >>> differing([["encoder", "FC. 3", "FC. 4", "differs"]])
        1
    """
    return sum(row[-1] == "differs" for row in rows)


def picture(rows: Sequence[Sequence[str]], *, title: str) -> Figure:
    """The table as a picture: a line for each row after the header; what differs is marked.

    Example:
        >>> len(picture([["part", "published", "built", ""], ["encoder", "FC. 3", "FC. 3", "same"]], title="a").axes)
        1
    """
    with new_figure(9.0, 0.6 + 0.21 * len(rows)) as figure:
        axes = figure.add_subplot(1, 1, 1)
        axes.set_axis_off()
        axes.set_title(title, loc="left")
        places = [k / max(1, len(rows[0])) for k in range(len(rows[0]))]
        for line, row in enumerate(rows):
            for place, text in zip(places, row, strict=True):
                axes.text(
                    place,
                    1 - (line + 0.5) / len(rows),
                    text,
                    fontsize=7,
                    color=PALETTE[1] if row[-1] == "differs" else "black",
                    weight="bold" if line == 0 else "normal",
                    va="center",
                    transform=axes.transAxes,
                )
    return figure
