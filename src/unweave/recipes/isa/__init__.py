"""Figures and appendices of Stühmer et al. 2020, Independent subspace analysis for unsupervised learning of
disentangled representations (ISA).
"""

# Recipes are listed in the order of these imports.
from unweave.recipes.isa import (  # noqa: F401, I001
    figure_1,
    figure_2,
    figure_3,
    figure_3_trained,
    figure_4,
    figure_5a,
    figure_5b,
    figure_5c,
    figure_6,
    figure_7,
    figures_8_to_16,
    appendix_b3,
    appendix_b4,
    appendix_b5,
    tables_1_and_2,
)
