"""The semantic mutations that `mutants.py` makes: which there are, which are skipped and why, and which are chosen."""

import ast
import bisect
import fnmatch
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MODULES: dict[str, tuple[float, tuple[str, ...]]] = {
    "functional": (0.15, ("functional/*.py",)),
    "objectives": (0.15, ("objectives/*.py",)),
    "priors": (0.14, ("priors/*.py",)),
    "likelihoods": (0.08, ("likelihoods.py", "likelihoods/*.py")),
    "metrics": (0.20, ("metrics/*.py",)),
    "training": (0.08, ("training/*.py",)),
    "data": (0.14, ("data/*.py", "data/*/*.py")),
    "runs": (0.06, ("runs/config.py", "runs/evaluation.py")),
}
"""Share of the mutations, and files below src/unweave."""

SKIPPED_FILES: dict[str, str] = {
    "*/__init__.py": "names only",
    "*/display.py": "what is shown while training",
    "training/cpu.py": "threads and memory: speed only",
    "training/data_parallel.py": "several processes, tested by starting them, too slow to do for each mutant",
    "training/signals.py": "what an interrupt does",
}

SKIPPED: tuple[tuple[str, str], ...] = (
    (
        r"\b_?(BLOCK|CHUNK|MOST|ROWS|AT_ONCE|MEMORY|PIXELS|BYTES|SLOW)\b|\b\w*(block|chunk|at_once)\w*\b",
        "speed, memory",
    ),
    (r"\bthreads\b|\bworkers\b|\baccelerator\b", "speed, and devices that are not there"),
    (r"\bstrict=", "a check of lengths that never differ"),
    (r"\bvalidate_args\b", "torch's own checks of arguments"),
    (r"\b(logger|logging|warnings|warn|tell|told)\b|\.join\(", "messages"),
    (r"\b1e-(0?[6-9]|[1-9]\d)\b|\.eps\b|\.tiny\b", "a guard against division by zero or rounding"),
    (
        r"\b(copy|non_blocking|writeable|stacklevel|daemon|exist_ok|missing_ok|parents|allow_pickle|maxsize)\b",
        "files, memory",
    ),
    (r"\b(mmap_mode|map_location|weights_only|disk_usage)\b", "files, memory"),
    (r"\b(Mode|Backend|Status|Stream|Part|Norm|Kind|Split) = Literal\[", "a type that only mypy reads"),
    (r"__version__|\bget_type_hints\b|^from |^import |\bcast\(", "not mathematics"),
)
"""Lines that are not mutated, and why."""

SKIPPED_NAMES = ("__all__", "__slots__", "forms")
"""Assignments that hold names and texts only."""

_SCALES = r"SCALES = \(0\.1, 0\.2, 0\.5, 1\.0, 2\.0, 5\.0\)"
_WITHOUT = 'json.dumps({k: v for k, v in _canonical(self).items() if k != "capacity_steps"}, '
_SEED_0 = 'generator(0, "evaluation")'
KNOWN: tuple[tuple[str, str, str, str], ...] = (
    ("objectives/*.py", r"progress\.hold\((\w+)\)", r"\1", "capacity ignored"),
    ("functional/mmd.py", _SCALES, "SCALES = (1.0,)", "one scale of the kernel"),
    ("functional/mmd.py", _SCALES, "SCALES = (0.1, 0.2, 0.5, 1.0, 2.0)", "a scale of the kernel less"),
    ("objectives/*.py", r"2 \* latents \* scale", "latents * scale", "half the width of the kernel"),
    (
        "priors/mixture.py",
        r"torch\.tensor\(weights\)",
        "torch.ones(len(weights))",
        "weights of the mixture ignored",
    ),
    ("metrics/dci.py", r"r\.sum\(axis=0\)\) / r\.sum\(\)", "1) / r.shape[1]", "completeness not weighted"),
    ("metrics/sampled_mig.py", r'sizes, "paper"\)', 'sizes, "logs")', "another normaliser of subspace MIG"),
    ("data/dataset.py", r"\(flat\.shape\[1\] - 1\)", "flat.shape[1]", "ddof of channel deviations"),
    ("runs/config.py", r"json\.dumps\(_canonical\(self\), ", _WITHOUT, "identity without capacity_steps"),
    (
        "runs/evaluation.py",
        r"(\w+) is not None and \1\.step == step",
        r"\1 is not None",
        "stale codes accepted",
    ),
    ("runs/evaluation.py", r"generator\(seed, \"evaluation\"\)", _SEED_0, "evaluation without the seed"),
)
"""Mutations that are always made where the text is found: files, pattern, replacement, what it means."""

ARITHMETIC: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("-",), ast.Sub: ("+",), ast.Mult: ("/",), ast.Div: ("*",), ast.Pow: ("*",), ast.FloorDiv: ("/",),
    ast.Mod: ("//",), ast.BitAnd: ("|",), ast.BitOr: ("&",),
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">"), ast.LtE: ("<", ">"), ast.Gt: (">=", "<"), ast.GtE: (">", "<"), ast.Eq: ("!=",),
    ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",), ast.In: ("not in",), ast.NotIn: ("in",),
}  # fmt: skip
SWAPS = {
    "min": "max", "max": "min", "mean": "sum", "sum": "mean", "argmin": "argmax", "argmax": "argmin", "any": "all",
    "all": "any", "std": "var", "var": "std", "minimum": "maximum", "maximum": "minimum", "floor": "ceil",
    "ceil": "floor",
    "log": "log1p", "log1p": "log", "exp": "expm1", "expm1": "exp", "zeros": "ones", "ones": "zeros", "median": "mean",
    "zeros_like": "ones_like", "ones_like": "zeros_like", "cumsum": "cumprod", "logsumexp": "amax", "rand": "randn",
    "randn": "rand", "amax": "amin", "amin": "amax", "sigmoid": "tanh", "relu": "abs", "sin": "cos", "cos": "sin",
    "new_zeros": "new_ones", "nanmean": "nanmedian",
}  # fmt: skip
DROPPED_CALLS = {
    "abs", "exp", "log", "log2", "sqrt", "square", "log1p", "expm1", "sigmoid", "softplus", "round", "floor", "ceil",
    "sorted", "reversed", "clamp", "clip", "lgamma", "hold", "detach", "flip", "softmax", "log_softmax", "cumsum",
    "tril", "triu", "logit", "tanh", "relu", "permutation", "unique", "norm",
}  # fmt: skip
AXES = ("dim", "axis")
REDUCTIONS = {
    "sum", "mean", "max", "min", "argmax", "argmin", "any", "all", "std", "var", "prod", "norm", "logsumexp", "softmax",
    "log_softmax", "cumsum", "cumprod", "unsqueeze", "flatten", "amax", "amin", "median",
}  # fmt: skip
SYMMETRIC = {
    "isinstance", "getattr", "min", "max", "minimum", "maximum", "result_type", "broadcast_tensors", "logaddexp", "add",
}  # fmt: skip
"""Functions whose arguments are not swapped: it would change nothing, or too much."""
UNLIKE = {
    "rng",
    "vae",
    "images",
    "path",
    "device",
    "shape",
    "dataset",
    "model",
    "seed",
    "mode",
    "state",
    "buffer",
    "given",
}
"""Arguments whose swap no program would survive."""
SELDOM = {"swapped arguments": 3, "dropped element": 2, "dropped keyword": 2, "seed": 2}
"""Kinds of which fewer are chosen: many of them stop the program at once, which any test notices."""
PLAIN_KEYWORDS = {
    "dtype",
    "device",
    "constants",
    "reference",
    "init",
    "repr",
    "compare",
    "default_factory",
    "help",
}
"""Keywords that say how, not what; dropping them means nothing."""


@dataclass(frozen=True)
class Mutant:
    """One replacement in one file, and the function that it is in."""

    id: str
    module: str
    file: str
    line: int
    scope: str
    kind: str
    original: str
    mutated: str
    start: int
    end: int
    new: str
    known: str = ""


@dataclass
class Found:
    """What the operators propose for one file, before it is made a mutant."""

    module: str
    file: str
    source: bytes
    starts: list[int]
    seen: Counter[str] = field(default_factory=Counter)

    def mutant(self, start: int, end: int, new: str, kind: str, scope: str, known: str = "") -> Mutant:
        """The mutant that puts ``new`` in the place of the bytes from ``start`` to ``end``."""
        line = self.line(start)
        first, last = self.starts[line - 1], self.source.find(b"\n", end)
        before = self.source[first:last].decode()
        after = (self.source[first:start] + new.encode() + self.source[end:last]).decode()
        original, mutated = " ".join(before.split()), " ".join(after.split())
        key = f"{self.file}|{scope}|{original}|{mutated}"
        self.seen[key] += 1
        digest = hashlib.sha256(f"{key}|{self.seen[key]}".encode()).hexdigest()[:10]
        return Mutant(
            digest, self.module, self.file, line, scope, kind, original, mutated, start, end, new, known
        )

    def line(self, offset: int) -> int:
        """Of an offset in bytes."""
        return bisect.bisect_right(self.starts, offset)

    def offset(self, line: int, column: int) -> int:
        """Of a line and a column in bytes."""
        return self.starts[line - 1] + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Offsets of the start and the end of a node."""
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        start, end = self.span(node)
        return self.source[start:end].decode()


Proposal = tuple[ast.AST | tuple[int, int], str, str]
"""A node or a span, what takes its place, and the kind of mutation."""


def arithmetic(found: Found, node: ast.AST) -> Iterator[Proposal]:
    if not isinstance(node, ast.BinOp) or type(node.op) not in ARITHMETIC:
        return
    sides = (node.left, node.right)
    if any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    ):
        return
    if isinstance(node.op, ast.BitOr | ast.BitAnd) and any(_is_type(side) for side in sides):
        return
    left, right = (
        f"({found.text(side)})" if isinstance(side, ast.BinOp | ast.IfExp) else found.text(side)
        for side in sides
    )
    for operator in ARITHMETIC[type(node.op)]:
        yield node, f"({left} {operator} {right})", "operator"
    if isinstance(node.op, ast.Add | ast.Sub):
        yield node, left, "dropped term"
    elif isinstance(node.op, ast.Mult | ast.Div | ast.Pow):
        yield node, left, "dropped factor"
        if isinstance(node.op, ast.Mult):
            yield node, right, "dropped factor"


def comparisons(found: Found, node: ast.AST) -> Iterator[Proposal]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = found.text(node.left), found.text(node.comparators[0])
        for operator in COMPARISONS[type(node.ops[0])]:
            yield node, f"({left} {operator} {right})", "comparison"
    if isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield node, "(" + word.join(f"({found.text(value)})" for value in node.values) + ")", "condition"
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.Not | ast.USub)
        and not isinstance(node.operand, ast.Constant)
    ):
        yield node, f"({found.text(node.operand)})", "sign"
    if isinstance(node, ast.If | ast.IfExp) and not isinstance(
        node.test, ast.Compare | ast.BoolOp | ast.UnaryOp
    ):
        yield node.test, f"(not ({found.text(node.test)}))", "condition"
    if isinstance(node, ast.IfExp):
        yield node, f"({found.text(node.body)})", "branch"
        yield node, f"({found.text(node.orelse)})", "branch"


def constants(found: Found, node: ast.AST) -> Iterator[Proposal]:
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield node, str(not value), "constant"
    elif isinstance(value, int):
        yield node, str(value + 1), "constant"
        if value > 1:
            yield node, str(value - 1), "constant"
    elif isinstance(value, float):
        yield node, repr(value * 2 if value else 1.0), "constant"


def calls(found: Found, node: ast.AST) -> Iterator[Proposal]:
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT") and isinstance(node.ctx, ast.Load):
        yield node, f"({found.text(node.value)})", "axis"
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    _, end = found.span(node.func)
    if name in SWAPS and not (isinstance(node.func, ast.Name) and name not in ("min", "max", "any", "all")):
        yield (end - len(name), end), SWAPS[name], "reduction"
    if name in DROPPED_CALLS:
        of_module = isinstance(node.func, ast.Attribute) and found.text(node.func.value) in (
            "np",
            "torch",
            "math",
            "F",
            "nn.functional",
            "torch.special",
            "special",
        )
        if isinstance(node.func, ast.Attribute) and not of_module and name != "hold":
            yield node, f"({found.text(node.func.value)})", "dropped call"
        elif node.args:
            yield node, f"({found.text(node.args[0])})", "dropped call"
    if name in ("std", "var") and not any(
        keyword.arg in ("ddof", "correction", "unbiased") for keyword in node.keywords
    ):
        word = "correction=0" if b"import torch" in found.source else "ddof=1"
        _, end = found.span(node)
        yield (end - 1, end), (", " if node.args or node.keywords else "") + word + ")", "degrees of freedom"
    if (
        len(node.args) == 2
        and all(isinstance(a, ast.Name | ast.Attribute) for a in node.args)
        and name not in SYMMETRIC
        and not any(found.text(argument).split(".")[-1] in UNLIKE for argument in node.args)
    ):
        first, second = (found.span(a) for a in node.args)
        between = found.source[first[1] : second[0]].decode()
        yield (
            (first[0], second[1]),
            found.text(node.args[1]) + between + found.text(node.args[0]),
            "swapped arguments",
        )
    for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
        if (isinstance(argument, ast.Name) and argument.id == "seed") or (
            isinstance(argument, ast.Attribute) and argument.attr == "seed"
        ):
            yield argument, "0", "seed"
    yield from _keywords(found, node)


def _keywords(found: Found, node: ast.Call) -> Iterator[Proposal]:
    for keyword in node.keywords:
        if (
            keyword.arg is None
            or isinstance(keyword.value, ast.JoinedStr)
            or keyword.arg in (*AXES, *PLAIN_KEYWORDS)
            or len(node.keywords) + len(node.args) < 2
        ):
            continue
        start, end = found.span(keyword)
        after = re.match(rb"\s*,\s*", found.source[end:])
        yield (start, end + (after.end() if after else 0)), "", "dropped keyword"


def elements(found: Found, node: ast.AST) -> Iterator[Proposal]:
    """A tuple, list or set of names or numbers without its last element; only those written for their contents."""
    if (
        not isinstance(node, ast.Tuple | ast.List | ast.Set)
        or len(node.elts) < 2
        or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    ):
        return
    if all(isinstance(element, ast.Constant) for element in node.elts):
        yield (
            (found.span(node.elts[-2])[1], found.span(node.elts[-1])[1]),
            "," if isinstance(node, ast.Tuple) and len(node.elts) == 2 else "",
            "dropped element",
        )


OPERATORS = (arithmetic, comparisons, constants, calls, elements)


def _is_type(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    return (
        (isinstance(node, ast.Constant) and node.value is None)
        or isinstance(node, ast.Subscript)
        or (name is not None and (name[:1].isupper() or name in ("int", "float", "str", "bool", "bytes")))
    )


class Walk(ast.NodeVisitor):
    """All nodes that stand for what is computed, each with the function that it is in."""

    def __init__(self) -> None:
        self.scope: list[str] = []
        self.nodes: list[tuple[ast.AST, str]] = []

    def visit(self, node: ast.AST) -> None:
        """Note a node and what is inside of it, unless it is skipped."""
        if isinstance(
            node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Global
        ):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in SKIPPED_NAMES for t in node.targets
        ):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        self.nodes.append((node, ".".join(self.scope)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._function(node)
        elif isinstance(node, ast.ClassDef):
            self.scope.append(node.name)
            for child in node.body:
                self.visit(child)
            self.scope.pop()
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None and getattr(node.target, "id", "") not in SKIPPED_NAMES:
                self.visit(node.value)
        else:
            self.generic_visit(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in ("__repr__", "__str__", "describe"):
            return
        self.scope.append(node.name)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        self.scope.append("<locals>")
        for child in node.body:
            self.scope.pop()
            self.visit(child) if not isinstance(child, ast.FunctionDef | ast.ClassDef) else self._nested(
                child
            )
            self.scope.append("<locals>")
        self.scope.pop()
        self.scope.pop()

    def _nested(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self.scope.append("<locals>")
        self.visit(node)
        self.scope.pop()


def files_of(root: Path, module: str) -> list[str]:
    below = root / "src/unweave"
    names = sorted(str(path.relative_to(below)) for path in below.rglob("*.py"))
    wanted = [name for name in names if any(_matches(name, pattern) for pattern in MODULES[module][1])]
    return [name for name in wanted if not any(_matches(name, skip) for skip in SKIPPED_FILES)]


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatch(name, pattern) and (
        pattern.count("/") == name.count("/") or pattern.startswith("*/")
    )


def mutants_of(root: Path, module: str, file: str) -> list[Mutant]:
    """All mutations of a file that compile and are not skipped."""
    source = (root / "src/unweave" / file).read_bytes()
    starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]
    found, walk = Found(module, file, source, starts), Walk()
    tree = ast.parse(source)
    walk.visit(tree)
    made: dict[str, Mutant] = {}
    for pattern, text, new, meaning in KNOWN:
        if _matches(file, pattern):
            for match in re.finditer(text, source.decode()):
                start, end = (len(source.decode()[:position].encode()) for position in match.span())
                if not _is_code(walk, found, start):
                    continue
                known = found.mutant(
                    start, end, match.expand(new), "known", _scope_at(walk, found, start), meaning
                )
                made[known.id] = known
    axes, hidden = _axes(walk)
    for node, scope in walk.nodes:
        if id(node) in hidden:
            continue
        proposals = [proposal for operator in OPERATORS for proposal in operator(found, node)]
        if id(node) in axes:
            proposals = [(node, "1" if found.text(node) == "0" else "0", "axis")]
        for where, new, kind in proposals:
            start, end = where if isinstance(where, tuple) else found.span(where)
            mutant = found.mutant(start, end, new, kind, scope)
            if not any(re.search(pattern, mutant.original) for pattern, _ in SKIPPED):
                made.setdefault(mutant.id, mutant)
    return list(made.values())


def _is_code(walk: Walk, found: Found, offset: int) -> bool:
    simple = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.expr)
    spans = [found.span(node) for node, _ in walk.nodes if isinstance(node, simple)]
    return any(start <= offset < end for start, end in spans)


def _scope_at(walk: Walk, found: Found, offset: int) -> str:
    around = [(found.span(node), scope) for node, scope in walk.nodes if hasattr(node, "lineno")]
    inside = [(end - start, scope) for (start, end), scope in around if start <= offset < end]
    return min(inside)[1] if inside else ""


def _axes(walk: Walk) -> tuple[set[int], set[int]]:
    """The numbers that name an axis, by their ids, and the numbers inside of those that are negative."""
    found: list[ast.AST] = []
    for call, _ in walk.nodes:
        if isinstance(call, ast.Call):
            found += [keyword.value for keyword in call.keywords if keyword.arg in AXES]
            if isinstance(call.func, ast.Attribute) and call.func.attr in REDUCTIONS:
                found += call.args[:1]
    found = [node for node in found if isinstance(node, ast.Constant | ast.UnaryOp)]
    return {id(node) for node in found}, {id(node.operand) for node in found if isinstance(node, ast.UnaryOp)}


def compiles(root: Path, mutant: Mutant) -> bool:
    """Whether the mutation is Python, and another program than before."""
    source = (root / "src/unweave" / mutant.file).read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(apply(source, mutant))
            compile(tree, mutant.file, "exec")
        except (SyntaxError, ValueError):
            return False
    return ast.dump(tree) != ast.dump(ast.parse(source))


def apply(source: bytes, mutant: Mutant) -> bytes:
    return source[: mutant.start] + mutant.new.encode() + source[mutant.end :]


def chosen(root: Path, count: int, seed: int, modules: Sequence[str]) -> list[Mutant]:
    """``count`` mutations of all modules together, by their shares, of which those of ``modules`` are returned.

    In each module the kinds of mutation and the files take turns, and no line is mutated twice (except by `KNOWN`).
    """
    picked: list[Mutant] = []
    for module in modules:
        pool = [mutant for file in files_of(root, module) for mutant in mutants_of(root, module, file)]
        known = [mutant for mutant in pool if mutant.known]
        picked += known
        order = {mutant.id: hashlib.sha256(f"{seed}{mutant.id}".encode()).digest() for mutant in pool}
        rest = sorted((mutant for mutant in pool if not mutant.known), key=lambda mutant: order[mutant.id])
        lines = {(mutant.file, mutant.original) for mutant in known}
        wanted, turns = round(count * MODULES[module][0]) - len(known), Counter[str]()
        while rest and wanted > 0:
            best = min(rest, key=lambda mutant: turns[mutant.kind] + turns[mutant.file])
            line = best.file, best.original
            if line in lines or not compiles(root, best):
                rest.remove(best)
                continue
            rest = [mutant for mutant in rest if (mutant.file, mutant.original) != line]
            lines.add(line)
            turns.update({best.kind: SELDOM.get(best.kind, 1), best.file: 1})
            picked.append(best)
            wanted -= 1
    return picked


def every(root: Path, modules: Sequence[str]) -> list[Mutant]:
    """All mutations that could be chosen; some of them may not compile."""
    return [
        m for module in modules for file in files_of(root, module) for m in mutants_of(root, module, file)
    ]


def lost(root: Path) -> list[str]:
    """What of `KNOWN` is found nowhere any more, because the source has changed: its pattern has to follow."""
    found = {mutant.known for mutant in every(root, list(MODULES)) if mutant.known}
    return [meaning for _, _, _, meaning in KNOWN if meaning not in found]
