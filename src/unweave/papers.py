"""The literature: the five papers that unweave unites, and every other work that its code and docs cite.

A citation in code, docs or help is either one of the five letters codes with a place ("FAC Eq. 2"), or authors and year
("Chen et al. 2018"). Each resolves here to a title and an address; a test checks all of them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass


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


def _arxiv(number: str) -> str:
    return f"https://arxiv.org/abs/{number}"


def _doi(number: str) -> str:
    return f"https://doi.org/{number}"


PAPERS: dict[str, Paper] = {
    paper.cited: paper
    for paper in (
        Paper(
            "SBD",
            "Nicholas Watters, Loic Matthey, Christopher P. Burgess, Alexander Lerchner",
            2019,
            "Spatial Broadcast Decoder: A Simple Architecture for Learning Disentangled Representations in VAEs",
            _arxiv("1901.07017"),
        ),
        Paper("FAC", "Hyunjik Kim, Andriy Mnih", 2018, "Disentangling by Factorising", _arxiv("1802.05983")),
        Paper(
            "REC",
            "Nathan Michlo, Richard Klein, Steven James",
            2023,
            "Overlooked Implications of the Reconstruction Loss for VAE Disentanglement",
            _arxiv("2202.13341"),
        ),
        Paper(
            "DEC",
            "Emile Mathieu, Tom Rainforth, N. Siddharth, Yee Whye Teh",
            2019,
            "Disentangling Disentanglement in Variational Autoencoders",
            _arxiv("1812.02833"),
        ),
        Paper(
            "ISA",
            "Jan Stühmer, Richard E. Turner, Sebastian Nowozin",
            2020,
            "Independent Subspace Analysis for Unsupervised Learning of Disentangled Representations",
            _arxiv("1909.05063"),
        ),
    )
}
"""The five papers by their letters, in the order of the docs."""

_CITED = (
    (
        "Andrews & Soares 2010",
        "Inference for parameters defined by moment inequalities",
        _doi("10.3982/ECTA7502"),
    ),
    ("Aubry et al. 2014", "Seeing 3D chairs", _doi("10.1109/CVPR.2014.487")),
    ("Burda et al. 2016", "Importance weighted autoencoders", _arxiv("1509.00519")),
    ("Burgess & Kim 2018", "3D Shapes dataset", "https://github.com/google-deepmind/3d-shapes"),
    ("Burgess et al. 2018", "Understanding disentangling in beta-VAE", _arxiv("1804.03599")),
    ("Chen et al. 2016", "InfoGAN", _arxiv("1606.03657")),
    (
        "Chen et al. 2018",
        "Isolating sources of disentanglement in variational autoencoders",
        _arxiv("1802.04942"),
    ),
    (
        "Duan et al. 2020",
        "Unsupervised model selection for variational disentangled representation learning",
        _arxiv("1905.12614"),
    ),
    (
        "Eastwood & Williams 2018",
        "A framework for the quantitative evaluation of disentangled representations",
        "https://openreview.net/forum?id=By-7dz-AZ",
    ),
    (
        "Gondal et al. 2019",
        "On the transfer of inductive bias from simulation to the real world",
        _arxiv("1906.03292"),
    ),
    ("Gretton et al. 2012", "A kernel two-sample test", "https://jmlr.org/papers/v13/gretton12a.html"),
    ("Gulrajani et al. 2017", "Improved training of Wasserstein GANs", _arxiv("1704.00028")),
    ("Halko, Martinsson & Tropp 2011", "Finding structure with randomness", _arxiv("0909.4061")),
    ("Higgins et al. 2017", "beta-VAE", "https://openreview.net/forum?id=Sy2fzU9gl"),
    (
        "Hoffman & Johnson 2016",
        "ELBO surgery: yet another way to carve up the variational evidence lower bound",
        "http://approximateinference.org/2016/accepted/HoffmanJohnson2016.pdf",
    ),
    (
        "Holm 1979",
        "A simple sequentially rejective multiple test procedure",
        "https://www.jstor.org/stable/4615733",
    ),
    ("Hsu et al. 2023", "Disentanglement via latent quantization", _arxiv("2305.18378")),
    ("Hurley & Rickard 2008", "Comparing measures of sparsity", _arxiv("0811.4706")),
    (
        "Johnson et al. 2016",
        "Composing graphical models with neural networks for structured representations",
        _arxiv("1603.06277"),
    ),
    ("Kingma & Ba 2015", "Adam: a method for stochastic optimization", _arxiv("1412.6980")),
    ("Kim & Mnih 2018", PAPERS["FAC"].title, PAPERS["FAC"].address),
    (
        "Kumar et al. 2018",
        "Variational inference of disentangled latent concepts from unlabeled observations",
        _arxiv("1711.00848"),
    ),
    (
        "LeCun et al. 1998",
        "Gradient-based learning applied to document recognition",
        _doi("10.1109/5.726791"),
    ),
    (
        "LeCun et al. 2004",
        "Learning methods for generic object recognition",
        _doi("10.1109/CVPR.2004.1315150"),
    ),
    ("Liu et al. 2015", "Deep learning face attributes in the wild", _arxiv("1411.7766")),
    (
        "Locatello et al. 2019",
        "Challenging common assumptions in the unsupervised learning of disentangled representations",
        _arxiv("1811.12359"),
    ),
    ("Locatello et al. 2020", "Weakly-supervised disentanglement without compromises", _arxiv("2002.02886")),
    (
        "Mann & Whitney 1947",
        "On a test of whether one of two random variables is stochastically larger than the other",
        _doi("10.1214/aoms/1177730491"),
    ),
    ("Mathieu et al. 2019", PAPERS["DEC"].title, PAPERS["DEC"].address),
    ("Matthey et al. 2017", "dSprites", "https://github.com/google-deepmind/dsprites-dataset"),
    ("McCarthy 1969", "Pseudo-replication: half samples", _doi("10.2307/1402116")),
    ("Michlo et al. 2023", PAPERS["REC"].title, PAPERS["REC"].address),
    (
        "Paysan et al. 2009",
        "A 3D face model for pose and illumination invariant face recognition",
        _doi("10.1109/AVSS.2009.58"),
    ),
    (
        "Politis & Romano 1994",
        "Large sample confidence regions based on subsamples under minimal assumptions",
        _doi("10.1214/aos/1176325770"),
    ),
    (
        "Reed et al. 2015",
        "Deep visual analogy-making",
        "https://papers.nips.cc/paper/2015/hash/e07413354875be01a996dc560274708e-Abstract.html",
    ),
    (
        "Ridgeway & Mozer 2018",
        "Learning deep disentangled embeddings with the F-statistic loss",
        _arxiv("1802.05312"),
    ),
    ("Roeder, Wu & Duvenaud 2017", "Sticking the landing", _arxiv("1703.09194")),
    (
        "Satterthwaite 1946",
        "An approximate distribution of estimates of variance components",
        _doi("10.2307/3002019"),
    ),
    ("Sinz & Bethge 2010", "Lp-nested symmetric distributions", "https://jmlr.org/papers/v11/sinz10a.html"),
    ("Student 1908", "The probable error of a mean", _doi("10.1093/biomet/6.1.1")),
    ("Stühmer et al. 2020", PAPERS["ISA"].title, PAPERS["ISA"].address),
    ("Suter et al. 2019", "Robustly disentangled causal mechanisms", _arxiv("1811.00007")),
    ("Tolstikhin et al. 2017", "Wasserstein auto-encoders", _arxiv("1711.01558")),
    (
        "Träuble et al. 2021",
        "On disentangled representations learned from correlated data",
        _arxiv("2006.07886"),
    ),
    ("Watters et al. 2019", PAPERS["SBD"].title, PAPERS["SBD"].address),
    (
        "Weissman 1978",
        "Estimation of parameters and large quantiles based on the k largest observations",
        _doi("10.1080/01621459.1978.10480104"),
    ),
    (
        "Welch 1947",
        "The generalization of Student's problem when several different population variances are involved",
        _doi("10.1093/biomet/34.1-2.28"),
    ),
    ("Xiao, Rasul & Vollgraf 2017", "Fashion-MNIST", _arxiv("1708.07747")),
)

WORKS: dict[str, Paper] = {
    cited: Paper(cited, cited.rsplit(" ", 1)[0], int(cited.rsplit(" ", 1)[1]), title, address)
    for cited, title, address in _CITED
}
"""Every other work, by authors and year."""

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
    found = [match[1] for match in _CODED.finditer(text)]
    for match in _NAMED.finditer(" ".join(text.split())):
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
    return [
        f"{code}: {paper}" for code, paper in PAPERS.items() if re.search(rf"\b{code} (?={_PLACE})", text)
    ]


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
