"""``unweave explore``."""

from pathlib import Path

import click

from unweave.cli.commands import cli, importing
from unweave.cli.flags import out_flag, quiet_flag
from unweave.cli.terminal import prepare_logging, print_line


@cli.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@out_flag("path", "File of the page.", Path("explore.html"))
@click.option("--float32", "is_exact", is_flag=True, help="Weights of 32 bits instead of 16: twice the page.")
@quiet_flag
def explore(models: tuple[str, ...], path: Path, is_exact: bool, quiet: bool) -> None:
    """Write one HTML file in which you move the latents of a model, or of several side by side, and see what they do.

    MODEL is a run, a model folder, a .safetensors file or a kept model. The file needs no server and asks for nothing
    from the network: open it in a browser, send it, look at it on a phone. Drop a picture of your own on it.

    \b
      unweave explore dsprites-vae
      unweave explore demo/deconv demo/spatialbroadcast --out both.html
    """  # noqa: D301
    with importing():
        from unweave.explorer import write_explorer

    prepare_logging(quiet)
    written = write_explorer(list(models), path, precision="float32" if is_exact else "fixed16")
    print_line(f"page: {written.resolve()} ({written.stat().st_size / 1e6:.1f} MB)", quiet=quiet)
