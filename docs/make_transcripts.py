"""Run the commands of console blocks in the docs, and put what they print below them.

    python docs/make_transcripts.py docs/own-pictures.md ...

A block begins with three backquotes and ``console``; a line that begins with ``$`` is run, in a scratch folder that all
blocks of one page share, and everything until the next such line is what it printed. Lines that begin with ``$`` and
end with ``# not run`` stay as they are. `tests/test_transcripts.py` runs them too, and compares all but the numbers.
A plain ``unweave`` command is run in this process, which saves its start; the shell runs the others.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
WIDTH = "400"  # a path in a message must not be broken into two lines


def run(command: str, folder: Path) -> str:
    """What a command prints on both outputs; ``unweave`` and ``python`` are those of this environment."""
    binaries = str(Path(sys.executable).parent)
    environment = {
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": WIDTH,
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT / "src"),
        "UNWEAVE_CACHE": str(folder.parent / "cache"),
    }
    with _set(environment), contextlib.chdir(folder):
        plain = command.startswith("unweave ") and not re.search(r"[|&;<>$`*]", command)
        errors, output = _in_process(shlex.split(command)) if plain else _in_shell(command)
    printed = re.sub(r"[ \t]+$", "", errors + output, flags=re.MULTILINE)
    return printed.replace(str(folder) + "/", "").replace(str(folder), ".")


@contextlib.contextmanager
def _set(environment: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _in_process(words: list[str]) -> tuple[str, str]:
    from unweave.cli import main
    from unweave.console import error_console

    error_console.cache_clear()  # one that was made before has the width of that time
    typed, sys.argv = sys.argv, words
    try:
        with (
            contextlib.redirect_stderr(io.StringIO()) as errors,
            contextlib.redirect_stdout(io.StringIO()) as output,
            contextlib.suppress(SystemExit),
        ):
            main(words[1:])
    finally:
        sys.argv = typed
        error_console.cache_clear()
    return errors.getvalue(), output.getvalue()


def _in_shell(command: str) -> tuple[str, str]:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.stderr, done.stdout


def with_outputs(page: str, folder: Path) -> str:
    """The page with the outputs of its commands as they are now."""
    for name in ("examples", "docs"):
        (folder / name).symlink_to(ROOT / name)

    def block(found: re.Match[str]) -> str:
        lines = ["```console"]
        for line in found[1].splitlines():
            if line.startswith("$ "):
                lines.append(line)
                if not line.endswith("# not run"):
                    lines += run(line[2:], folder).splitlines()
        return "\n".join([*lines, "```"])

    return BLOCK.sub(block, page)


def main() -> None:
    """Write each page anew."""
    for name in sys.argv[1:]:
        page = Path(name)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "work"
            folder.mkdir()
            page.write_text(with_outputs(page.read_text(), folder))


if __name__ == "__main__":
    main()
