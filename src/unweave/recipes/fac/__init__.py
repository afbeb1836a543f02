"""Disentangling by Factorising (Kim & Mnih 2018, FAC): its figures, one module each, and its appendix E.

2D Shapes are dSprites.
"""

# Recipes are listed in the order of these imports.
from unweave.recipes.fac import (  # noqa: F401, I001
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    figures_8_and_9,
    figures_34_and_35,
    figure_10,
    figure_11,
    figures_12_and_14,
    figures_13_and_38,
    figures_15_and_39,
    figure_16,
    figure_17,
    figure_18,
    appendix_e,
    figures_19_to_22,
    section_6,
    appendix_a,
    figure_23,
    figure_37,
    figure_40,
    figure_25,
    figure_27,
    figure_28,
    figure_29,
    figure_36,
    figure_26,
    figure_30,
    figure_31,
    figure_24,
    figure_32,
    figure_33,
    tables,
)
