"""The card of a model: one page in Markdown that says what it is, how well it does, and how it is opened."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unweave.metrics import Score
from unweave.references import is_reference
from unweave.runs.flat import flatten

if TYPE_CHECKING:
    from unweave.models.trained import TrainedModel

TRAVERSAL = "traversal.png"
"""The picture of the card, in the same folder."""


def card(model: "TrainedModel", folder: str, licence: str = "") -> str:
    """The text of ``README.md``: data, objective, scores with intervals, a picture, how to load, licence, command.

    Args:
        model: of which.
        folder: under which name it is opened in the examples.
        licence: of the weights, as in Apache-2.0.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> text = card(model, "rings", "CC0-1.0")
        >>> text.splitlines()[:3]
        ['---', 'library_name: unweave', 'license: cc0-1.0']
    """
    parts = [
        _front(model, licence),
        f"# {model.title}\n",
        f"{_sentence(model)}\n",
        f"![One latent varied in each row]({TRAVERSAL})\n",
        _section("Use", _use(folder)),
        _section("Data", _data(model)),
        _section("Latents", _latents(model)),
        _section("Scores", _scores(model)),
        _section("Training", _training(model)),
        _section(
            "Licence",
            licence or "Not stated. Whoever made this model says here under which terms it may be used.",
        ),
    ]
    return "\n".join(part for part in parts if part)


def _front(model: "TrainedModel", licence: str) -> str:
    lines = ["---", "library_name: unweave"]
    if licence:
        lines.append(f"license: {licence.lower()}")
    tags = ["disentanglement", "representation-learning", model.config.model.label.lower()]
    return "\n".join([*lines, "tags:", *(f"- {tag}" for tag in tags), "---", ""])


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}\n" if text else ""


def _sentence(model: "TrainedModel") -> str:
    config = model.config
    kind = "A VAE" if config.model.name == "VAE" else f"An {config.model.label}"
    objective = "" if config.objective.name == "none" else f" by the objective {_part(config.objective)}"
    return (
        f"{kind} of images {model.preparation}, with {model.latents} latents, trained on {_data_name(model)}"
        f"{objective}."
    )


def _data_name(model: "TrainedModel") -> str:
    if model.config.data.options.get("path") == "":
        return "images in memory"
    kinds = {"Folder": "the folder ", "Arrays": "the file "}
    return f"{kinds.get(model.config.data.name, '')}{model.data_name}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _part(choice: Any) -> str:
    """A part and its options, as in BetaVAE (beta = 4)."""
    options = ", ".join(f"{key} = {value}" for key, value in choice.options.items() if value is not None)
    return f"{choice.label} ({options})" if options else str(choice.label)


def _use(folder: str) -> str:
    return (
        "```python\n"
        "import unweave\n\n"
        f'model = unweave.load("{folder}")\n'
        'codes = model.encode("photos/")        # a folder, a file, arrays; any size\n'
        "images = model.decode(codes.means)     # (n, channels, height, width) in [0, 1]\n"
        "```\n\n"
        "```console\n"
        f"$ unweave encode {folder} photos/ --out codes.csv\n"
        f"$ unweave traverse {folder} photo.jpg --out traversal.png\n"
        "```\n\n"
        "It needs nothing but this folder and unweave."
    )


def _data(model: "TrainedModel") -> str:
    facts = model.data
    count = "images without end" if facts.count is None else f"{facts.count:,} images"
    lines = [f"{_capital(_data_name(model))}: {count}, prepared as {model.preparation}."]
    if facts.space is not None:
        rows = [
            (name, f"{size[0]:g} to {size[1]:g}" if isinstance(size, tuple) else f"{size}")
            for name, size in zip(facts.space.names, facts.space.sizes, strict=True)
        ]
        lines += ["", _table(("factor", "values"), rows)]
    return "\n".join(lines)


def _latents(model: "TrainedModel") -> str:
    kl = model.kl
    if kl is None and not model.names:
        return ""
    head = ("latent", *(("name",) if model.names else ()), *(("KL in nats",) if kl is not None else ()))
    rows = [
        (
            f"z{j}",
            *((model.names.get(j, ""),) if model.names else ()),
            *((f"{kl[j]:.2f}",) if kl is not None else ()),
        )
        for j in range(model.latents)
    ]
    return _table(head, rows)


def _scores(model: "TrainedModel") -> str:
    if not model.scores:
        return ""
    rows = []
    for name, stored in model.scores.items():
        score = Score.from_json({"name": name, **stored})
        middle, low, high = score.corrected or (score.value, score.low, score.high)
        interval = "" if low is None else f"{low:.3f} to {high:.3f}"
        rows.append((name, f"{middle:.3f}", interval, "higher" if score.higher_is_better else "lower"))
    return _table(("score", "value", "95 % interval", "better"), rows)


def _training(model: "TrainedModel") -> str:
    made, about = model.about.made, model.about
    lines = [f"{_capital(model.config.training)}; these are the weights of step {about.step:,}."]
    if isinstance(made.get("seconds"), int | float) and made["seconds"]:
        lines.append(f"It took {made['seconds']:,.0f} s.")
    versions = made.get("versions")
    torch = f" and torch {versions['torch']}" if isinstance(versions, dict) and "torch" in versions else ""
    lines.append(f"Made by unweave {about.version}{torch}; identity `{model.config.identity[:16]}`.")
    text = " ".join(lines)
    if model.command:
        text += f"\n\n```console\n$ {without_places(model.command)}\n```"
    settings = [(key, f"`{_shown(value)}`") for key, value in flatten(model.config.to_mapping()).items()]
    return f"{text}\n\n<details><summary>Every setting</summary>\n\n{_table(('key', 'value'), settings)}\n\n</details>"


def without_places(command: str) -> str:
    """A command without where it wrote and how much it said: neither changes the model, and folders are private.

    Example:
        >>> without_places("unweave train circles --out /home/me/secret steps=20 --quiet")
        'unweave train circles steps=20'
    """
    words = iter(shlex.split(command))
    found = []
    for word in words:
        if word == "--out":
            next(words, None)
        elif not (word.startswith("--out=") or word == "--quiet"):
            found.append(word)
    return shlex.join(found)


def _shown(value: object) -> object:
    """A setting without the folders of the machine that made the model: they are nobody's business."""
    place, colon, name = (
        value.rpartition(":") if isinstance(value, str) and is_reference(value) else ("", "", "")
    )
    if colon and Path(place).is_absolute():
        return f"{Path(place).name}:{name}"
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _table(head: tuple[str, ...], rows: Any) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )
