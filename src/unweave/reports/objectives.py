"""The table of objectives: which equation of which paper is which command. Made from the code."""

from collections.abc import Iterator

from unweave.gan import GANS
from unweave.objectives import OBJECTIVES
from unweave.pairing import PAIRINGS
from unweave.slots import Form

_HEAD = """\
# Objectives

One line for every objective of the papers. All are minimised; `E_q` is the mean over `z ~ q(z|x)`, `I` the mutual
information of image and code, `TC` the total correlation, `q(z)` the aggregate posterior. The papers SBD, FAC, REC, DEC
and ISA are those of the README. This file is written by `unweave objectives`.

| equation | paper | command |
|---|---|---|
"""

_FOOT = """
Every objective goes with every prior, decoder, likelihood and pairing; what cannot exist (a dimension-wise KL to a
prior that does not factorise) is refused before the first step. Three things change any of them:

| what | command |
|---|---|
| the KL held at a capacity `C` that grows from 0: `w KL` becomes `w abs(KL - C)` | `capacity=25 capacity_steps=1000` |
| weights in the averaged units of REC appendix B.1 | `averaged=true` |
| the overlap loss of REC Eq. 11, `L(x, x^) + alpha L(blur x, blur x^)` | `likelihood.blur=box` |

While a run trains, `history.jsonl` and its page follow the terms: KL of each latent, total correlation (of FactorVAE:
as the discriminator estimates it), mutual information, discriminator accuracy, critic gap, and so on. Weighted sampling
(`estimator=mws`) is a lower bound on `log q(z)`; its total correlation is `(latents - 1) log N` above that of
`estimator=mixture`, however large the batch. For a number to believe, take `mss` or `split`.

InfoWGAN-GP on MNIST after 2000 steps: two continuous codes and a categorical one, each swept with the others held.

    unweave train mnist model=InfoWGANGP learning_rate=1e-3 steps=2000 --out runs/infowgangp
    # the picture: runs/infowgangp/pictures/traversals.png

![InfoWGAN-GP on MNIST](pictures/infowgangp_mnist.png)
"""


def forms() -> Iterator[Form]:
    """Every equation that the objectives, pairings and GANs compute, in the order of their tables.

    Example:
        >>> next(forms()).reference
        'FAC section 2'
    """
    for part in (*OBJECTIVES.values(), *PAIRINGS.values(), *GANS.values()):
        yield from getattr(part, "forms", ())


def command(form: Form) -> str:
    """The whole command of an equation; on dSprites where it names no data.

    Example:
        >>> command(Form("", "", "objective=BetaVAE"))
        'unweave train dsprites objective=BetaVAE'
    """
    words = form.settings.split()
    data = next((word.removeprefix("data=") for word in words if word.startswith("data=")), "dsprites")
    return " ".join(["unweave", "train", data, *(word for word in words if not word.startswith("data="))])


def objectives_page() -> str:
    """The table as Markdown.

    Example:
        >>> "objective=FactorVAE" in objectives_page()
        True
    """
    rows = []
    for form in forms():
        equation = form.equation.replace("|", r"\|")
        rows.append(f"| `{equation}` | {form.reference} | `{command(form)}` |\n")
    return _HEAD + "".join(rows) + _FOOT
