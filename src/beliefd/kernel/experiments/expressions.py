"""Models as arithmetic: a closed grammar over declared names, read into a tree and never run as Python.

There are no attributes, indices, texts, lambdas or comments in it, so there is nothing to escape with, and no
word in it that was not declared.
"""

import ast
import re
from collections.abc import Collection
from typing import Final

from msgspec import Struct

from beliefd.kernel.errors import invalid

MAX_LENGTH: Final = 1_000
MAX_DEPTH: Final = 32
FUNCTIONS: Final[dict[str, int]] = {
    "abs": 1, "ceil": 1, "cos": 1, "exp": 1, "floor": 1, "log": 1, "max": 2, "min": 2, "sin": 1, "sqrt": 1,
    "tanh": 1, "where": 3,
}  # fmt: skip
"""Every function of the grammar, and how many arguments it takes."""
OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.USub: "neg", ast.UAdd: "pos",
}  # fmt: skip
_ALPHABET = re.compile(r"[A-Za-z0-9_+\-*/(),.<>= ]+")


class Number(Struct, frozen=True):
    value: float


class Name(Struct, frozen=True):
    name: str


class Apply(Struct, frozen=True):
    """An operator or a function on its arguments; a comparison is 1 where it holds and 0 where not."""

    what: str
    arguments: "tuple[Expression, ...]"


Expression = Number | Name | Apply


def parse(text: str, names: Collection[str], path: str) -> Expression:
    """The tree of an expression in which all `names` occur and no others, or why it is none."""
    if len(text) > MAX_LENGTH:
        raise invalid(f"an expression has at most {MAX_LENGTH} characters, not {len(text)}", path)
    if not _ALPHABET.fullmatch(text):
        raise invalid("an expression holds numbers, names, operators, brackets and commas only", path)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise invalid("this is no arithmetic expression", path) from None
    expression = _read(tree, frozenset(names), path, 0)
    if unused := sorted(set(names) - used(expression)):
        raise invalid(f"the input `{unused[0]}` does not occur in the expression", path)
    return expression


def used(expression: Expression) -> set[str]:
    """The names that an expression speaks of."""
    if isinstance(expression, Apply):
        return set().union(*(used(argument) for argument in expression.arguments))
    return {expression.name} if isinstance(expression, Name) else set()


def _read(node: ast.AST, names: frozenset[str], path: str, depth: int) -> Expression:
    if depth > MAX_DEPTH:
        raise invalid(f"the expression is nested deeper than {MAX_DEPTH} levels", path)
    if isinstance(node, ast.Constant):
        return _number(node, path)
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise invalid(f"`{node.id[:32]}` is no declared input", path)
        return Name(node.id)
    what, arguments = _applied(node, path)
    return Apply(what, tuple(_read(argument, names, path, depth + 1) for argument in arguments))


def _number(node: ast.Constant, path: str) -> Number:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
        raise invalid("a constant is a number of at most 1e300", path)
    return Number(float(value))


def _applied(node: ast.AST, path: str) -> tuple[str, list[ast.expr]]:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)], [node.left, node.right]
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)], [node.operand]
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
        return OPERATORS[type(node.ops[0])], [node.left, node.comparators[0]]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        arity = FUNCTIONS.get(node.func.id)
        if arity is None:
            raise invalid(f"`{node.func.id[:32]}` is not one of {', '.join(FUNCTIONS)}", path)
        if len(node.args) != arity:
            raise invalid(f"`{node.func.id}` takes {arity} arguments, not {len(node.args)}", path)
        return node.func.id, node.args
    raise invalid("an expression has + - * / ** < <= > >=, brackets and the known functions only", path)
