"""The literature: the five papers that unweave unites, and every other work that its code and docs cite.

A citation in code, docs or help is either the code of one of the five with a place ("FAC Eq. 2"), or authors and year
("Chen et al. 2018"). Each resolves here, from ``papers.toml``, to a title and an address; a test checks all of them.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paper:
    """A published work.

    Args:
        cited: how it is cited: the letters of one of the five, or authors and year.
        authors: in full.
        year: of the version that is cited.
        title: in full.
        address: where to read it.

    Example:
        >>> PAPERS["FAC"].short
        'Kim & Mnih 2018'
    """

    cited: str
    authors: str
    year: int
    title: str
    address: str

    @property
    def short(self) -> str:
        """Authors and year."""
        surnames = [name.split()[-1] for name in self.authors.split(", ")]
        if len(surnames) > 2:
            return f"{surnames[0]} et al. {self.year}"
        return f"{' & '.join(surnames)} {self.year}"

    def __str__(self) -> str:
        return f"{self.short}, {self.title}, {self.address}"


_CONTENT = tomllib.loads((Path(__file__).parent / "papers.toml").read_text())

PAPERS: dict[str, Paper] = {code: Paper(code, **fields) for code, fields in _CONTENT["papers"].items()}
"""The five papers by their codes, in the order of the docs."""

WORKS: dict[str, Paper] = {
    **{paper.short: paper for paper in PAPERS.values()},
    **{
        cited: Paper(cited, cited.rsplit(" ", 1)[0], int(cited.rsplit(" ", 1)[1]), **fields)
        for cited, fields in _CONTENT["works"].items()
    },
}
"""Every work by authors and year."""

_PLACE = (
    r"(?:Eq|section|figure|table|appendi|app\.|algorithm|theorem|corollary|proposition|page|[A-I]\.\d|\d)"
)
_CODED = re.compile(rf"\b({'|'.join(PAPERS)}) (?={_PLACE})")
_NAME = r"[A-Z][a-zäöüéA-Z]+"
_NAMED = re.compile(rf"\b({_NAME}(?:(?:, {_NAME})* (?:&|and) {_NAME}| et al\.)?,?) \(?((?:18|19|20)\d\d)\b")
_NOT_NAMES = {
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December", "Python", "In", "Since", "Of", "NeurIPS", "ICML", "ICLR", "AISTATS", "IJCAI"),
}


_FIVE_IN_FULL = {"Michlo, Klein & James", "Stühmer, Turner & Nowozin"}


def citations(text: str) -> list[str]:
    """The works that a text cites, each once: codes of the five papers that stand before a place, authors and years.

    Example:
        >>> citations("FAC Eq. 2 and FAC table 1; Chen et al. 2018; Kingma and Ba 2015")
        ['FAC', 'Chen et al. 2018', 'Kingma & Ba 2015']
    """
    text = " ".join(text.split())  # a line may end within a citation
    found = [match[1] for match in _CODED.finditer(text)]
    for match in _NAMED.finditer(text):
        names = match[1].rstrip(",").replace(" and ", " & ")
        if names.count(",") > 1 or names in _FIVE_IN_FULL:  # all names of a work that is known by the first
            names = f"{names.partition(',')[0]} et al."
        if names not in _NOT_NAMES:
            found.append(f"{names} {match[2]}")
    return list(dict.fromkeys(found))


def find(cited: str) -> Paper:
    """The work that a citation names; ``KeyError`` if there is none.

    Example:
        >>> find("FAC").address
        'https://arxiv.org/abs/1802.05983'
    """
    return PAPERS[cited] if cited in PAPERS else WORKS[cited]


def footnotes(text: str) -> list[str]:
    """A line for each of the five papers that a text mentions.

    Example:
        >>> footnotes("The metric of FAC section 4.")
        ['FAC: Kim & Mnih 2018, Disentangling by Factorising, https://arxiv.org/abs/1802.05983']
    """
    cited = citations(text)
    return [f"{code}: {paper}" for code, paper in PAPERS.items() if code in cited]


def linked(text: str) -> str:
    """Markdown in which the letters of the five papers, where they stand before a place, lead to the papers.

    Example:
        >>> linked("FAC Eq. 2, and [FAC](https://arxiv.org/abs/1802.05983) table 1")
        '[FAC](https://arxiv.org/abs/1802.05983) Eq. 2, and [FAC](https://arxiv.org/abs/1802.05983) table 1'
    """
    pattern = re.compile(rf"(?<!\[)\b({'|'.join(PAPERS)})(?= {_PLACE})")
    return pattern.sub(lambda match: f"[{match[1]}]({PAPERS[match[1]].address})", text)


def table(papers: Iterable[Paper] = tuple(PAPERS.values())) -> list[list[str]]:
    """Rows of a table of papers, its head first.

    Example:
        >>> table()[1][:2]
        ['SBD', 'Watters et al. 2019']
    """
    return [["code", "paper", "title", "address"], *([p.cited, p.short, p.title, p.address] for p in papers)]
