"""``unweave models list | show | get``: the models that are kept under a name."""

import shutil
from pathlib import Path

import click

from unweave.cli.commands import cli
from unweave.cli.flags import out_flag
from unweave.cli.terminal import print_line, print_scores, print_table
from unweave.errors import UnweaveError


@cli.group("models")
def kept_models() -> None:
    """List, show and copy the models that are kept under a name: MODEL of `encode`, `traverse` and the others."""


@kept_models.command("list")
def list_models() -> None:
    """List the kept models: data, method, and the scores they were stored with."""
    from unweave.models.places import PLACES, facts, kept, places

    rows = [["model", "data", "method", "steps", "nll", "MIG", "FactorVAE", "MB"]]
    rows += [facts(folder) for folder in kept().values()]
    if len(rows) > 1:
        print_table(rows)
    looked = ", ".join(map(str, places())) or "nowhere"
    print_line(f"{len(rows) - 1} kept models; looked in {looked} (set {PLACES} for other folders)")


@kept_models.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Print what a kept model is, its scores, and the command that made it."""
    from unweave.metrics import Score
    from unweave.models import load
    from unweave.models.places import find

    folder = find(name)
    model = load(folder)
    print_line(f": {folder}", title=folder.name)
    print_line(f"{model.config.data.label}, {' '.join(model.config.method)}, seed {model.config.seed}")
    print_line(f"images: {model.preparation}; {model.latents} latents")
    print_line(model.config.training)
    print_line(f"made by: {model.about.made.get('command', 'an unknown command')}")
    print_scores(
        {key: Score.from_json({"name": key, **entry}) for key, entry in model.scores.items()}, quiet=False
    )


@kept_models.command("get")
@click.argument("name")
@out_flag("folder", "Where to put it [default: NAME, here].")
def get(name: str, folder: Path | None) -> None:
    """Copy a kept model into a folder of your own."""
    from unweave.models.places import find

    source = find(name)
    target = folder or Path(source.name)
    if target.exists():
        raise UnweaveError(f"{target} exists already: choose another folder with --out")
    shutil.copytree(source, target)
    print_line(f"{source.name}: {target}")
