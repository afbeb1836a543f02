"""Errors for mistakes of a user; each message is one sentence.

Every error that a wrong command, config or data file can cause is an :class:`UnweaveError`. The command line
prints its message without a traceback; in Python it is an ordinary ``ValueError``.
"""

import difflib
from collections.abc import Iterable


class UnweaveError(ValueError):
    """A mistake in a command, a config or a data file: what is wrong, what was expected and what to do.

    Example:
        >>> raise UnweaveError("latents must be at least 1, got 0")
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: latents must be at least 1, got 0
    """


def plain(name: str) -> str:
    """The form in which names are compared: case, hyphens, underscores and spaces are ignored.

    Example:
        >>> plain("Spatial-Broadcast") == plain("spatial_broadcast")
        True
    """
    return "".join(c for c in name.lower() if c not in "-_ ")


def unknown(kind: str, name: str, choices: Iterable[str]) -> UnweaveError:
    """An error for an unknown name; it suggests the nearest known names.

    Example:
        >>> print(unknown("objective", "BetaVEA", ["BetaVAE", "AnnealedVAE"]))
        unknown objective 'BetaVEA': did you mean BetaVAE? (there are: AnnealedVAE, BetaVAE)
    """
    choices = sorted(choices)
    by_plain = {plain(c): c for c in choices}
    near = [by_plain[n] for n in difflib.get_close_matches(plain(name), by_plain, n=2, cutoff=0.6)]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return UnweaveError(f"unknown {kind} {name!r}: {hint}(there are: {', '.join(choices) or 'none'})")
