"""The changes that `make mutate` makes to a module, one at a time, and those that it leaves out.

Half of the operators are cosmic-ray's (https://cosmic-ray.readthedocs.io), one replacement for each sign; the others
are in `REWRITES`: a function without its body, a statement or a returned value that is missing, a condition that is
negated, another word, another function of the same kind.

Left out by rule, since no test should notice them:

* what decides nothing when it runs: annotations, `type` statements, `Literal`, imports, assertions (`strict` of `zip`
  is one), decorators, `__slots__`, and the types that `isinstance` is asked about
* text for people: docstrings, f-strings, every string that is not a single word
* a number of ten or more made one greater or smaller, and one that is shifted or multiplied with a constant's name (a
  power of two, so many times a limit): it is a size
* -1 made -2, but for an index: it is the place of what was not found, and every number below zero says so
* what is no Python
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

type Position = tuple[int, int]  # line from 1, column from 0, in characters
type Node = Any  # of parso, which has no types

OF_COSMIC_RAY = (
    *(
        f"ReplaceComparisonOperator_{change}"
        for change in ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Is_IsNot", "IsNot_Is")
    ),
    *(
        f"ReplaceBinaryOperator_{change}"
        for change in ("Add_Sub", "Sub_Add", "Mul_FloorDiv", "FloorDiv_Mul", "BitOr_BitAnd", "BitAnd_BitOr")
    ),
    *("ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop"),
    "NumberReplacer",
)

_WORD = re.compile(r"""["'][A-Za-z_]+["']""")
_OF_THE_SAME_KIND = {"any": "all", "all": "any", "min": "max", "max": "min"}
_OPPOSITES = {"==", "!=", "is", "is not", "in", "not in"}
_SIZE = 10


def _no_body(node: Node) -> str | None:
    """A function that does nothing; one that yields, yields nothing."""
    if node.type != "suite" or node.parent.type != "funcdef" or node.parent.name.value == "__init__":
        return None
    statements = [child for child in node.children if child.type != "newline"]
    indent = "\n" + " " * statements[0].start_pos[1]
    body = [s for s in statements if s.get_code().strip()[:1] not in {'"', "'", "."}]
    if not body or body[0].get_code().strip() in {"return None", "pass", "yield"}:
        return None
    return f"{indent}return None{f'{indent}yield' if node.parent.is_generator() else ''}\n"


def _no_result(node: Node) -> str | None:
    if node.type != "return_stmt" or node.children[1].get_code().strip() in {"None", "True", "False"}:
        return None
    return "return None"


def _no_statement(node: Node) -> str | None:
    """Not for a name that is set: what follows would only fail for want of it."""
    if node.parent is None or node.parent.type != "simple_stmt":
        return None
    if node.type == "expr_stmt":
        target, then = node.children[0], node.children[1]
        names = target.type == "name" or target.type == "testlist_star_expr"
        return None if then.type == "annassign" or (names and then.get_code().strip() == "=") else "pass"
    return "pass" if node.type in {"atom_expr", "yield_expr", "raise_stmt", "del_stmt"} else None


def _negated(node: Node) -> str | None:
    before = node.get_previous_sibling()
    if before is None or before.type != "keyword" or before.value not in {"if", "elif", "while"}:
        return None
    if node.type == "not_test" or (node.type == "comparison" and _sign(node.children[1]) in _OPPOSITES):
        return None  # another operator makes the same change
    return f"not ({node.get_code(include_prefix=False)})"


def _other_membership(node: Node) -> str | None:
    if node.parent is None or node.parent.type != "comparison":
        return None
    return {"in": "not in", "not in": "in"}.get(_sign(node))


def _sign(node: Node) -> str:
    return " ".join(node.get_code().split())


def _other_function(node: Node) -> str | None:
    following = node.get_next_sibling() if node.type == "name" else None
    called = following is not None and following.type == "trailer" and following.children[0].value == "("
    return _OF_THE_SAME_KIND.get(node.value) if called else None


def _other_word(node: Node) -> str | None:
    return '"other"' if node.type == "string" and _WORD.fullmatch(node.value) else None


def _not_caught(node: Node) -> str | None:
    """Cosmic-ray's own operator fails for an exception of another module (`re.error`)."""
    several = node.parent is not None and node.parent.type == "testlist_comp"
    clause = node.parent.parent.parent if several else node.parent
    if clause is None or clause.type != "except_clause" or node.type not in {"name", "power", "atom_expr"}:
        return None
    return None if node.get_previous_sibling() == "as" else "_NotRaised"


REWRITES: tuple[Callable[[Node], str | None], ...] = (
    _no_body,
    _no_result,
    _no_statement,
    _negated,
    _other_membership,
    _other_function,
    _other_word,
    _not_caught,
)


@dataclass(frozen=True)
class Rewrite:
    """An operator as cosmic-ray calls it: replaces a node by the code that `change` returns, None for no change."""

    change: Callable[[Node], str | None]

    def mutation_positions(self, node: Node) -> Iterator[tuple[Position, Position]]:
        if self.change(node) is not None:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Node, _index: int) -> Node:
        return parso.parse(node.get_first_leaf().prefix + str(self.change(node)))


def _operators() -> list[Any]:
    provider = OperatorProvider()
    return [*(provider[name]() for name in OF_COSMIC_RAY), *map(Rewrite, REWRITES)]


@dataclass(frozen=True)
class Site:
    """The `occurrence`-th place in a file that an operator can change. `file` is relative to the repository."""

    file: str
    operator: Any
    occurrence: int


@dataclass(frozen=True)
class Mutant:
    """A change that is Python. `line`, `was` and `becomes` are the first line that differs, stripped."""

    site: Site
    line: int
    was: str
    becomes: str


def sites(file: str, source: str) -> Iterator[Site]:
    """Every change of a file that no rule leaves out, apart from what is no Python (`mutant` finds out)."""
    out = list(_left_out(source))
    nodes = list(ast_nodes(get_ast(source)))
    for operator in _operators():
        positions = [(node, start) for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, (node, start) in enumerate(positions):
            if any(first <= start < last for first, last in out) or _is_size(node):
                continue
            is_greater = not occurrence or positions[occurrence - 1][0] is not node  # cosmic-ray's first of two changes
            if not (is_greater and _is_no_place(node)):
                yield Site(file, operator, occurrence)


def mutant(source: str, site: Site) -> Mutant | None:
    """What becomes of a file's source. None for what is no Python."""
    code = mutate_code(source, site.operator, site.occurrence)
    assert code is not None, site
    try:
        compile(code, "", "exec", dont_inherit=True)
    except SyntaxError:
        return None
    pairs = zip_longest(source.splitlines(), code.splitlines(), fillvalue="")
    return next(
        Mutant(site, number, was.strip(), becomes.strip())
        for number, (was, becomes) in enumerate(pairs, start=1)
        if was != becomes
    )


def _is_size(node: Node) -> bool:
    if node.type != "number":
        return False
    if abs(ast.literal_eval(node.value)) >= _SIZE or node.parent.type == "shift_expr":
        return True
    factors = node.parent.children if node.parent.type == "term" else []
    return any(one.type == "name" and one.value.isupper() for one in factors)


def _is_no_place(node: Node) -> bool:
    before = node.get_previous_sibling() if node.type == "number" and node.value == "1" else None
    if before is None or node.parent.type != "factor" or before.value != "-":
        return False
    return node.parent.parent.type != "trailer"


def _left_out(source: str) -> Iterator[tuple[Position, Position]]:
    lines = source.splitlines()

    def position(line: int, column: int) -> Position:
        return line, len(lines[line - 1].encode()[:column].decode())

    for node in ast.walk(ast.parse(source)):
        for part in _undecisive(node):
            assert part.end_lineno is not None
            assert part.end_col_offset is not None
            yield position(part.lineno, part.col_offset), position(part.end_lineno, part.end_col_offset)


def _undecisive(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    match node:
        case ast.Subscript(value=ast.Name("Literal")):
            yield node
        case ast.TypeAlias() | ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr():
            yield node
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
            yield annotation
        case ast.Assign(targets=[ast.Name("__slots__")]):
            yield node
        case ast.FunctionDef(returns=returns, decorator_list=decorators):
            yield from (*decorators, *([returns] if returns else []))
        case ast.ClassDef(decorator_list=decorators):
            yield from decorators
        case ast.Call(func=ast.Name("isinstance"), args=[_, types]):
            yield types
        case ast.Call(func=ast.Name("zip"), keywords=[ast.keyword(arg="strict", value=value)]):
            yield value
        case _:
            pass
