"""Spatial Broadcast Decoder (Watters et al. 2019, SBD): figures 2 to 20, tables 1 to 10.

Networks are those of SBD table 1 (table 2 for FactorVAE), data those of appendix A.3, steps those of table 4. Each
result at a smaller scale states how much smaller it is.
"""

# Recipes are listed in the order of these imports.
from unweave.recipes.sbd import (  # noqa: F401, I001
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    table_5,
    table_6,
    table_7,
    table_8,
    table_9,
    table_10,
    figure_11,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
    figure_18,
    figure_19,
    figure_20,
    tables_1_to_4,
)
