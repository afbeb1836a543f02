"""Disentangling by Factorising (Kim & Mnih 2018, FAC): its figures, one module each, and its appendix E.

A module with several figures has the name of the first. 2D Shapes are dSprites.
"""

# In the order in which the recipes are listed.
from unweave.recipes.fac import (  # noqa: F401, I001
    fig03,
    fig04,
    fig05,
    fig06,
    fig07,
    fig08,
    fig34,
    fig10,
    fig11,
    fig12,
    fig13,
    fig15,
    fig16,
    fig17,
    fig18,
    appe,
    fig23,
    fig37,
    fig40,
    fig25,
    fig27,
    fig28,
    fig29,
    fig36,
    fig26,
    fig30,
    fig31,
    fig24,
    fig32,
    fig33,
)
