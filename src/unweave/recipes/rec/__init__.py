"""Figures and tables of Michlo, Klein & James 2023, Overlooked implications of the reconstruction loss for VAE
disentanglement (REC).
"""

# Recipes are listed in the order of these imports.
from unweave.recipes.rec import (  # noqa: F401, I001
    figure_1,
    figure_2,
    figure_3,
    figure_5,
    figure_8,
    table_a1,
    figure_a1,
    table_a2,
    figure_4,
    figure_9,
    figure_11,
    figure_10,
    figure_7,
    figure_6,
    tables_a3_and_a4,
)
