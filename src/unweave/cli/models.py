"""What is done with a trained model: ``unweave encode | decode | sample | reconstruct | traverse | ... | export``."""

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unweave.cli.commands import cli
from unweave.cli.flags import checked_device, device_flag, out_flag, quiet_flag, seed_flag, threads_flag
from unweave.cli.terminal import counting, prepare_logging, print_line, print_table, progress
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from unweave.models import TrainedModel

PICTURES = (".png", ".svg", ".pdf")

model_argument = click.argument("model", metavar="MODEL")
count_flag = click.option("-n", "count", type=click.IntRange(min=1), help="Number of images [default: all].")
skip_flag = click.option("--skip-bad", is_flag=True, help="Leave out pictures that cannot be read.")
steps_flag = click.option(
    "--steps", default=9, show_default=True, type=click.IntRange(min=2), help="Number of images in a row."
)


def model_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the argument MODEL, which it receives opened, and the flags that say where it runs."""

    @functools.wraps(command)
    def with_model(model: str, threads: int, device: str, quiet: bool, **values: Any) -> None:
        from unweave.models import load
        from unweave.training import cpu

        prepare_logging(quiet)
        cpu.prepare(threads)
        command(load(model, checked_device(device)), quiet=quiet, **values)

    for flag in (quiet_flag, device_flag, threads_flag, model_argument):
        with_model = flag(with_model)
    return with_model


@cli.command()
@model_flags
@click.argument("images")
@out_flag("path", "File: .npz, .csv or .parquet.", Path("codes.csv"))
@count_flag
@skip_flag
@seed_flag
def encode(
    model: "TrainedModel", images: str, path: Path, count: int | None, skip_bad: bool, seed: int, quiet: bool
) -> None:
    """Write the codes of images: means, deviations and KL of each latent, and the name of each image's file.

    MODEL is a run, a model folder, a .safetensors file or a kept model. IMAGES is a folder of pictures of any size, a
    picture, an npz or HDF5 file with `images`, or the name of a data set. However many there are, the memory needed is
    the same.

    \b
      unweave encode runs/x photos/ --out codes.csv
      unweave encode runs/x dsprites -n 10000 --out codes.npz && unweave score codes.npz
    """  # noqa: D301
    began = time.monotonic()
    with counting("encoding", quiet=quiet) as tell:
        done = model.encode_to(images, path, tell=tell, count=count, seed=seed, skip_bad=skip_bad)
    seconds = max(time.monotonic() - began, 1e-9)
    print_line(f"{_images(done)}: {path}", quiet=quiet)
    if seconds > 10:
        print_line(f"{done / seconds:,.0f} images a second", quiet=quiet)


@cli.command()
@model_flags
@click.argument("codes", type=click.Path(path_type=Path))
@out_flag("folder", "Folder of the images.", Path("decoded"))
def decode(model: "TrainedModel", codes: Path, folder: Path, quiet: bool) -> None:
    """Write the images of codes, one PNG file for each row.

    CODES is a file as `encode` writes it, or any csv, parquet, npz or npy file with a column for each latent.
    """
    from unweave.metrics.files import load_codes
    from unweave.models.image_files import write_images

    rows = model.checked_codes(load_codes(codes))
    with counting("decoding", quiet=quiet) as tell:
        write_images(folder, model.decode_blocks(rows), len(rows), tell)
    print_line(f"{_images(len(rows))}: {folder}", quiet=quiet)


@cli.command()
@model_flags
@click.option(
    "-n", "count", default=64, show_default=True, type=click.IntRange(min=1), help="Number of images."
)
@seed_flag
@out_flag("path", "A picture (.png, .svg, .pdf) of them all, or a folder of PNG files.", Path("samples.png"))
def sample(model: "TrainedModel", count: int, seed: int, path: Path, quiet: bool) -> None:
    """Draw new images from the prior."""
    from unweave.models.image_files import write_images
    from unweave.models.sample import sample as blocks
    from unweave.plots import image_grid, save

    with counting("drawing", quiet=quiet) as tell:
        if path.suffix.lower() in PICTURES:
            save(image_grid(model.sample(count, seed=seed, tell=tell)), path)
        else:
            write_images(path, blocks(model, count, seed=seed), count, tell)
    print_line(f"{_images(count)}: {path}", quiet=quiet)


@cli.command()
@model_flags
@click.argument("images")
@count_flag
@skip_flag
@seed_flag
@out_flag(
    "path", "A picture (.png, .svg, .pdf) of the first 16, or a folder of all.", Path("reconstructions.png")
)
def reconstruct(
    model: "TrainedModel", images: str, count: int | None, skip_bad: bool, seed: int, path: Path, quiet: bool
) -> None:
    """Show what a model makes of images: originals above, the images of their mean codes below.

    IMAGES is as for `encode`.
    """
    from unweave.models.image_files import write_reconstructions
    from unweave.models.reconstruct import sheet
    from unweave.plots import reconstructions, save

    as_picture = path.suffix.lower() in PICTURES
    wanted = count if count is not None or not as_picture else 16
    source = model.images(images, count=wanted, skip_bad=skip_bad, seed=seed)
    with counting("reconstructing", quiet=quiet) as tell:
        if as_picture:
            originals, made = sheet(model, source, wanted or 16, tell)
            save(reconstructions(originals, made), path)
            error = float(((made - originals) ** 2).mean())
            told = f"{_images(len(made))}: {path} (mean squared error {error:.4f})"
        else:
            told = f"{_images(write_reconstructions(model, source, path, tell))}: {path}"
    print_line(told, quiet=quiet)  # a line that is printed while there is a bar tears it


@cli.command()
@model_flags
@click.argument("image", required=False)
@click.option(
    "--latents", metavar="NAMES", help="Comma-separated latents, as in 0,3 or z0,rotation [default: all]."
)
@click.option(
    "--range", "span", metavar="LOW,HIGH", help="First and last value [default: the model's, -2,2]."
)
@steps_flag
@out_flag("path", "A sheet (.png, .svg, .pdf) or an animation (.gif, .webp).", Path("traversal.png"))
def traverse(
    model: "TrainedModel",
    image: str | None,
    latents: str | None,
    span: str | None,
    steps: int,
    path: Path,
    quiet: bool,
) -> None:
    """Vary one latent at a time, around the code of IMAGE or the mean of the prior.

    \b
      unweave traverse runs/x photo.jpg --latents 0,3 --range -3,3 --out x.webp
    """  # noqa: D301
    chosen = latents.split(",") if latents else None
    with counting("decoding", quiet=quiet) as tell:
        found = model.traverse(image, latents=chosen, span=_pair(span), steps=steps, tell=tell)
    latents_shown = f"{len(found.latents)} latent" + ("s" if len(found.latents) > 1 else "")
    print_line(f"{latents_shown}: {found.save(path)}", quiet=quiet)


@cli.command()
@model_flags
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@steps_flag
@out_flag("path", "A picture (.png, .svg, .pdf).", Path("interpolation.png"))
def interpolate(model: "TrainedModel", one: str, other: str, steps: int, path: Path, quiet: bool) -> None:
    """Go from image A to image B along a straight line between their codes."""
    with counting("decoding", quiet=quiet) as tell:
        found = model.interpolate(one, other, steps=steps, tell=tell)
    print_line(f"{steps} images: {found.save(path)}", quiet=quiet)


@cli.command()
@model_flags
@click.argument("image")
@click.argument("changes", nargs=-1, required=True, metavar="LATENT=VALUE...")
@out_flag("path", "A picture (.png, .svg, .pdf).", Path("edited.png"))
def edit(model: "TrainedModel", image: str, changes: tuple[str, ...], path: Path, quiet: bool) -> None:
    """Give latents of an image other values: `=` sets, `+=` and `-=` move.

    \b
      unweave edit runs/x photo.jpg z3=+1.5 rotation-=0.5
    """  # noqa: D301
    from unweave.models.edit import read_changes

    with progress("editing", quiet=quiet):
        found = model.edit(image, read_changes(changes))
    for line in found.lines():
        print_line(line, quiet=quiet)
    print_line(f"picture: {found.save(path)}", quiet=quiet)


@cli.command()
@model_flags
@click.argument("image")
@click.option("--among", required=True, metavar="IMAGES", help="Where to look: as IMAGES of `encode`.")
@click.option("-k", "k", default=12, show_default=True, type=click.IntRange(min=1), help="How many.")
@count_flag
@skip_flag
@out_flag("path", "A picture (.png, .svg, .pdf).", Path("neighbours.png"))
def neighbours(
    model: "TrainedModel",
    image: str,
    among: str,
    k: int,
    count: int | None,
    skip_bad: bool,
    path: Path,
    quiet: bool,
) -> None:
    """Find the images whose codes are nearest to that of IMAGE."""
    with counting("encoding", quiet=quiet) as tell:
        found = model.neighbours(image, among, k=k, tell=tell, count=count, skip_bad=skip_bad)
    if not quiet:
        print_table(found.rows())
    print_line(f"picture: {found.save(path)}", quiet=quiet)


@cli.command()
@model_flags
@click.argument("latent", required=False)
@click.argument("name", required=False)
@click.option(
    "--suggested", is_flag=True, help="Give every latent that has none the name of the factor in it."
)
def name(model: "TrainedModel", latent: str | None, name: str | None, suggested: bool, quiet: bool) -> None:
    """Give a latent a name, which tables and pages then use; without one, list the latents.

    Where the factors of the data are known and the run was evaluated, a name is suggested. An empty name takes it away.

    \b
      unweave name runs/x z3 rotation
    """  # noqa: D301
    from unweave.models.suggestions import names_table

    if latent is not None and name is not None:
        _check_named(model)
        model.name(latent, name)
    elif suggested:
        _check_named(model)
        for j, factor in model.suggested_names().items():
            if j not in model.names and factor not in model.names.values():
                model.name(j, factor)
    if not quiet:
        print_table(names_table(model, None if latent is None else model.latent(latent)))


@cli.command()
@model_flags
@click.option(
    "--format",
    "kind",
    default="onnx",
    show_default=True,
    help="onnx, torchscript, torch-export or safetensors.",
)
@out_flag("folder", "Folder [default: the model's name and the format].")
def export(model: "TrainedModel", kind: str, folder: Path | None, quiet: bool) -> None:
    """Write encoder and decoder for other programs, and compare them with PyTorch.

    Any number of images goes in at a time, as uint8 (batch, height, width, channels); preparation.json says how a
    picture of another size is brought to that size. `safetensors` is the whole model with its card, for `unweave.load`.
    """
    from unweave.models.export import BATCHES

    place = folder or Path(f"{model.place.name if model.place else 'model'}-{kind}")
    with progress(f"exporting to {kind}", quiet=quiet):
        found = model.export(place, kind)
    if quiet:
        return
    is_compared = any(file.difference is not None for file in found)
    rows = [["file", "bytes", *(["difference"] if is_compared else [])]]
    for file in found:
        difference = "" if file.difference is None else f"{file.difference:.1g}"
        rows.append([str(file.path), f"{file.size:,}", *([difference] if is_compared else [])])
    print_table(rows)
    if is_compared:
        print_line(f"largest difference from PyTorch, in batches of {' and '.join(map(str, BATCHES))} images")


def _images(count: int) -> str:
    return f"{count:,} image" if count == 1 else f"{count:,} images"


def _pair(text: str | None) -> tuple[float, float] | None:
    """Two numbers of a flag."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise UnweaveError(f"--range must be two numbers with a comma, as in -3,3, got {text!r}") from None
    return low, high


def _check_named(model: "TrainedModel") -> None:
    if model.place is None:
        raise UnweaveError(
            "names are stored in the folder of a run or a model, beside the weights: give that folder, not a file"
        )
