"""Spatial Broadcast Decoder (Watters et al. 2019, SBD): figures 2 to 20, tables 5 to 10, one module each.

Networks are those of SBD table 1 (table 2 for FactorVAE), data those of appendix A.3, steps those of table 4. Each
result at a smaller scale states how much smaller it is.
"""

# In the order in which the recipes are listed.
from unweave.recipes.sbd import (  # noqa: F401, I001
    fig02,
    fig03,
    fig04,
    fig05,
    fig06,
    fig07,
    fig08,
    fig09,
    fig10,
    table05,
    table06,
    table07,
    table08,
    table09,
    table10,
    fig11,
    fig12,
    fig13,
    fig14,
    fig15,
    fig16,
    fig17,
    fig18,
    fig19,
    fig20,
)
