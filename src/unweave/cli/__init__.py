"""The command line. What defines the experiment is ``key=value``; how it is executed is a ``--flag``.

One module for each group of commands, without logic: every command reads its arguments, calls the library and prints
what it returns. The library is imported inside the commands, so that ``unweave --help`` does not load torch.
"""

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

# Every module adds its commands to the group.
from unweave.cli import (  # noqa: F401
    agreement,
    data,
    demo,
    evaluate,
    explore,
    kept_models,
    models,
    options,
    papers,
    prior,
    report,
    reproduce,
    runs,
    score,
    sweep,
    theory,
    train,
    tune,
)
from unweave.cli.commands import cli
from unweave.errors import UnweaveError, visible

__all__ = ["cli", "main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """The `unweave` command: what goes wrong becomes one sentence and exit code 2, never a traceback.

    That holds for a user's mistakes and for what the system refuses: files, memory, depth. With `--debug`, the
    traceback is shown instead.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        cli.main(args=[word for word in words if word != "--debug"], standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        _end("stopped", 130)
    except BrokenPipeError:
        _leave_pipe()
        sys.exit(1)
    except Exception as error:
        sentence = told(error)
        if debug or sentence is None:
            raise
        _end(sentence, 2)


def told(error: Exception) -> str | None:
    """An error as a sentence; ``None`` if it is a mistake of this program, which is not to be hidden."""
    if isinstance(error, UnweaveError):
        return str(error)
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror or error}"
    if isinstance(error, MemoryError) or _is_out_of_memory(error):
        first = " ".join(str(error).split())[:200]
        return f"not enough memory{f' ({first})' if first else ''}: choose a smaller model, batch or image"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    if isinstance(error, ValueError) and "null byte" in str(error):
        return "a path contains a null byte, which no file system takes"
    return None


def _is_out_of_memory(error: Exception) -> bool:
    """Whether torch found no memory; its error is not always one of a kind of its own."""
    text = str(error)
    return isinstance(error, RuntimeError) and ("can't allocate memory" in text or "out of memory" in text)


def _end(sentence: str, code: int) -> NoReturn:
    shown = visible(sentence)
    click.echo(f"unweave: {shown if len(shown) <= 2000 else shown[:1000] + ' ... ' + shown[-900:]}", err=True)
    sys.exit(code)


def _leave_pipe() -> None:
    """Nobody reads the output any more: what is left of it goes nowhere, at the end of the interpreter too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())
