"""Trees of nested norms, written as nested lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from torch import Tensor

from unweave.errors import UnweaveError

Child = tuple[str, int]
"""("leaf", number of the latent) or ("node", number of the inner node)."""


@final
@dataclass(frozen=True)
class Level:
    """Inner nodes that can be computed at once: all their children are computed, and none is a child of another.

    Rows are nodes and columns their children, padded to the widest; ``present`` marks what is not padding. ``slots``
    are the positions of the children's values in the list of all values: leaves, then inner nodes, then the padding.

    Example:
        >>> Tree.parse([[1, 1], [1, 1, 1]]).levels[0].slots.tolist()
        [[0, 1, 8], [2, 3, 4]]
    """

    nodes: Tensor
    slots: Tensor
    present: Tensor
    leaves: Tensor


@final
@dataclass(frozen=True)
class Tree:
    """The shape of an Lp-nested function: what is summed at each inner node.

    Inner nodes are numbered from left to right, each before its children, starting with 0 for the root; leaves are the
    latents from left to right.

    Example:
        >>> tree = Tree.parse([1, [1, 1]])  # ISA Eq. 6
        >>> tree.children
        ((('leaf', 0), ('node', 1)), (('leaf', 1), ('leaf', 2)))
        >>> tree.leaves
        3
    """

    children: tuple[tuple[Child, ...], ...]

    @classmethod
    def parse(cls, description: object) -> "Tree":
        """A tree from nested lists; a whole number means that many leaves.

        Example:
            >>> Tree.parse([[2], [3]]) == Tree.parse([[1, 1], [1, 1, 1]])
            True
            >>> Tree.parse([[2], []])  # doctest: +ELLIPSIS
            Traceback (most recent call last):
            ...
            unweave.errors.UnweaveError: prior.tree must be nested lists of whole numbers of at least 1, ...
        """
        nodes: list[tuple[Child, ...]] = []
        leaves = 0

        def add(part: object) -> int:
            nonlocal leaves
            if not isinstance(part, Sequence) or isinstance(part, str) or not part:
                raise _not_a_tree(part)
            number = len(nodes)
            nodes.append(())
            children: list[Child] = []
            for child in part:
                if isinstance(child, int) and not isinstance(child, bool) and child >= 1:
                    children += [("leaf", leaves + k) for k in range(child)]
                    leaves += child
                elif isinstance(child, Sequence):
                    children.append(("node", add(child)))
                else:
                    raise _not_a_tree(child)
            nodes[number] = tuple(children)
            return number

        add([description] if isinstance(description, int) else description)
        return cls(tuple(nodes))

    @cached_property
    def leaves_below(self) -> tuple[int, ...]:
        """How many leaves there are under each inner node."""

        def count(node: int) -> int:
            return sum(1 if kind == "leaf" else count(number) for kind, number in self.children[node])

        return tuple(count(node) for node in range(len(self.children)))

    @property
    def leaves(self) -> int:
        """How many leaves there are, which is the number of latents."""
        return self.leaves_below[0]

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The inner nodes in groups, from the leaves to the root."""
        heights: dict[int, int] = {}
        for node in reversed(range(len(self.children))):  # children have larger numbers than their parent
            below = [heights[number] for kind, number in self.children[node] if kind == "node"]
            heights[node] = 1 + max(below, default=0)
        groups = [[n for n in heights if heights[n] == h] for h in range(1, heights[0] + 1)]
        return tuple(self._level(sorted(group)) for group in groups)

    def _level(self, nodes: list[int]) -> Level:
        widest = max(len(self.children[node]) for node in nodes)
        padding = self.leaves + len(self.children)
        slots = torch.full((len(nodes), widest), padding)
        leaves = torch.ones(len(nodes), widest, dtype=torch.float64)
        for row, node in enumerate(nodes):
            for column, (kind, number) in enumerate(self.children[node]):
                slots[row, column] = number if kind == "leaf" else self.leaves + number
                leaves[row, column] = 1 if kind == "leaf" else self.leaves_below[number]
        return Level(torch.tensor(nodes), slots, slots != padding, leaves)


def _not_a_tree(part: object) -> UnweaveError:
    return UnweaveError(
        f"prior.tree must be nested lists of whole numbers of at least 1, such as [[1,1],[1,1,1]]; got {part!r}"
    )
