"""Figures and tables of Michlo, Klein & James 2023, Overlooked implications of the reconstruction loss for VAE
disentanglement (REC).
"""

# Recipes are listed in the order of these imports.
# isort: off
from unweave.recipes.rec import (
    figure_2,
    figure_3,
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
)

__all__ = [
    "figure_2",
    "figure_3",
    "figure_4",
    "figure_6",
    "figure_7",
    "figure_8",
    "figure_9",
    "figure_10",
    "figure_11",
    "figure_a1",
    "table_a1",
    "table_a2",
]
