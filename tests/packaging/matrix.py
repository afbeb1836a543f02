"""Build the wheel and the source archive, and use the wheel in a clean environment of every Python that is here.

    python tests/packaging/matrix.py --folder dist/matrix          # `make matrix`
    python tests/packaging/matrix.py --folder dist/matrix --list   # what the wheel contains
    python tests/packaging/matrix.py --folder dist/matrix --pythons 3.12 --full

Where pip would fetch torch from a registry (several GB with CUDA), the parts that need no torch are tested, and it is
said; ``--full`` installs it. A Python that is not on this machine is named, and is no failure.
"""

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
WANTED = 1_000_000
"""Bytes that the wheel should have at most; docs/releasing.md says what stands in the way, so it is only said."""
LARGEST = 1_200_000
"""Bytes from which on something is in the wheel that does not belong there."""

WITHOUT_TORCH = """
import subprocess, sys
import numpy as np
import unweave
from unweave import metrics
assert "torch" not in sys.modules and "sklearn" not in sys.modules and "matplotlib" not in sys.modules
v = np.stack(np.meshgrid(range(10), range(10)), -1).reshape(-1, 2)
assert abs(metrics.mig(v, v).value - 1) < 1e-6
v = v.repeat(20, 0)
np.savez("codes.npz", codes=v + np.random.default_rng(0).normal(0, 0.1, v.shape), factors=v)
score = "score codes.npz --metrics mig,mcc,sap"
for command in ("--version", "--help", "papers", "reproduce --help", score):
    done = subprocess.run([sys.executable, "-m", "unweave", *command.split()], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
print("unweave", unweave.__version__, "scores codes on Python", sys.version.split()[0])
"""
WITH_TORCH = """
import subprocess, sys
from pathlib import Path
networks = "encoder=MLP encoder.hidden=[16] decoder=MLP decoder.hidden=[16]"
train = f"train circles data.size=16 {networks} latents=2 steps=3 batch_size=4 --out run --quiet"
for command in (train, "evaluate run --metrics mig", "explore run --out page.html"):
    done = subprocess.run([sys.executable, "-m", "unweave", *command.split()], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
assert Path("run/report.html").stat().st_size > 10_000 and Path("page.html").stat().st_size > 10_000
print("and trains, scores and explores")
"""


def interpreter(version: str) -> str | None:
    """A Python of this version: the running one, one on the path that works, or one of pyenv."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for name in (*map(str, kept), f"python{version}"):
        found = shutil.which(name)
        if found and not subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode:
            return found
    return None


def run(*words: str | Path, folder: Path | None = None) -> str:
    """The output of a command, which must succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, words))[:200]} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return done.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source archive, checked by twine."""
    tools, out = folder / "tools", folder / "dist"
    if not (tools / "bin" / "twine").exists():
        run(sys.executable, "-m", "venv", tools)
        run(tools / "bin" / "pip", "install", "-q", "build", "twine")
    shutil.rmtree(out, ignore_errors=True)
    run(tools / "bin" / "python", "-m", "build", "--outdir", out, ROOT)
    [wheel], [archive] = out.glob("*.whl"), out.glob("*.tar.gz")
    print(run(tools / "bin" / "twine", "check", "--strict", wheel, archive).strip())
    return wheel, archive


def contents(wheel: Path) -> dict[str, int]:
    """Kinds of files of a wheel, by package and ending, with their packed bytes.

    Example:
        >>> kind("unweave/data/circles.py"), kind("unweave-0.1.0.dist-info/METADATA")
        ('unweave/data/*.py', 'metadata')
    """
    sizes: dict[str, int] = {}
    with zipfile.ZipFile(wheel) as packed:
        for entry in packed.infolist():
            sizes[kind(entry.filename)] = sizes.get(kind(entry.filename), 0) + entry.compress_size
    return sizes


def kind(name: str) -> str:
    """Where a file of the wheel belongs."""
    path = Path(name)
    if ".dist-info" in path.parts[0]:
        return "metadata"
    return f"{'/'.join(path.parts[:-1][:2])}/*{path.suffix}"


def in_python(version: str, wheel: Path, folder: Path, *, full: bool) -> str:
    """Install the wheel in a new environment and use it; what was seen, in a line."""
    python = interpreter(version)
    if python is None:
        return "not on this machine"
    place = folder / f"python-{version}"
    shutil.rmtree(place, ignore_errors=True)
    run(python, "-m", "venv", place)
    pip = [place / "bin" / "pip", "install", "-q"]
    constraints = ["-c", ROOT / "constraints.txt"] if version == "3.11" else []
    light = full or torch_is_here(version, _local_wheels())
    if light:
        run(*pip, *constraints, wheel)
    else:
        run(*pip, "--no-deps", wheel)
        run(*pip, *(name for name in _requirements(wheel) if not name.startswith("torch")))
    work = folder / f"work-{version}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    seen = run(place / "bin" / "python", "-c", WITHOUT_TORCH, folder=work).strip()
    if light:
        return f"{seen} {run(place / 'bin' / 'python', '-c', WITH_TORCH, folder=work).strip()}"
    return f"{seen}; torch for it is not here (--full fetches it), so training was not tested"


def torch_is_here(version: str, folders: list[str]) -> bool:
    """Whether a folder of wheels has torch for this Python: only then is it installed unasked."""
    mark = f"torch-*-cp{version.replace('.', '')}-*.whl"
    return any(path.is_file() for folder in folders for path in Path(folder).glob(mark))


def _local_wheels() -> list[str]:
    told = run(sys.executable, "-m", "pip", "config", "get", "global.find-links") if _has_links() else ""
    return told.split()


def _has_links() -> bool:
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    return "global.find-links" in listed.stdout


def _requirements(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as packed:
        [name] = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
        lines = packed.read(name).decode().splitlines()
    needed = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    return [line for line in needed if "extra ==" not in line]


def main() -> None:
    """Build, list, install, use."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "dist" / "matrix")
    parser.add_argument("--pythons", default=",".join(PYTHONS))
    parser.add_argument("--list", action="store_true", help="build and list only")
    parser.add_argument(
        "--full", action="store_true", help="install torch from the registry where no wheel is here"
    )
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheel, archive = build(folder)
    for name, size in sorted(contents(wheel).items(), key=lambda entry: -entry[1]):
        print(f"{size:>9,} {name}")
    size = wheel.stat().st_size
    print(f"{size:>9,} {wheel.name} ({'under' if size < WANTED else 'over'} {WANTED:,})")
    print(f"{archive.stat().st_size:>9,} {archive.name}")
    if size >= LARGEST:
        raise SystemExit(1)
    if not asked.list:
        for version in asked.pythons.split(","):
            print(f"Python {version}: {in_python(version, wheel, folder, full=asked.full)}", flush=True)


if __name__ == "__main__":
    main()
