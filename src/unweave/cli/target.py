"""What TARGET means in ``unweave train TARGET`` and ``unweave data show TARGET``, and RUN everywhere."""

import logging
from collections.abc import Sequence
from pathlib import Path

logger = logging.getLogger("unweave")


def split_target(target: str | None, words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The config file, if TARGET is one, and the key=value words, which include TARGET if it names data."""
    if target is None:
        return None, list(words)
    if target.endswith((".yaml", ".yml")):
        return Path(target), list(words)
    if "=" in target and not Path(target).exists():
        return None, [target, *words]
    return None, [f"data={target}", *words]


def tell_same_name(target: str | None) -> None:
    """A hint, if TARGET names a data set while a folder or file of that name lies here."""
    from unweave.data import DATASETS
    from unweave.errors import plain

    if target is not None and plain(target) in map(plain, DATASETS) and Path(target).exists():
        logger.info("%s is the data set of that name; for the one in this folder write ./%s", target, target)


def run_folder(word: str, root: Path = Path("runs")) -> Path:
    """The folder of RUN: a path, or the beginning of a label or identity of a run in ``root``."""
    from unweave.runs.run_index import RunIndex

    if Path(word).exists() or not root.is_dir():
        return Path(word)
    return RunIndex(root).locate(word)
