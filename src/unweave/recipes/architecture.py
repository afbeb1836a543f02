"""Networks as they are built, layer by layer, beside the layers that a paper prints."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from unweave.networks.broadcast import BroadcastConv2d
from unweave.plots.text_table import text_table
from unweave.recipes.claims import Finding, equal
from unweave.recipes.recipe import Conclusion, Job

_ACTIVATIONS = {
    "relu": "relu",
    "relu_": "relu",
    "leaky_relu": "leaky relu",
    "leaky_relu_": "leaky relu",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "tanh_": "tanh",
}


class _Activations(TorchDispatchMode):
    """Writes down every activation, whether a module or a function computes it."""

    def __init__(self, seen: list[str], slopes: bool) -> None:
        TorchDispatchMode.__init__(self)
        self.seen = seen
        self.slopes = slopes

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = function._schema.name.removeprefix("aten::")
        if name in _ACTIVATIONS:
            slope = (
                f" {args[1] if len(args) > 1 else 0.01:g}"  # 0.01 is torch's default, which is not passed on
            )
            leaky = self.slopes and name.startswith("leaky_relu")
            self.seen.append(_ACTIVATIONS[name] + (slope if leaky else ""))
        return function(*args, **(kwargs or {}))


@contextmanager
def _recorded(network: nn.Module, seen: list[str], slopes: bool) -> Iterator[None]:
    """Writes the layers of a network into ``seen`` as they are entered."""

    def enter(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        seen.extend(_words(module, inputs))

    hooks = [module.register_forward_pre_hook(enter) for module in network.modules()]
    try:
        with torch.no_grad(), _Activations(seen, slopes):
            yield
    finally:
        for hook in hooks:
            hook.remove()


def _words(module: nn.Module, inputs: tuple[Any, ...]) -> list[str]:
    """A layer in words; nothing for a module that only holds others."""
    if isinstance(module, BroadcastConv2d):
        size = f"{module.grid.shape[1]}x{module.grid.shape[2]}x{module.latents}"
        return [f"tile {size}", "append coordinates", *_words(module.layer, ())]
    if isinstance(module, nn.ConvTranspose2d):
        return [f"upconv {_window(module)} {module.out_channels} stride {module.stride[0]}"]
    if isinstance(module, nn.Conv2d):
        return [f"conv {_window(module)} {module.out_channels} stride {module.stride[0]}"]
    if isinstance(module, nn.Linear):
        return [f"linear {module.out_features}"]
    if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
        return ["batch norm"]
    return ["layer norm"] if isinstance(module, nn.LayerNorm) else []


def _window(module: nn.Conv2d | nn.ConvTranspose2d) -> str:
    return "x".join(map(str, module.kernel_size))


def layers_of(
    network: nn.Module,
    run: Callable[[], Any] | None = None,
    inputs: Tensor | None = None,
    *,
    slopes: bool = False,
) -> list[str]:
    """The layers of a network in the order in which they are used, each in words.

    Args:
        network: what to record.
        run: what to call; none: the network itself, with ``inputs``.
        inputs: of the network.
        slopes: write the slope of every leaky ReLU, for tables that print it.

    Example:
        >>> layers_of(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), inputs=torch.zeros(1, 3))
        ['linear 5', 'relu', 'linear 2']
        >>> layers_of(nn.LeakyReLU(0.2), inputs=torch.zeros(1, 3), slopes=True)
        ['leaky relu 0.2']
    """
    seen: list[str] = []
    network.eval()
    with _recorded(network, seen, slopes):
        if run is not None:
            run()
        else:
            assert inputs is not None
            network(inputs)
    return seen


@dataclass(frozen=True)
class Column:
    """A column of a table of layers: what is printed, what is built, and why they differ where they do.

    Args:
        name: heading.
        published: the layers as printed.
        built: makes the layers that are built.
        readings: place of a published layer, from 0, -> why ours is another.

    Example:
        >>> Column("MLP", ["linear 2"], lambda: ["linear 2"]).differences()
        []
    """

    name: str
    published: Sequence[str]
    built: Callable[[], list[str]]
    readings: Mapping[int, str] = field(default_factory=dict)

    def rows(self) -> list[list[str]]:
        """Layer by layer; a layer that only one of them has stands alone."""
        ours = self.built()
        rows = []
        for place in range(max(len(ours), len(self.published))):
            theirs = self.published[place] if place < len(self.published) else ""
            own = ours[place] if place < len(ours) else ""
            rows.append(
                [
                    self.name,
                    str(place + 1),
                    theirs,
                    own,
                    "" if theirs == own else self.readings.get(place, "differs"),
                ]
            )
        return rows

    def differences(self) -> list[int]:
        """Places where the built layer is another than the published one and no reading explains it."""
        return [int(row[1]) - 1 for row in self.rows() if row[4] == "differs"]


def architecture(
    columns: Callable[[], Sequence[Column]],
    more: Callable[[], list[Finding]] | None = None,
    note: str = "",
) -> Callable[[Job], Conclusion]:
    """The conclusion of a table of layers: published and built side by side.

    Args:
        columns: of the table.
        more: further findings.
        note: a sentence that is shown with the result.

    Example:
        >>> from unweave.recipes.recipe import RECIPES
        >>> shown = architecture(lambda: [Column("MLP", ["linear 2"], lambda: ["linear 3"])])
        >>> [finding.value for finding in shown(Job(RECIPES["rec-tablea3"], "smoke")).findings]
        [1.0]
    """

    def conclude(job: Job) -> Conclusion:
        job.note(note)
        chosen = columns()
        rows = [["network", "layer", "published", "built", ""]]
        rows += [row for column in chosen for row in column.rows()]
        findings = [
            equal(f"{column.name}: layers that differ from the published ones", len(column.differences()), 0)
            for column in chosen
        ]
        pictures = {"layers": text_table(rows)}
        return Conclusion(rows, [*findings, *(more() if more is not None else [])], pictures)

    return conclude
