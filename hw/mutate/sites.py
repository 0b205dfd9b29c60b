# SPDX-License-Identifier: Apache-2.0
"""Where a source can be changed by one step: operators of expressions in the logic of a module.

slang (PyPI's `pyslang`) reads the file, so that what a change replaces is a whole expression of the language: conditions and values
of `assign` and of processes, but not constants of the elaboration (ranges, sizes, parameters, labels), loop headers, functions, and
what macros expand to, such as assertions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyslang import syntax

BINARY = {
    "LogicalAndExpression": ("&&", ("||",)),
    "LogicalOrExpression": ("||", ("&&",)),
    "BinaryAndExpression": ("&", ("|",)),
    "BinaryOrExpression": ("|", ("&",)),
    "BinaryXorExpression": ("^", ("|",)),
    "EqualityExpression": ("==", ("!=",)),
    "InequalityExpression": ("!=", ("==",)),
    "LessThanExpression": ("<", ("<=",)),
    "LessThanEqualExpression": ("<=", ("<",)),
    "GreaterThanExpression": (">", (">=",)),
    "GreaterThanEqualExpression": (">=", (">",)),
    "AddExpression": ("+", ("-",)),
    "SubtractExpression": ("-", ("+",)),
}
"""Operators by slang's names, and what takes their place."""
NEGATIONS = {"UnaryLogicalNotExpression": "!", "UnaryBitwiseNotExpression": "~"}
RESETS = ("rst_ni", "ap_rst_n")
LOGIC = ("ContinuousAssign", "AlwaysCombBlock", "AlwaysFFBlock")
# What is constant, and what is no expression of its own.
CLOSED = (
    "FunctionDeclaration",
    "ParameterDeclarationStatement",
    "DataDeclaration",
    "ElementSelect",
    "BitSelect",
    "SimpleRangeSelect",
    "AscendingRangeSelect",
    "DescendingRangeSelect",
    "EventControl",
    "EventControlWithExpression",
    "ForLoopStatement.header",
)


@dataclass(frozen=True)
class Change:
    """One fault: the bytes [start, end) of `file` hold `before` and shall hold `after`, an expression like it."""

    file: Path
    """Relative to the tree."""
    start: int
    end: int
    before: str
    after: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {_short(self.before)} -> {_short(self.after)}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else words[:57] + "..."


def changes(root: Path, file: Path) -> list[Change]:
    """Every change that the operators allow in `file` (relative to `root`), in the order of the text."""
    text = (root / file).read_bytes()
    tree = syntax.SyntaxTree.fromText(text.decode(), str(file))
    found = list(_in_logic(tree.root, file, text))
    return sorted(set(found), key=lambda change: (change.start, change.after))


def _kind(node: syntax.SyntaxNode) -> str:
    return node.kind.name


def _children(node: syntax.SyntaxNode) -> Iterator[syntax.SyntaxNode]:
    for child in node:
        if isinstance(child, syntax.SyntaxNode):
            yield child


def _in_logic(node: syntax.SyntaxNode, file: Path, text: bytes) -> Iterator[Change]:
    if _kind(node) in LOGIC:
        yield from _in_expression(node, file, text)
    elif _kind(node) != "FunctionDeclaration":
        for child in _children(node):
            yield from _in_logic(child, file, text)


def _in_expression(node: syntax.SyntaxNode, file: Path, text: bytes) -> Iterator[Change]:
    kind = _kind(node)
    if kind in CLOSED:
        return
    span = _span(node)
    if span and kind in BINARY:
        left, right = _span(node.left), _span(node.right)
        sign, others = BINARY[kind]
        if left and right and text[left[1] : right[0]].decode().strip() == sign:
            parts = text[span[0] : left[1]].decode(), text[right[0] : span[1]].decode()
            for other in others:
                yield _change(
                    file,
                    text,
                    span,
                    f"({parts[0].strip()}) {other} ({parts[1].strip()})",
                    f"{sign} as {other}",
                )
    elif span and kind in NEGATIONS:
        inner = _span(node.operand)
        if inner and text[slice(*inner)].decode() not in RESETS:
            yield _change(file, text, span, text[inner[0] : inner[1]].decode(), f"without {NEGATIONS[kind]}")
    elif span and kind == "ConditionalExpression":
        left, right = _span(node.left), _span(node.right)
        if left and right:
            yield _change(file, text, span, text[left[0] : left[1]].decode(), "always the first")
            yield _change(file, text, span, text[right[0] : right[1]].decode(), "always the second")
    elif kind == "NonblockingAssignmentExpression" and _kind(node.left) != "ConcatenationExpression":
        left, right = _span(node.left), _span(node.right)
        if left and right:
            yield _change(file, text, right, text[left[0] : left[1]].decode(), "keeps its value")
    for child in _open(node, kind):
        yield from _in_expression(child, file, text)


def _open(node: syntax.SyntaxNode, kind: str) -> Iterator[syntax.SyntaxNode]:
    """The children in which expressions may change."""
    if kind == "ForLoopStatement":
        yield node.statement
    elif kind == "StandardCaseItem":
        yield node.clause
    elif kind == "CastExpression":
        yield node.right
    elif kind == "MultipleConcatenationExpression":
        yield node.concatenation
    elif kind in ("AssignmentExpression", "NonblockingAssignmentExpression"):
        yield node.right
    else:
        yield from _children(node)


def _span(node: syntax.SyntaxNode) -> tuple[int, int] | None:
    """Bytes of a node's text; None when a macro makes any of it."""
    first, last = node.getFirstToken(), node.getLastToken()
    start, end = node.sourceRange.start, node.sourceRange.end
    if (
        first.location.buffer != last.location.buffer
        or start.buffer != end.buffer
        or end.offset <= start.offset
    ):
        return None
    return start.offset, end.offset


def _change(file: Path, text: bytes, span: tuple[int, int], after: str, name: str) -> Change:
    before = text[span[0] : span[1]].decode()
    return Change(file, *span, before, after, text[: span[0]].count(b"\n") + 1, name)
