"""The terminal on standard error, which log messages, bars and spinners share."""

import functools

from rich.console import Console


@functools.cache
def error_console() -> Console:
    """Standard error, one object for all: a message that comes while bars are drawn then appears above them.

    Example:
        >>> error_console() is error_console()
        True
    """
    return Console(stderr=True, soft_wrap=True, highlight=False)


def console(quiet: bool) -> Console:
    """Standard error, or a console that shows nothing.

    Example:
        >>> console(quiet=True).quiet
        True
    """
    return Console(quiet=True) if quiet else error_console()
