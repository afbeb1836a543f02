"""Trained models that stand alone: their files damaged, and the commands that use them with words of every kind."""

import functools
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from campaign.children import say
from campaign.damages import KINDS
from campaign.kills import TINY, Case

ENCODE = ["circles", "-n", "20", "--quiet", "--out"]


def library(folder: Path) -> Path:
    """A folder with a run ``run`` and the same model as a folder of its own, ``kept``; made once."""
    place = folder / "models"
    if not (place / "codes.csv").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for words in (
            ["train", *TINY, "--out", str(place / "run"), "--no-report", "--quiet"],
            [
                "export",
                str(place / "run"),
                "--format",
                "safetensors",
                "--out",
                str(place / "kept"),
                "--quiet",
            ],
            ["encode", str(place / "kept"), *ENCODE, str(place / "codes.csv")],
        ):
            ended = say(words)
            assert ended.kind == "ok", ended
    return place


def damaged(place: Path, name: str, kind: str, seed: int, alone: bool, case: Path) -> tuple[str, str]:
    """One damaged file of a model: its codes are those of the undamaged one, or a sentence says what is wrong."""
    shutil.rmtree(case, ignore_errors=True)
    shutil.copytree(place / "kept", case / "kept")
    path = case / "kept" / name
    content = path.read_bytes()
    harmed = KINDS[kind](content, random.Random(seed))
    path.write_bytes(harmed)
    model = path if alone else path.parent
    ended = say(["encode", str(model), *ENCODE, str(case / "codes.csv")])
    outcome, seen = "told", ""
    if ended.kind not in ("ok", "sentence"):
        outcome, seen = "wrong", f"{ended.kind}: {ended.errors[-500:]}"
    elif ended.kind == "ok":
        same = (case / "codes.csv").read_bytes() == (place / "codes.csv").read_bytes()
        outcome, seen = ("survived", "") if same else ("wrong", "other codes in silence")
    elif path.read_bytes() != harmed:
        outcome, seen = "wrong", "the damaged file was changed"
    if outcome != "wrong":
        shutil.rmtree(case)
    return outcome, seen and f"{name}, {kind}, seed {seed}: {seen}"


def cases(seed: int, folder: Path) -> Iterator[Case]:
    """Every file of a model, damaged in every way; the weights also without their folder."""
    place, chance = library(folder), random.Random(seed)
    files = sorted(path.name for path in (place / "kept").iterdir() if path.is_file())
    planned = [(name, kind, chance.randrange(1 << 30)) for name in files for kind in (*KINDS, *KINDS)]
    planned += [("model.safetensors", kind, chance.randrange(1 << 30)) for kind in (*KINDS, *KINDS, *KINDS)]
    chance.shuffle(planned)
    for number, (name, kind, own) in enumerate(planned):
        case = folder / "cases" / f"model-{number}"
        alone = name == "model.safetensors" and own % 2 == 1
        work = functools.partial(damaged, place, name, kind, own, alone, case)
        yield "damage, model", f"model {number}", work


def line(
    chance: random.Random, place: Path, number: int, hostile: tuple[str, ...], images: Callable[[Path], Path]
) -> list[str]:
    """A command on a model; its images, its codes, its model and its flags are as they should be, odd, or damaged."""
    models = place.parents[1] / "models"
    model = chance.choice([models / "run", models / "kept", models / "kept" / "model.safetensors"])
    if chance.random() < 0.25:
        copied = place / f"m{number}.safetensors"
        content = (models / "kept" / "model.safetensors").read_bytes()
        copied.write_bytes(KINDS[chance.choice(sorted(KINDS))](content, chance))
        model = copied
    odd = chance.choice(hostile)
    pictures = chance.choice(["circles", "circles", str(images(place / f"i{number}")), odd])
    codes = chance.choice([str(models / "codes.csv")] * 2 + [str(images(place / f"j{number}")), odd])
    few = ["-n", chance.choice(["1", "5", "5", "0", odd])]
    words = chance.choice(
        [
            ["encode", "MODEL", pictures, *few],
            ["decode", "MODEL", codes],
            ["sample", "MODEL", *few],
            ["reconstruct", "MODEL", pictures, *few],
            ["traverse", "MODEL", "--latents", chance.choice(["0", "z1", "0,1", "9", odd]), "--steps", "3"],
            ["traverse", "MODEL", "--range", chance.choice(["-1,1", "nan,1", "1e308,-1e308", odd])],
            ["interpolate", "MODEL", pictures, pictures, "--steps", "3"],
            ["edit", "MODEL", pictures, chance.choice(["z0=1", "0+=0.5", "z9=1", "z0=nan", odd])],
            ["neighbours", "MODEL", pictures, "--among", pictures, *few],
            ["name", "MODEL", chance.choice(["z0", "9", odd]), chance.choice(["size", "", odd])],
            ["export", "MODEL", "--format", chance.choice(["safetensors", "no", odd])],
            ["models", "show", "MODEL"],
        ]
    )
    given = odd if chance.random() < 0.05 else str(model)
    usual = {"encode": ".csv", "decode": "", "export": ""}.get(words[0], ".png")
    ending = usual if chance.random() < 0.8 else chance.choice([".png", ".csv", "", ".npz", ".gif", ".x"])
    out = ["--out", str(place / f"o{number}{ending}")]
    named = words[0] in ("name", "models")
    if words[0] == "name" and model.is_relative_to(models):
        given = str(place / f"k{number}")  # names are written into the folder of the model
        shutil.copytree(models / "kept", given)
    return [given if word == "MODEL" else word for word in words] + ([] if named else out)
