"""Figures and theorems of Mathieu et al. 2019, Disentangling disentanglement in variational auto-encoders (DEC)."""

# Recipes are listed in the order of these imports.
# isort: off
from unweave.recipes.dec import (
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
)

__all__ = [
    "appendix_c",
    "corollary_1",
    "figure_2_bottom",
    "figure_2_top",
    "figure_3",
    "figure_4",
    "figure_5",
    "figure_6",
    "theorem_1",
    "theorem_2",
]
