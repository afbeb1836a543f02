"""Figures and theorems of Mathieu et al. 2019, Disentangling disentanglement in variational auto-encoders (DEC)."""

# Recipes are listed in the order of these imports.
from unweave.recipes.dec import (  # noqa: F401, I001
    figure_1,
    figure_2_top,
    figure_2_bottom,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    theorem_1,
    corollary_1,
    theorem_2,
    appendix_c,
    table_1,
)
