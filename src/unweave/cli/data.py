"""``unweave data list | check | show | distances``."""

from pathlib import Path

import click

from unweave.cli.commands import CommandGroup
from unweave.cli.flags import out_flag, quiet_flag, seed_flag
from unweave.cli.target import split_target
from unweave.cli.terminal import print_line, print_table, progress
from unweave.errors import UnweaveError


@click.group(cls=CommandGroup)
def data() -> None:
    """Look at the data sets."""


@data.command("list")
def list_datasets() -> None:
    """List the data sets: which are available, which files are missing and where to get them."""
    from unweave.data.catalogue import catalogue, where_to_get
    from unweave.data.files import data_folder

    entries = catalogue()
    rows = [[entry.name, entry.state, entry.description] for entry in entries]
    print_table([["name", "state", "description"], *rows])
    click.echo(f"\nOriginal files are expected in {data_folder()} (set UNWEAVE_DATA). Missing:\n")
    for paragraph in where_to_get(entries):
        click.echo(paragraph)


@data.command("check")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def check_files(names: tuple[str, ...]) -> None:
    """Compare the original files with the published sizes and hashes."""
    from unweave.data.catalogue import check

    checks = check(names)
    rows = [[each.dataset, each.file, each.result, each.detail] for each in checks]
    print_table([["data", "file", "result", ""], *rows])
    wrong = [each for each in checks if each.result == "wrong"]
    if wrong:
        raise UnweaveError(f"{wrong[0].file} is not the published file: {wrong[0].detail}; download it again")


@data.command("show")
@click.argument("target")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@out_flag("path", "PNG file [default: NAME.png].")
def show(target: str, words: tuple[str, ...], path: Path | None) -> None:
    """Print a data set's factors and draw a sheet of its images."""
    from unweave.plots import save
    from unweave.reports import dataset_sheet
    from unweave.runs.config import Config

    dataset = Config.read(*split_target(target, words)).make_dataset()
    count = f"{dataset.count:,}" if dataset.count is not None else "infinitely many"
    shape = " x ".join(str(side) for side in dataset.image_shape)
    print_line(f": {dataset.description}", title=dataset.name)
    print_line(f"{count} images of {shape} (channels x height x width)")
    if dataset.space is not None:
        rows = [["factor", "values"]]
        for name, size in zip(dataset.space.names, dataset.space.sizes, strict=True):
            rows.append([name, f"{size[0]:g} to {size[1]:g}" if isinstance(size, tuple) else str(size)])
        print_table(rows)
    path = path or Path(f"{dataset.name}.png")
    save(dataset_sheet(dataset), path)
    print_line(f"picture: {path}")


@data.command("distances")
@click.argument("target")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--loss", default="mse", show_default=True, help="mse, bce, blurred_mse or blurred_bce.")
@click.option(
    "--pairs",
    default=50_000,
    show_default=True,
    type=click.IntRange(min=2),
    help="Number of image pairs per factor.",
)
@click.option(
    "--run", "folder", type=click.Path(path_type=Path), help="Also measure in the latent space of this run."
)
@seed_flag
@out_flag("path", "PNG file [default: NAME-distances.png].")
@quiet_flag
def distances(
    target: str,
    words: tuple[str, ...],
    loss: str,
    pairs: int,
    folder: Path | None,
    seed: int,
    path: Path | None,
    quiet: bool,
) -> None:
    """Measure how far apart images are under a loss if one factor differs: REC table A1, figures A1, 3, 4, 8, 10."""
    from unweave.reports.distances import distance_pictures
    from unweave.runs.config import Config

    dataset = Config.read(*split_target(target, words)).make_dataset()
    path = path or Path(f"{dataset.name}-distances.png")
    with progress("distances", quiet=quiet) as tell:
        table, pictures = distance_pictures(
            dataset, path, loss=loss, pairs=pairs, run=folder, seed=seed, tell=tell
        )
    if not quiet:
        print_table(table)
    for picture in pictures:
        print_line(f"picture: {picture}", quiet=quiet)
