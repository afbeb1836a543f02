"""Every command in an environment without extras: it works, or names in one sentence what to install.

Run by ``.ci/bare-install`` in a folder of its own, not by pytest: the environment of the tests has all extras.
"""

import contextlib
import importlib.util
import io
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from unweave.cli import cli, main
from unweave.runs.executors import EXECUTORS

TINY = [
    *("latents=2", "steps=2", "batch_size=4", "encoder=MLP", "decoder=MLP"),
    *("encoder.hidden=[8]", "decoder.hidden=[8]"),
]
STUDY = "base: {data: xysquares, " + ", ".join(word.replace("=", ": ", 1) for word in TINY) + "}\n"
RUN = "runs/a"
OWN = {"local", "inline"}
"""Executors that need no package."""

CALLS: dict[str, Sequence[Sequence[str]]] = {
    "train": [
        ["xysquares", *TINY, "--out", RUN],
        ["xysquares", *TINY, "--out", "runs/b", "seed=1"],
        ["xysquares", *TINY, "--out", "runs/c", "--track", "tensorboard"],
        ["xysquares", *TINY, "--out", "runs/c", "--track", "mlflow"],
        ["xysquares", *TINY, "--out", "runs/c", "--track", "wandb"],
    ],
    "evaluate": [[RUN, "--metrics", "mig,dci"]],
    "report": [[RUN]],
    "sweep": [
        ["study.yaml", "--executor", "inline"],
        *(
            ["study.yaml", "--executor", name, "--out", f"runs/{name}"]
            for name in EXECUTORS
            if name not in OWN
        ),
    ],
    "tune": [["search.yaml", "--trials", "1", "--executor", "inline"]],
    "encode": [[RUN, "images", "--out", "codes.npz"], [RUN, "images", "--out", "codes.parquet"]],
    "decode": [[RUN, "codes.npz", "--out", "decoded"]],
    "edit": [[RUN, "images/0.png", "z0=1", "--out", "edited.png"]],
    "interpolate": [[RUN, "images/0.png", "images/1.png", "--out", "between.png"]],
    "reconstruct": [[RUN, "images", "--out", "reconstructed.png"]],
    "sample": [[RUN, "--out", "samples.png"]],
    "traverse": [[RUN, "--out", "traversal.png"]],
    "neighbours": [[RUN, "images/0.png", "--among", "images", "--out", "near.png"]],
    "name": [[RUN, "z0", "size"]],
    "export": [[RUN, "--out", "a.onnx"]],
    "explore": [[RUN, "--out", "page.html"]],
    "agreement": [["runs/study"]],
    "udr": [[RUN, "runs/b"]],
    "score": [["codes_and_factors.npz", "--metrics", "mig"]],
    "sensitivity": [["codes_and_factors.npz", "mig.bins=[10,20]"]],
    "demo": [["--help"]],
    "reproduce": [["sbd-fig4", "--scale", "smoke", "--dry-run"]],
    "theory": [[]],
    "metrics": [[]],
    "models list": [[]],
    "models show": [["--help"]],
    "models get": [["--help"]],
    "objectives": [[]],
    "options": [[]],
    "papers": [[]],
    "prior list": [[]],
    "prior show": [["StandardNormal", "--out", "prior"]],
    "data list": [[]],
    "data show": [["xysquares"]],
    "data check": [[]],
    "data distances": [["xysquares"]],
    "runs list": [[], ["--out", "runs.csv"], ["--out", "runs.parquet"]],
    "runs show": [[RUN]],
    "runs compare": [[RUN, "runs/b"]],
    "runs log": [["XYSquares-BetaVAE-MLP-seed0", "--root", "runs/study"]],
    "runs check": [[]],
    "runs track": [[RUN], [RUN, "--to", "mlflow"], [RUN, "--to", "wandb"]],
    "runs rm": [["seed=1", "--yes"]],
}


def commands(group: click.Group, prefix: str = "") -> Iterator[str]:
    """The names of all commands, those of groups with the group before them."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name


def prepare() -> None:
    """Two studies, some images, codes with factors."""
    import numpy as np
    import PIL.Image

    Path("study.yaml").write_text(f"{STUDY}seeds: 3\n")
    Path("search.yaml").write_text(f"{STUDY}search: {{objective.beta: {{low: 1, high: 4}}}}\nseeds: 1\n")
    Path("images").mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for number in range(3):
        PIL.Image.fromarray(rng.integers(256, size=(64, 64, 3), dtype=np.uint8)).save(f"images/{number}.png")
    factors = rng.integers(4, size=(500, 2))
    codes = factors + 0.1 * rng.normal(size=(500, 2))
    np.savez("codes_and_factors.npz", codes=codes, factors=factors)


def call(words: Sequence[str]) -> tuple[int, str]:
    """The exit code of a command and what it said on standard error."""
    said = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            main([*words])
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return code, said.getvalue().strip()


def check() -> int:
    """Call everything; returns how many calls neither worked nor named what to install."""
    missing = sorted(set(commands(cli)) - CALLS.keys())
    bad = [f"{name}: this command is not called here" for name in missing]
    for name, calls in CALLS.items():
        for words in calls:
            code, said = call([*name.split(), *words])
            sentence = said.splitlines()[-1] if said else ""
            named = code == 2 and bool(re.search(r"pip install", sentence)) and len(said.splitlines()) == 1
            verdict = "works" if code == 0 else "names it" if named else "FAILS"
            print(
                f"{verdict:9} unweave {name} {' '.join(words)}{f'  ->  {sentence}' if code else ''}",
                flush=True,
            )
            if verdict == "FAILS":
                bad.append(f"{name} {' '.join(words)}: code {code}: {said[-500:]}")
    print(f"\n{sum(map(len, CALLS.values()))} calls, {len(bad)} bad", *bad, sep="\n")
    return len(bad)


if __name__ == "__main__":
    known = (
        "h5py",
        "ray",
        "submitit",
        "optuna",
        "duckdb",
        "onnx",
        "onnxscript",
        "onnxruntime",
        "tensorboardX",
    )
    extras = [name for name in known if importlib.util.find_spec(name)]
    if extras:
        sys.exit(f"this environment has {', '.join(extras)}: it is not one without extras")
    prepare()
    sys.exit(1 if check() else 0)
