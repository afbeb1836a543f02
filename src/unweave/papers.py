"""The papers that unweave reproduces: title, authors, year and address of each code such as FAC."""

from typing import NamedTuple


class Paper(NamedTuple):
    """A paper and where to read it.

    Example:
        >>> Paper("FAC", "Kim & Mnih", 2018, "Disentangling by Factorising", "https://arxiv.org/abs/1802.05983").year
        2018
    """

    code: str
    authors: str
    year: int
    title: str
    address: str


PAPERS: dict[str, Paper] = {}
"""Papers by code."""


def footnotes(text: str) -> list[str]:
    """One line with title and address for each paper that ``text`` cites.

    Example:
        >>> footnotes("no paper is cited here")
        []
    """
    return []
