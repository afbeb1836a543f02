"""All recipes by id, and recipes from outside of unweave by reference."""

import dataclasses
import difflib
import re
from collections.abc import Sequence

from unweave.errors import UnweaveError
from unweave.recipes import dec, fac, isa, rec, sbd
from unweave.recipes.recipe import RECIPES, Recipe
from unweave.references import import_object, is_reference

PAPERS = {
    "sbd": "Spatial Broadcast Decoder",
    "fac": "FactorVAE, Disentangling by Factorising",
    "rec": "Overlooked Implications of the Reconstruction Loss",
    "dec": "Disentangling Disentanglement",
    "isa": "Independent Subspace Analysis",
}
"""Code -> short title of the papers whose figures and tables are reproduced."""

__all__ = ["PAPERS", "RECIPES", "dec", "fac", "find", "isa", "rec", "sbd"]


def find(words: Sequence[str]) -> list[Recipe]:
    """The recipes that words name.

    A word is an id (capitals, spaces and hyphens do not count), a paper, ``all``, or a reference to a recipe of one's
    own: ``package.module:NAME`` or ``path/to/file.py:NAME``, where ``NAME`` is a function decorated with
    :func:`unweave.recipes.recipe.recipe` or a :class:`unweave.recipes.recipe.Recipe`.

    Example:
        >>> [recipe.id for recipe in find(["SBD fig4", "rec_table_A1"])]
        ['sbd-fig4', 'rec-tablea1']
        >>> len(find(["all"])) == len(RECIPES)
        True
    """
    found: dict[str, Recipe] = {}
    for word in words:
        found |= {recipe.id: recipe for recipe in (_outside(word) if is_reference(word) else _known(word))}
    return list(found.values())


def _known(word: str) -> list[Recipe]:
    """The recipes that an id, a paper or ``all`` names."""
    letters = _letters(word)
    if letters == "all" or letters in PAPERS:
        return [recipe for recipe in RECIPES.values() if letters in ("all", recipe.paper)]
    id_of = {_letters(name): name for name in RECIPES}
    if letters in id_of:
        return [RECIPES[id_of[letters]]]
    near = difflib.get_close_matches(letters, id_of, n=1, cutoff=0.5)
    hint = f"did you mean {id_of[near[0]]}? " if near else ""
    raise UnweaveError(f"unknown recipe {word!r}: {hint}unweave reproduce list shows all of them")


def _outside(reference: str) -> list[Recipe]:
    """The recipes of a function or object outside of unweave; one function may be the recipe of several figures."""
    named = import_object(reference)
    if isinstance(named, Recipe):
        named.check_id_is_free()
        chosen = [named]
    else:
        chosen = [recipe for recipe in RECIPES.values() if recipe.conclude is named]
    if not chosen:
        raise UnweaveError(
            f"{reference} is neither a Recipe nor a function decorated with unweave.recipes.recipe.recipe(...)"
        )
    return [dataclasses.replace(recipe, reference=reference) for recipe in chosen]


def _letters(word: str) -> str:
    """An id without spaces, hyphens and capitals; ``figure`` is ``fig``."""
    return re.sub(r"[^a-z0-9]", "", word.lower()).replace("figure", "fig").replace("appendix", "app")
