# ruff: noqa: E501  tables
"""Writes the tables of docs/dependencies.md: what each dependency is for, its licence and its size as installed here.

python docs/make_dependencies.py           # writes docs/dependencies.md
python docs/make_dependencies.py --check   # says whether its packages and licences are those of pyproject.toml
"""

import importlib.metadata as metadata
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "dependencies.md"

# For what; what was tried instead, and why not. Measured where a number stands; the rest is said without one.
WHY = {
    "torch": (
        "networks, gradients, optimisers",
        "a loop framework on top costs 14 % (Fabric) to 50 % (Trainer) of a 2 ms step",
    ),
    "numpy": ("arrays, random numbers of data", "none"),
    "scipy": ("special functions, tests, optimal matching", "none"),
    "scikit-learn": (
        "classifiers and regressions of the measures",
        "none; imported when a measure needs it (1.4 s)",
    ),
    "lightgbm": (
        "boosted trees of DCI",
        "scikit-learn's: 5.7 s instead of 0.4 s, same ranking; xgboost: 808 MB",
    ),
    "omegaconf": (
        "config files, `key=value`",
        "hydra: no suggestion for a misspelt name, owns `main`; jsonargparse: nine lines and no suggestion; tyro: second choice; cyclopts: fails on unions that share a field",
    ),
    "pyyaml": ("writes config files", "comes with omegaconf; reads `3e-4` as text, so omegaconf reads"),
    "click": (
        "the command line, suggestions for misspelt commands",
        "see omegaconf",
    ),
    "rich": ("progress bars, tables", "none"),
    "matplotlib": (
        "pictures as PNG, SVG, PDF",
        "left out on purpose: seaborn, skia, pycairo",
    ),
    "cycler": ("colours and dashes of curves", "comes with matplotlib"),
    "pillow": (
        "reading pictures, GIF and WebP",
        "torchvision: its wheel does not import with the CPU build of torch",
    ),
    "jinja2": ("pages", "gradio, streamlit, panel: 200 to 300 MB and a server"),
    "markupsafe": ("what comes from data cannot become markup", "comes with jinja2"),
    "safetensors": (
        "weights: no code runs when they are opened",
        "`torch.save` alone: opening it may run code",
    ),
    "platformdirs": ("where the system keeps caches", "our own rule: ignored XDG_CACHE_HOME"),
    "h5py": ("extra `files`: 3D Shapes and other HDF5 files", "none"),
    "ray": (
        "extra `cluster`: many machines",
        "ray[tune]: 434 MB; joblib: a killed worker loses the whole batch",
    ),
    "optuna": ("extra `search`: proposes values", "ray[tune]: see above"),
    "duckdb": (
        "extra `parquet`: Parquet files",
        "rows one by one into DuckDB: 1.08 s of processor time for 1,000 runs of 60 keys instead of 0.09 s by its own reader",
    ),
    "onnx": ("extra `export`: the format", "none"),
    "onnxscript": ("extra `export`: torch's exporter needs it", "none"),
    "onnxruntime": (
        "extra `export`: checks what was exported",
        "onnxruntime-web in the explorer: 14 MB and 3.5 s to start; our kernel: 13 kB",
    ),
    "tensorboardx": (
        "extra `trackers`: writes TensorBoard's files, HParams included",
        "tensorboard: 51 MB, with what it needs, for the same files",
    ),
    "submitit": ("extra `slurm`: jobs of a SLURM cluster", "none"),
    "ruff": ("style", "none"),
    "mypy": ("types", "none"),
    "pytest": ("tests", "none"),
    "pytest-xdist": ("tests on all cores", "none"),
    "pytest-timeout": ("a test that hangs ends", "none"),
    "pytest-cov": ("`make coverage`", "none"),
    "hypothesis": ("tests of properties", "none"),
    "tensorboard": ("reads back what tensorboardX wrote", "none: it is the reader that users have"),
    "playwright": ("tests of pages, with the system's Chromium", "none"),
    "ziglang": ("compiles the explorer's kernel to WebAssembly", "onnxruntime-web: see above"),
    "sphinx": ("the site", "mkdocs: abandoned; its Material theme is in maintenance"),
    "furo": ("theme of the site", "none"),
    "myst-parser": ("Markdown pages of the site", "none"),
    "latex2mathml": ("formulas without a script", "MathJax: fetched from a server by default"),
}

TOP = """# What unweave stands on

Sizes are of the files of each package alone, as installed where this page was made; licences are what the packages declare. Both by
`python docs/make_dependencies.py`, which reads `pyproject.toml` and the installed metadata. "none" means that nothing else was tried.

    pip install dist/matrix/dist/unweave-*.whl      # the table below; `make matrix` makes the wheel (unweave is on no registry yet)
    pip install 'unweave[parquet,search]'           # extras, once it is installed
    pip install 'unweave[all]'                      # every extra; heavy: {heavy}
    uv pip install dist/matrix/dist/unweave-*.whl   # the same for users of uv
    uv tool install dist/matrix/dist/unweave-*.whl  # the command `unweave` alone, in an environment of its own
    uv sync --group dev                             # developers with uv (this ignores constraints.txt: uv solves anew)
    make test                                       # developers with pip: .venv with the pins of constraints.txt

A command that lacks an extra says which one in one sentence (`.ci/bare-install FOLDER` installs the wheel without extras and calls all of them).
"""

TRACKERS = """
## Brought by the user

`mlflow` (560 MB with what it needs) and `wandb` are no extras: `--track mlflow` and `--track wandb` use the installed one, and say so if there is none.
`pandas` is used by `runs.find(...).to_pandas()` if it is there. `make trackers-test` installs all three into a folder of its own and runs the tests that need them.

## Bundled

The wheel holds no code of others. `explorer/kernel/kernel.wasm` is compiled from `kernel.c` beside it by Zig. Fonts are not bundled: pages
use those of the reader, pictures the DejaVu fonts of matplotlib.
Licences of everything that `pip install 'unweave[all]'` brings along: `make licences`.
"""


def requirements() -> dict[str, list[str]]:
    """The names in pyproject.toml, by the place where they are declared."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"always": project["dependencies"], **project["optional-dependencies"]}
    found = {
        key: [re.split(r"[<>=\[ ;]", word)[0].lower() for word in words] for key, words in groups.items()
    }
    return {key: [name for name in names if name != "unweave"] for key, names in found.items()}


def licence(name: str) -> str:
    """As the package declares it: an expression, a classifier, or its own words."""
    about = metadata.metadata(name)
    given = about.get("License-Expression")
    if given:
        return str(given)
    kinds = [c.split(" :: ")[-1] for c in about.get_all("Classifier") or [] if c.startswith("License ::")]
    words = " ".join(str(about.get("License") or "").split())
    return (kinds[0] if kinds else words[:40] or "not declared").replace("|", "or")


def megabytes(name: str) -> float:
    """Size of the files that a package installed."""
    files = metadata.files(name) or []
    return (
        sum(Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).is_file())
        / 1e6
    )


def row(name: str) -> str:
    """The line of a package."""
    purpose, instead = WHY[name]
    try:
        size = megabytes(name)
        told = f"{size:.0f} MB" if size >= 1 else f"{size:.1f} MB"
        return f"| {name} {metadata.version(name)} | {purpose} | {licence(name)} | {told} | {instead} |"
    except metadata.PackageNotFoundError:
        return f"| {name} | {purpose} | not installed here | | {instead} |"


def page() -> str:
    """The whole page."""
    groups = requirements()
    head = "| package | for | licence | size | tried instead |\n|---|---|---|---|---|\n"
    sizes = {
        key: sum(map(_known, names))
        for key, names in groups.items()
        if key not in ("always", "dev", "docs", "all")
    }
    heavy = ", ".join(
        f"{key} {size:.0f} MB" for key, size in sorted(sizes.items(), key=lambda x: -x[1]) if size > 30
    )
    parts = [TOP.format(heavy=heavy), "\n## Always\n\n" + head + "\n".join(map(row, groups["always"])) + "\n"]
    extras = [
        name for key, names in groups.items() if key not in ("always", "dev", "docs", "all") for name in names
    ]
    parts.append("\n## Extras\n\n" + head + "\n".join(map(row, dict.fromkeys(extras))) + "\n")
    developers = [*groups["dev"], *groups["docs"]]
    parts.append("\n## Developers (`dev`, `docs`)\n\n" + head + "\n".join(map(row, developers)) + "\n")
    return "".join([*parts, TRACKERS])


def licences() -> str:
    """Licence of every package that is installed here, as lines `package version: licence`."""
    names = sorted({str(each.metadata["Name"]) for each in metadata.distributions()}, key=str.lower)
    return "\n".join(f"{name} {metadata.version(name)}: {licence(name)}" for name in names)


def _known(name: str) -> float:
    try:
        return megabytes(name)
    except metadata.PackageNotFoundError:
        return 0.0


if __name__ == "__main__":
    if "--licences" in sys.argv:
        print(licences())
    elif "--check" in sys.argv:
        missing = [
            name
            for names in requirements().values()
            for name in names
            if f"| {name} " not in PAGE.read_text()
        ]
        sys.exit(f"not in {PAGE}: {', '.join(missing)}; python docs/make_dependencies.py" if missing else 0)
    else:
        PAGE.write_text(page())
