"""The numbers that SBD appendix G prints: tables 5 to 10, by what each varies."""

Cell = tuple[float, float] | None
Row = tuple[Cell, Cell, Cell, Cell, Cell, Cell]
"""Mean and deviation over replicas of: -ELBO, NLL, KL, latents used, MIG, FactorVAE score."""


def _row(*numbers: float) -> Row:
    a, b, c, d, e, f = zip(numbers[::2], numbers[1::2], strict=True)
    return a, b, c, d, e, f


TABLE_5: dict[int, Row] = {
    2: _row(339, 2.3, 312, 2.7, 27.5, 0.54, 8.33, 0.37, 0.076, 0.038, 0.187, 0.027),
    3: _row(329, 4.1, 305, 4.6, 24.4, 0.54, 7.22, 0.34, 0.147, 0.057, 0.208, 0.084),
    4: _row(341, 6.8, 318, 7.7, 22.6, 0.97, 5.93, 0.51, 0.157, 0.045, 0.226, 0.046),
    5: _row(340, 8.8, 317, 9.7, 22.7, 0.99, 5.70, 0.37, 0.173, 0.059, 0.218, 0.030),
}
"""By the number of convolutions of the Spatial Broadcast decoder."""

TABLE_6: dict[int, Row] = {
    3: _row(372, 8.6, 346, 8.9, 26.8, 0.40, 9.20, 0.04, 0.031, 0.018, 0.144, 0.031),
    4: _row(349, 9.4, 322, 10.0, 27.1, 0.88, 8.90, 0.24, 0.025, 0.015, 0.139, 0.009),
    5: _row(340, 9.8, 314, 10.4, 26.0, 1.00, 7.95, 0.64, 0.056, 0.32, 0.184, 0.053),
    6: _row(349, 15.0, 326, 16.1, 23.3, 1.42, 6.36, 0.81, 0.056, 0.019, 0.199, 0.029),
}
"""By the number of up-convolutions of the DeConv decoder."""

TABLE_7: dict[int, Row] = {
    0: _row(329, 4, 305, 5, 24.5, 0.54, 7.21, 0.34, 0.147, 0.057, 0.208, 0.084),
    1: _row(330, 6, 307, 6, 23.9, 0.72, 6.68, 0.46, 0.164, 0.043, 0.200, 0.034),
    2: _row(349, 15, 327, 17, 21.5, 2.13, 6.03, 0.66, 0.210, 0.048, 0.232, 0.045),
    3: _row(392, 23, 399, 114, 15.7, 2.93, 4.17, 1.23, 0.160, 0.034, 0.275, 0.064),
}
"""By the number of linear layers before the broadcast, coloured sprites."""

TABLE_8: dict[int, Row] = {
    1: _row(347, 13, 321, 14, 25.8, 1.3, 7.97, 0.72, 0.052, 0.020, 0.174, 0.043),
    2: _row(352, 17, 328, 18, 23.7, 1.7, 6.68, 0.78, 0.051, 0.024, 0.196, 0.024),
    3: _row(365, 19, 345, 21, 19.7, 2.4, 5.24, 0.73, 0.144, 0.062, 0.243, 0.043),
}
"""By the number of linear layers of the DeConv decoder."""

TABLE_9: dict[int, Row] = {
    0: _row(4039, 3.4, 4010, 3.3, 29.3, 0.46, 8.73, 0.41, 0.541, 0.091, 0.931, 0.043),
    1: _row(4022, 3.7, 4003, 3.7, 19.3, 0.35, 6.30, 0.49, 0.538, 0.105, 0.946, 0.043),
    2: _row(4018, 3.3, 3999, 3.3, 18.5, 0.30, 5.94, 0.41, 0.574, 0.096, 0.978, 0.027),
    3: _row(4020, 3.0, 4002, 2.9, 18.3, 0.38, 5.73, 0.31, 0.659, 0.123, 0.979, 0.037),
}
"""By the number of linear layers before the broadcast, 3D Object-in-Room."""

TABLE_10: dict[int, Row] = {
    0: _row(329, 4.1, 305, 4.6, 24.4, 0.54, 7.22, 0.34, 0.147, 0.057, 0.208, 0.084),
    1: _row(327, 4.4, 302, 4.9, 24.4, 0.55, 7.29, 0.26, 0.149, 0.048, 0.194, 0.026),
    2: _row(329, 4.3, 304, 4.8, 24.2, 0.60, 7.14, 0.42, 0.122, 0.045, 0.235, 0.070),
    3: _row(330, 2.4, 305, 2.7, 24.2, 0.24, 7.39, 0.08, 0.110, 0.032, 0.182, 0.028),
}
"""By the number of up-convolutions in the Spatial Broadcast decoder."""

DECONV_ROW, BROADCAST_ROW = TABLE_8[1], TABLE_5[3]
"""Of the two decoders of table 1 on coloured sprites."""

SHUFFLED_ROW: Row = ((362.8, 2.9), (336.3, 2.98), (26.56, 0.47), (8.99, 0.37), (0.104, 0.025), None)
"""With shuffled coordinate channels, figure 5."""
