"""Which Python a model may be written in, and how it is made to forget: checked before it is frozen or run.

INVARIANT: a model is a function of its inputs. What is not allowed here is refused: code that makes code,
modules other than `math`, and whatever shows where an object lies (`id`, `hash`, texts made of objects).
"""

import ast
import builtins
import math
import symtable
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from beliefd.experiments.sandbox.errors import ModelFailed

MAX_SOURCE: Final = 20_000
REPLICATE: Final = "__replicate"
GIVEN: Final = "__given"
STATEMENTS: Final = (
    ast.FunctionDef, ast.Return, ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Raise, ast.Try,
    ast.ExceptHandler, ast.Assert, ast.Import, ast.ImportFrom, ast.alias, ast.Global, ast.Nonlocal, ast.Expr,
    ast.Pass, ast.Break, ast.Continue,
)  # fmt: skip
EXPRESSIONS: Final = (
    ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp,
    ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Compare, ast.Call, ast.Constant, ast.Attribute,
    ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice,
)  # fmt: skip
PARTS: Final = (
    ast.Module, ast.arguments, ast.arg, ast.keyword, ast.comprehension, ast.expr_context, ast.operator,
    ast.boolop, ast.unaryop, ast.cmpop,
)  # fmt: skip
FUNCTIONS: Final = frozenset({
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int",
    "isinstance", "iter", "len", "list", "map", "max", "min", "next", "pow", "range", "reversed", "round",
    "set", "sorted", "sum", "tuple", "zip",
})  # fmt: skip
OWN: Final = frozenset(dir(builtins))
ERRORS: Final = frozenset(
    name for name in OWN if isinstance(kind := getattr(builtins, name), type) and issubclass(kind, Exception)
)
ARITHMETIC: Final = frozenset(name for name in dir(math) if not name.startswith("_"))
METHODS: Final = frozenset(
    name for kind in (list, dict, set, tuple) for name in dir(kind) if not name.startswith("_")
)
FITS: Final = f"a model has its inputs, names of its own, `math`, and {', '.join(sorted(FUNCTIONS))}"


@lru_cache(64)
def forgetful(source: str) -> str:
    """The code as the body of one function, so that every replicate begins with names of its own.

    Raises ModelFailed with the line of what is not allowed, and with what would fit.
    """
    if len(source) > MAX_SOURCE:
        raise ModelFailed(f"a model's code has at most {MAX_SOURCE} characters")
    try:
        tree = _Bare().visit(ast.parse(source))
        for node in ast.walk(tree):
            _check(node)
        _check_names(tree)
        body = _Enclosed().visit(tree).body
        wrapped = ast.parse(f"def {REPLICATE}({GIVEN}):\n    return model(**{GIVEN})")
        function = wrapped.body[0]
        assert isinstance(function, ast.FunctionDef)  # noqa: S101 - written two lines above
        function.body = [*body, *function.body]
        return ast.unparse(wrapped)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ModelFailed("the model's code is not Python") from None


class _Bare(ast.NodeTransformer):
    """Without annotations and docstrings: they are words for readers, and no part of what is computed."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            # A bare annotation still makes its name a local one.
            raise _refused(node, "declares a name without a value", "give it one")
        return ast.copy_location(ast.Assign(targets=[node.target], value=self.visit(node.value)), node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)


class _Enclosed(ast.NodeTransformer):
    """What was global belongs to the function around it."""

    def visit_Global(self, node: ast.Global) -> ast.AST:
        return ast.copy_location(ast.Nonlocal(names=node.names), node)


def _refused(node: ast.AST, what: str, instead: str = FITS) -> ModelFailed:
    return ModelFailed(f"line {getattr(node, 'lineno', 1)} of the model's code {what}; {instead}")


def _check(node: ast.AST) -> None:
    if not isinstance(node, STATEMENTS + EXPRESSIONS + PARTS):
        told = "functions, loops, branches, `try`, numbers, texts, lists, dicts and sets fit"
        raise _refused(node, f"has a `{type(node).__name__}`", told)
    if isinstance(node, ast.Import | ast.ImportFrom):
        _check_import(node)
    elif isinstance(node, ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            raise _refused(node, "sets an attribute", "keep what is computed in names, lists and dicts")
        if node.attr not in ARITHMETIC | METHODS:
            raise _refused(
                node,
                "asks for an attribute",
                "those of `math` and the methods of lists, dicts, sets and tuples fit",
            )
    elif isinstance(node, ast.Constant):
        _check_constant(node)
    elif isinstance(node, ast.Compare) and _compares_objects(node):
        raise _refused(node, "asks whether two objects are one", "compare their values with `==`")


def _check_import(node: ast.Import | ast.ImportFrom) -> None:
    whole = isinstance(node, ast.Import) and all(name.name == "math" for name in node.names)
    parts = (
        isinstance(node, ast.ImportFrom)
        and (node.module, node.level) == ("math", 0)
        and all(name.name in ARITHMETIC for name in node.names)
    )
    if not whole and not parts:
        raise _refused(node, "imports something else", "a model may import `math` only")


def _check_constant(node: ast.Constant) -> None:
    """A text with a percent sign can be filled with any object, and would then tell where that lies."""
    if not isinstance(node.value, int | float | str | None):
        raise _refused(node, "has a constant that is no number", "real numbers, texts and None fit")
    if isinstance(node.value, str) and "%" in node.value:
        raise _refused(node, "has a text with a `%`", "a text is a label: it is not filled in")


def _compares_objects(node: ast.Compare) -> bool:
    """`is` tells how an interpreter shares objects. There is only one None, one True and one False."""
    values = [side.value for side in (node.left, *node.comparators) if isinstance(side, ast.Constant)]
    single = any(value is None or isinstance(value, bool) for value in values)
    return not single and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)


def _check_names(tree: ast.Module) -> None:
    """Every name is one that the code sets itself, in a scope that it is seen from, or is allowed."""
    top = symtable.symtable(ast.unparse(tree), "model", "exec")
    own = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not any(node.name == "model" for node in functions):
        raise ModelFailed("the model's code defines no function `model`")
    _check_globals(tree, own)
    for scope in _scopes(top):
        for symbol in scope.get_symbols():
            name = symbol.get_name()
            seen = own if scope is top or symbol.is_global() else {name}
            if name.startswith("__") or name not in seen | FUNCTIONS | ERRORS:
                raise _refused(_place(tree, name), f"uses {_told(name)}")


def _check_globals(tree: ast.Module, own: set[str]) -> None:
    """In a function of the top level it is clear whose name it is, once that is the body of a function."""
    reach = {id(node) for function in _functions(tree) for node in _inside(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Global) and (id(node) not in reach or not own.issuperset(node.names)):
            told = "set the name at the top level, and name it `global` in a function of the top level"
            raise _refused(node, "has a `global` that is not clear", told)


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """Those of the top level, wherever on it they stand."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child
        else:
            yield from _functions(child)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, but not in a function in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child
            yield from _inside(child)


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _place(tree: ast.Module, name: str) -> ast.AST:
    fields = ("id", "arg", "name")
    named = (node for node in ast.walk(tree) if name in {getattr(node, field, None) for field in fields})
    return next(named, tree)


def _told(name: str) -> str:
    """INVARIANT: no word of the code is in what is recorded, only words of Python."""
    return f"`{name}`" if name in OWN else "a name that is not to be had there"
