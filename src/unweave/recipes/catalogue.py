"""All recipes, by id."""

import difflib
import re
from collections.abc import Sequence

from unweave.errors import UnweaveError
from unweave.recipes import dec, fac, isa, rec, sbd
from unweave.recipes.recipe import RECIPES, Recipe

PAPERS = {
    "sbd": "Spatial Broadcast Decoder",
    "fac": "FactorVAE, Disentangling by Factorising",
    "rec": "Overlooked Implications of the Reconstruction Loss",
    "dec": "Disentangling Disentanglement",
    "isa": "Independent Subspace Analysis",
}
"""The papers in the order of the specification."""

__all__ = ["PAPERS", "RECIPES", "dec", "fac", "find", "isa", "rec", "sbd"]


def find(words: Sequence[str]) -> list[Recipe]:
    """The recipes that words name: an id however it is spelt, a paper, or ``all``.

    Example:
        >>> [recipe.id for recipe in find(["SBD fig4", "rec_table_A1"])]
        ['sbd-fig4', 'rec-tablea1']
        >>> len(find(["all"])) == len(RECIPES)
        True
    """
    by_letters = {_letters(name): name for name in RECIPES}
    found: dict[str, Recipe] = {}
    for word in words:
        letters = _letters(word)
        if letters == "all" or letters in PAPERS:
            found |= {i: r for i, r in RECIPES.items() if letters in ("all", r.paper)}
        elif letters in by_letters:
            found[by_letters[letters]] = RECIPES[by_letters[letters]]
        else:
            near = difflib.get_close_matches(letters, by_letters, n=1, cutoff=0.5)
            hint = f"did you mean {by_letters[near[0]]}? " if near else ""
            raise UnweaveError(f"unknown recipe {word!r}: {hint}unweave reproduce list shows all of them")
    return list(found.values())


def _letters(word: str) -> str:
    """An id without spaces, hyphens and capitals; ``figure`` is ``fig``."""
    return re.sub(r"[^a-z0-9]", "", word.lower()).replace("figure", "fig").replace("appendix", "app")
