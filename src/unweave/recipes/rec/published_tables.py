"""The numbers that REC tables A1 and A2 print."""

TABLE_A1: dict[str, dict[str, tuple[float, float]]] = {
    "Cars3D": {
        "random": (0.0519, 0.0188),
        "azimuth": (0.0355, 0.0185),
        "object_type": (0.0349, 0.0176),
        "elevation": (0.0174, 0.0100),
    },
    "Shapes3D": {
        "random": (0.2432, 0.0918),
        "wall_hue": (0.1122, 0.0661),
        "floor_hue": (0.1086, 0.0623),
        "object_hue": (0.0416, 0.0292),
        "shape": (0.0207, 0.0161),
        "scale": (0.0182, 0.0153),
        "orientation": (0.0116, 0.0079),
    },
    "SmallNORB": {
        "random": (0.0535, 0.0529),
        "lighting": (0.0531, 0.0563),
        "category": (0.0113, 0.0066),
        "azimuth": (0.0090, 0.0071),
        "instance": (0.0068, 0.0048),
        "elevation": (0.0034, 0.0030),
    },
    "DSprites": {
        "random": (0.0754, 0.0289),
        "y": (0.0584, 0.0378),
        "x": (0.0559, 0.0363),
        "scale": (0.0250, 0.0148),
        "shape": (0.0214, 0.0095),
        "orientation": (0.0172, 0.0106),
    },
    "XYSquares": {
        "random": (0.0308, 0.0022),
        **dict.fromkeys(("y_r", "y_g", "y_b", "x_r", "x_g", "x_b"), (0.0104, 0.0)),
    },
}
"""Mean and deviation of perceived distances: data set -> factor -> (mean, deviation), as printed."""

TABLE_A2: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "Cars3D": (
        (0.897667614997663, 0.889165802006751, 0.885147515814868),
        (0.225031955315030, 0.239946127898126, 0.247921063196844),
    ),
    "Shapes3D": (
        (0.502584966788819, 0.578759756608967, 0.603449973185958),
        (0.294081404355556, 0.344397908751721, 0.366168598152475),
    ),
    "SmallNORB": ((0.752091840108860,), (0.095638790168273,)),
    "DSprites": ((0.042494423521890,), (0.195166458806261,)),
    "XYSquares": ((0.015625,) * 3, (0.124034734589209,) * 3),
}
"""Channel constants: data set -> (means, deviations), as printed."""
