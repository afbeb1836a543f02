"""Errors for mistakes of a user; each message is one sentence.

Every error that a wrong command, config or data file can cause is an :class:`UnweaveError`. The command line
prints its message without a traceback; in Python it is an ordinary ``ValueError``.
"""

import difflib
import functools
from collections.abc import Collection, Iterable


class UnweaveError(ValueError):
    """A mistake in a command, a config or a data file: what is wrong, what was expected and what to do.

    Example:
        >>> raise UnweaveError("latents must be at least 1, got 0")
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: latents must be at least 1, got 0
    """


def visible(text: str, *, lines: bool = False) -> str:
    r"""A text for a terminal: characters that are not printable, such as escape codes, become visible.

    Args:
        text: any text, such as the name of a file.
        lines: whether line breaks and tabs stay as they are.

    Example:
        >>> visible("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


LARGEST_NUMBER = 3.4e38
"""Numbers must not be larger: weights and losses are held in 32 bits, where they would be infinite."""


@functools.lru_cache(4096)
def plain(name: str) -> str:
    """The form in which names are compared: case, hyphens, underscores and spaces are ignored.

    Example:
        >>> plain("Spatial-Broadcast") == plain("spatial_broadcast")
        True
    """
    return "".join(c for c in name.lower() if c not in "-_ ")


def unknown(kind: str, name: str, choices: Iterable[str], also: str = "") -> UnweaveError:
    """An error for an unknown name; it suggests the nearest known names.

    Example:
        >>> print(unknown("objective", "BetaVEA", ["BetaVAE", "AnnealedVAE"]))
        unknown objective 'BetaVEA': did you mean BetaVAE? (there are: AnnealedVAE, BetaVAE)
    """
    choices = sorted(choices)
    by_plain = {plain(c): c for c in choices}
    near = [by_plain[n] for n in difflib.get_close_matches(plain(name), by_plain, n=2, cutoff=0.6)]
    hint = f": did you mean {' or '.join(near)}?" if near else ""
    return UnweaveError(f"unknown {kind} {name!r}{hint} (there are: {', '.join(choices) or 'none'}{also})")


def check_choice(kind: str, given: object, choices: Collection[str]) -> None:
    """Raise the error of :func:`unknown` unless ``given`` is one of the choices.

    Example:
        >>> check_choice("mode", "paper", ("paper", "ubisoft"))
    """
    if given not in choices:
        raise unknown(kind, str(given), choices)


def check_at_least(name: str, value: float | None, least: float) -> None:
    """Raise an error if a number is given and too small.

    Example:
        >>> check_at_least("prior.components", 0, 1)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: prior.components must be at least 1, got 0
    """
    if value is not None and not least <= value <= LARGEST_NUMBER:
        bound = f" and at most {LARGEST_NUMBER:g}" if value > LARGEST_NUMBER else ""
        raise UnweaveError(f"{name} must be at least {least:g}{bound}, got {_short(value)}")


def check_positive(name: str, value: float | None) -> None:
    """Raise an error if a number is given and not greater than 0.

    Example:
        >>> check_positive("prior.nu", 0.0)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: prior.nu must be greater than 0, got 0
    """
    if value is not None and not 0 < value <= LARGEST_NUMBER:
        bound = f" and at most {LARGEST_NUMBER:g}" if value > LARGEST_NUMBER else ""
        raise UnweaveError(f"{name} must be greater than 0{bound}, got {_short(value)}")


def _short(value: float) -> str:
    try:
        return f"{value:g}"
    except OverflowError:  # a whole number beyond all floating-point numbers
        return "a larger one"
