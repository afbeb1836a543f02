"""Flags that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from unweave.errors import UnweaveError

Decorated = TypeVar("Decorated", bound=Callable[..., object])


def out_flag(parameter: str, help_text: str, default: Path | None = None) -> Callable[[Decorated], Decorated]:
    """``--out PATH``, which the command receives as ``parameter``."""
    return click.option(
        "--out",
        parameter,
        type=click.Path(path_type=Path),
        default=default,
        show_default=default is not None,
        help=help_text,
    )


threads_flag = click.option(
    "--threads",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of CPU threads.",
)
device_flag = click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1 ...")
quiet_flag = click.option("--quiet", is_flag=True, help="Print errors only.")
seed_flag = click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of all random numbers."
)
options_argument = click.argument("words", nargs=-1, metavar="[METRIC.OPTION=VALUE]...")
metrics_flag = click.option(
    "--metrics",
    metavar="NAMES",
    help="Comma-separated names, or all [default: all]. `unweave metrics` lists them; a metric of your own is "
    "package.module:Name or path.py:Name.",
)


def _checked_tracker(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    """Refuse a tracker that does not exist or is not installed, before anything is trained."""
    from unweave.tracking.registry import check_tracker

    if name is not None:
        check_tracker(name)
    return name


track_flag = click.option(
    "--track",
    callback=_checked_tracker,
    help="Also send losses, scores, pictures and config to a tracker while it runs: tensorboard, mlflow or wandb.",
)
intervals_flag = click.option(
    "--intervals/--no-intervals",
    default=True,
    show_default=True,
    help="Whether to compute 95 % intervals, which takes longer.",
)


def checked_device(name: str) -> str:
    """The name of the device, if it is available."""
    import torch

    try:
        torch.empty(0, device=name)
    except Exception as error:  # torch raises several types for a device that is not available
        raise UnweaveError(f"device {name!r} is not available: {str(error).splitlines()[0][:100]}") from error
    return name
