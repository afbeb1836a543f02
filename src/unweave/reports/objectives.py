"""The table of objectives: the equation, the paper and the command of each. Generated from the code."""

from collections.abc import Iterator

from unweave.gan import GANS
from unweave.objectives import OBJECTIVES
from unweave.pairing import PAIRINGS
from unweave.papers import linked
from unweave.slots import Form

_HEAD = """\
# Objectives

One line for every objective of the papers. All are minimised; `E_q` is the mean over `z ~ q(z|x)`, `I` the mutual
information of image and code, `TC` the total correlation, `q(z)` the aggregate posterior. `unweave papers` lists the
papers SBD, FAC, REC, DEC and ISA. This file is written by `unweave objectives --out docs/objectives.md`.

| name | equation | paper | command |
|---|---|---|---|
"""

_FOOT = """
Every objective works with every prior, decoder, likelihood and pairing; a combination that cannot exist (a
dimension-wise KL to a prior that does not factorise) is rejected before the first step. Four options change any of
them:

| what | command |
|---|---|
| the KL held at a capacity `C` that grows from 0: `w KL` becomes `w abs(KL - C)` | `capacity=25 capacity_steps=1000` |
| any weight on its way from another value (docs/learning.md) | `ramps.beta.start=40 ramps.beta.until=0.7` |
| weights in the averaged units of REC appendix B.1 | `averaged=true` |
| the overlap loss of REC Eq. 11, `L(x, x^) + alpha L(blur x, blur x^)` | `likelihood.blur=box` |

During training, `history.jsonl` records the terms and the page plots them: KL of each latent, total correlation (for
FactorVAE: the discriminator's estimate), mutual information, discriminator accuracy, critic gap, and so on. Weighted
sampling (`estimator=mws`) is a lower bound on `log q(z)`; its total correlation is `(latents - 1) log N` above that of
`estimator=mixture`, however large the batch. For a reliable value, use `mss` or `split`.

InfoWGAN-GP on MNIST after 2000 steps: two continuous codes and a categorical one, each varied with the others fixed.

    unweave train mnist model=InfoWGANGP learning_rate=1e-3 steps=2000 --out runs/infowgangp
    # the picture: runs/infowgangp/pictures/traversals.png

![InfoWGAN-GP on MNIST](pictures/infowgangp_mnist.png)
"""


def forms() -> Iterator[tuple[str, Form]]:
    """Every form of every objective, pairing and GAN, each with the name of its part.

    Example:
        >>> [name for name, _ in forms()][:4]
        ['BetaVAE', 'BetaVAE', 'BetaVAE', 'AnnealedVAE']
    """
    for parts in (OBJECTIVES, PAIRINGS, GANS):
        for name, part in parts.items():
            for form in getattr(part, "forms", ()):
                yield name, form


def command(form: Form) -> str:
    """The complete command of a form; on dSprites if the form names no data.

    Example:
        >>> command(dict(forms())["AAE"])
        'unweave train dsprites objective=AAE objective.gamma=1'
    """
    words = form.words.split()
    data = next((word.removeprefix("data=") for word in words if word.startswith("data=")), "dsprites")
    return " ".join(["unweave", "train", data, *(word for word in words if not word.startswith("data="))])


def objectives_page() -> str:
    """The table as Markdown.

    Example:
        >>> "| FactorVAE |" in objectives_page()
        True
    """
    rows = []
    for name, form in forms():
        equation = form.equation.replace("|", r"\|")
        rows.append(f"| {name} | `{equation}` | {form.reference} | `{command(form)}` |\n")
    return linked(_HEAD + "".join(rows) + _FOOT)
