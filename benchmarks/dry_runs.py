"""What `unweave reproduce ID --scale paper --dry-run` takes, for every figure and table, each in a process of its own.

    python benchmarks/dry_runs.py [ID ...] [--json FILE]

Processor time of the whole process is measured (user and system, from the start of the interpreter to its end), not
wall-clock time: it is what the command takes on an idle machine, also if this one is busy. The source is compiled
once beforehand, as the installation of a package does. Each command runs in an empty folder, which must stay empty.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 2.0
"""Seconds."""


def seconds(identifier: str, folder: Path, environment: dict[str, str]) -> float:
    command = [sys.executable, "-m", "unweave", "reproduce", identifier, "--scale", "paper", "--dry-run"]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    told = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{identifier}: exit code {process.returncode}"
    assert told.startswith(f"{identifier}: "), told
    assert not list(folder.iterdir()), f"{identifier} wrote {list(folder.iterdir())}"
    return used.ru_utime + used.ru_stime


def all_ids() -> list[str]:
    from unweave.recipes.catalogue import RECIPES

    return list(RECIPES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--json", type=Path, help="write the seconds of every id to this file")
    asked = parser.parse_args()
    ids = asked.ids or all_ids()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "empty"
        folder.mkdir()
        environment = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
            **{"OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(Path(place) / "compiled")},
            "UNWEAVE_CACHE": str(folder / "cache"),
        }
        seconds(ids[0], folder, environment)
        took = {identifier: seconds(identifier, folder, environment) for identifier in ids}
    for identifier, value in sorted(took.items(), key=lambda item: -item[1])[:5]:
        print(f"{identifier:20} {value:.2f} s")
    middle, most = statistics.median(took.values()), max(took.values())
    print(
        f"{len(took)} dry runs: median {middle:.2f} s, at most {most:.2f} s of processor time (limit {LIMIT:g} s)"
    )
    if asked.json:
        asked.json.write_text(json.dumps({k: round(v, 2) for k, v in sorted(took.items())}, indent=1) + "\n")
    sys.exit(most >= LIMIT)


if __name__ == "__main__":
    main()
