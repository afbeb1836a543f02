"""Every citation in code, docs and help leads to an address; no tag of our own inventory is left."""

import re
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from unweave import papers

ROOT = Path(__file__).parent.parent
DOCS = [
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts),
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")),
]
TEXTS = [
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "src").rglob("*.html")),
    *sorted((ROOT / "src").rglob("*.json")),
    *DOCS,
    *sorted((ROOT / "benchmarks").rglob("*.py")),
    ROOT / "benchmarks" / "README.md",
]
NAMES = [str(path.relative_to(ROOT)) for path in TEXTS]


@pytest.mark.parametrize("path", TEXTS, ids=NAMES)
def test_every_citation_resolves_to_an_address(path: Path) -> None:
    for cited in papers.citations(path.read_text()):
        try:
            paper = papers.find(cited)
        except KeyError:
            raise AssertionError(
                f"{path.relative_to(ROOT)} cites {cited}, which papers.py does not know"
            ) from None
        assert paper.address.startswith(("https://", "http://"))


@pytest.mark.parametrize("path", TEXTS, ids=NAMES)
def test_no_tag_of_the_inventory_is_left(path: Path) -> None:
    found = re.findall(
        r"\b(?:OBJ|PRI|NET|DAT|MET|LIK|PIC|VIS|PLT|SBD|FAC|REC|DEC|ISA)-\d+\b", path.read_text()
    )
    assert not found, found


@pytest.mark.parametrize("path", DOCS, ids=[str(path.relative_to(ROOT)) for path in DOCS])
def test_every_place_in_a_paper_is_a_link_in_the_docs(path: Path) -> None:
    text = path.read_text()
    plain = papers.linked(text)
    wrong = [line for line, right in zip(text.splitlines(), plain.splitlines(), strict=True) if line != right]
    assert not wrong, f"run python docs/link_papers.py: {wrong[:3]}"


def test_citations_are_seen_in_all_their_forms() -> None:
    text = (
        "FAC Eq. 2; SBD appendix A.3, ISA B.3; ISA prior; Kim & Mnih 2018; Halko, Martinsson and\nTropp 2011"
    )
    assert papers.citations(text) == [
        "FAC",
        "SBD",
        "ISA",
        "Kim & Mnih 2018",
        "Halko, Martinsson & Tropp 2011",
    ]
    assert papers.citations("a study by Nobody et al. 1999") == ["Nobody et al. 1999"]
    with pytest.raises(KeyError):
        papers.find("Nobody et al. 1999")


def test_the_readme_and_the_citation_file_name_the_five_papers() -> None:
    readme, citation = (ROOT / "README.md").read_text(), (ROOT / "CITATION.cff").read_text()
    for paper in papers.PAPERS.values():
        assert f"]({paper.address})" in readme
        assert paper.title in readme
        assert paper.address in citation
    content = OmegaConf.to_container(OmegaConf.create(citation))
    assert isinstance(content, dict)
    named = [{a["family-names"] for a in entry["authors"]} for entry in content["references"]]
    for paper, names in zip(papers.PAPERS.values(), named, strict=True):
        assert names == {author.split()[-1] for author in paper.authors.split(", ")}
