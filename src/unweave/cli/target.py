"""What TARGET means in ``unweave train TARGET`` and ``unweave data show TARGET``."""

from collections.abc import Sequence
from pathlib import Path


def split_target(target: str | None, words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The config file, if TARGET is one, and the key=value words, which include TARGET if it names data."""
    if target is None:
        return None, list(words)
    if target.endswith((".yaml", ".yml")):
        return Path(target), list(words)
    if "=" in target and not Path(target).exists():
        return None, [target, *words]
    return None, [f"data={target}", *words]
