"""SQL as far as it must be understood: whether a statement only reads, and what the others change.

INVARIANT: what is not wholly understood does not read. Databases differ in how they end a string or begin a
remark, so what two of them could read in two ways (a backslash, `#`, `--1`, `/*!`) is not understood.
"""

import re
from typing import Final

from msgspec import Struct

from beliefd.kernel.origin.lexicon import Class

MAX_STATEMENT: Final = 20_000
_TOKEN: Final = re.compile(
    r"""(?P<gap>\s+|--(?=\s|$)[^\n]*|/\*(?![!+])(?:(?!/\*).)*?\*/)
    |'(?P<text>(?:[^'\\]|'')*)'
    |"(?P<quoted>[^"\\]*)"|`(?P<ticked>[^`\\]*)`|\[(?P<boxed>[\w ]+)\]
    |(?P<number>\d+(?:\.\d+)?(?![\w.]))
    |(?P<word>[^\W\d]\w*)
    |(?P<given>\$\d+|:[^\W\d]\w*|@[^\W\d@]\w*|\?|%s)
    |(?P<mark>::|:=|<>|!=|<=|>=|\|\||-(?!-)|/(?!\*)|\*(?!/)|[(),.;=<>+%|&^~])""",
    re.X | re.S,
)
_BEGINS: Final = frozenset({"select", "with", "values", "show", "describe", "desc", "explain"})
_WRITES_WORDS: Final = """
    insert update delete merge upsert into drop alter create truncate grant revoke deny call exec
    execute set lock returning outfile dumpfile procedure for kill shutdown backup restore dbcc
    reconfigure bulk waitfor declare use save commit rollback begin disable enable deallocate raiserror
    checkpoint replace
"""
_WRITES: Final = frozenset(_WRITES_WORDS.split())
"""What changes something inside of a statement that begins like a reading one, or right behind it."""
_CALLED_WORDS: Final = """
    count sum avg min max abs round floor ceil ceiling sqrt mod power sign greatest least coalesce
    nullif ifnull isnull nvl iif if lower upper initcap trim ltrim rtrim length len char_length substr
    substring left right lpad rpad concat concat_ws replace position instr strpos split_part reverse
    repeat cast convert try_cast to_char to_date to_number date datetime timestamp time year month day
    hour minute second quarter week strftime date_trunc date_part extract datediff date_diff date_add
    date_sub dateadd age now current_date current_timestamp getdate julianday row_number rank dense_rank
    ntile lag lead first_value last_value percent_rank cume_dist percentile_cont percentile_disc median
    stddev variance string_agg group_concat array_agg json_agg json_extract json_object json_array
    jsonb_agg bool_and bool_or every any_value numeric decimal varchar char nvarchar float total in
    exists any all some as and or not on where having by from join using over filter group partition
    order when then else case between like ilike union intersect except select values distinct
    materialized limit offset interval within explain
"""
_CALLED: Final = frozenset(_CALLED_WORDS.split())
"""Functions that only work something out, and words that stand before a bracket."""
_ACTIONS: Final[dict[str, Class]] = {
    "insert": "create", "update": "update", "delete": "delete", "drop": "delete", "truncate": "delete",
}  # fmt: skip
_ASIDE: Final = frozenset({"into", "from", "table", "only", "ignore", "if", "exists"})


_MORE_TABLES: Final = frozenset({"select", "join", "using", "from", "with", "cascade", "table"})
"""Words behind the table that bring another one in, or more than its rows."""
_MAKES_UP: Final = frozenset({"gen_random_uuid", "uuid", "uuid_generate_v4", "random", "conflict"})
"""What may stand before a bracket in a change besides, and reads and changes nothing."""
_PARTS_OF: Final = frozenset({"extract", "trim", "substring", "overlay", "position"})
"""Functions in whose brackets `from` names no table."""
_CLAUSES: Final = frozenset(
    {"select", "from", "join", "where", "on", "group", "order", "having", "limit", "union", "values", "set"}
)


class Token(Struct, frozen=True):
    kind: str
    text: str


class Compared(Struct, frozen=True):
    """`id = 7`, `id in (7, 8)`, `day < '2025-01-01'`: values that rows must have, or days that bound them."""

    column: str
    values: tuple[str, ...]
    exact: bool


Rows = tuple[tuple[Compared, ...], ...]
"""Alternatives (`or`), each of things that must hold together. What is not plain bounds nothing."""


class Change(Struct, frozen=True):
    """A statement that changes something: what it does, to which table, with which values by column.

    Without a table it is not understood. `schema` is what stands before the table's name, `rows` which rows
    of it are meant (None: all), `assigned` what is written into them.
    """

    action: Class
    table: str
    values: tuple[tuple[str, str], ...]
    schema: tuple[str, ...] = ()
    rows: Rows | None = None
    assigned: tuple[str, ...] = ()


def tokens_of(text: str) -> list[Token] | None:
    """None for what is not understood. A mark at its end is left out."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        matched = _TOKEN.match(text, at)
        if matched is None or len(text) > MAX_STATEMENT:
            return None
        at, kind = matched.end(), matched.lastgroup or "gap"
        if kind != "gap":
            raw = matched[kind]
            found.append(Token(kind, raw.replace("''", "'") if kind == "text" else raw))
    if found and found[-1] == Token("mark", ";"):
        found.pop()
    return found


def reads_only(text: str) -> bool:
    """One statement that changes nothing and calls nothing that could."""
    tokens = tokens_of(text)
    if not tokens or _word(tokens[0]) not in _BEGINS or Token("mark", ";") in tokens:
        return False
    if _reads_a_place(tokens):
        return False
    before = Token("mark", "")
    for at, token in enumerate(tokens):
        opens = token == Token("mark", "(")
        if token.text == ":=" or (opens and not _may_open(tokens, at)):
            return False
        called = at + 1 < len(tokens) and tokens[at + 1].text == "(" and _word(token) in _CALLED
        if _word(token) in _WRITES and not called and before.text != ".":
            return False
        before = token
    return True


def _reads_a_place(tokens: list[Token]) -> bool:
    """`FROM 'https://...'`: some databases load what is written where a table should be."""
    clauses, before = ["describe" if _word(tokens[0]) in ("describe", "desc") else ""], Token("mark", "")
    for token in tokens:
        word = _word(token)
        if token == Token("mark", "("):
            clauses.append("call" if _word(before) in _PARTS_OF else "")
        elif token == Token("mark", ")"):
            del clauses[max(1, len(clauses) - 1) :]
        elif word in _CLAUSES and clauses[-1] != "call" and _word(before) != "distinct":
            clauses[-1] = word
        placed = token.kind == "text" or (
            token.kind in ("quoted", "ticked") and re.search("[:/]", token.text)
        )
        if placed and (clauses[-1] in ("from", "join", "describe") or _word(before) == "table"):
            return True
        before = token
    return False


def _may_open(tokens: list[Token], at: int) -> bool:
    """A bracket behind a name calls it: only what is known to work something out may be called."""
    before = tokens[at - 1] if at else Token("mark", "")
    if before.kind == "mark":
        return before.text != ")"
    qualified = at > 1 and tokens[at - 2].text == "."
    return _word(before) in _CALLED and not qualified


def change_of(text: str) -> Change | None:
    """What one plain statement changes; None if it is another one or is not understood."""
    tokens = tokens_of(text)
    if not tokens or Token("mark", ";") in tokens:
        return None
    action = _ACTIONS.get(_word(tokens[0]))
    if action is None:
        return None
    start = next((at for at, token in enumerate(tokens) if at and _word(token) not in _ASIDE), len(tokens))
    names, rest = _named(tokens[start:])
    if not names or not _one_table(action, _word(tokens[0]), rest):
        return Change(action, "", tuple(_compared(tokens[start:])))
    if action == "create":
        at = next((at for at, token in enumerate(rest) if _word(token) == "on"), len(rest))
        values = (*_inserted(rest[:at]), *_compared(rest[at:]))
        return Change(action, names[-1], values, names[:-1])
    set_to, asked = _parted(rest, "where")
    return Change(
        action,
        names[-1],
        tuple(_compared(rest)),
        names[:-1],
        None if asked is None else _rows(asked),
        tuple(value for _, value in _compared(set_to)),
    )


def _named(tokens: list[Token]) -> tuple[tuple[str, ...], list[Token]]:
    """The parts of a name like `shop.orders`, and what stands behind it."""
    if not tokens or tokens[0].kind not in ("word", "quoted", "ticked", "boxed"):
        return (), tokens
    at = 0
    while at + 2 < len(tokens) and tokens[at + 1].text == ".":
        at += 2
    return tuple(part for token in tokens[: at + 1 : 2] for part in token.text.split(".")), tokens[at + 1 :]


def _one_table(action: Class, begins: str, rest: list[Token]) -> bool:
    """Is nothing but rows of one table changed, and nothing called or read besides?"""
    words = {_word(token) for token in rest}
    if words & _MORE_TABLES or (action != "create" and "values" in words):
        return False
    if begins in ("drop", "truncate"):
        return not rest
    if action == "create" and "values" not in words:
        return False
    listed = action == "create" and rest[0].text == "("  # the columns behind the name of the table
    if any(
        token.text == "(" and not _may_stand(rest, at) for at, token in enumerate(rest) if at or not listed
    ):
        return False
    head = next(
        (at for at, token in enumerate(rest) if _word(token) in ("set", "where", "returning")), len(rest)
    )
    return action == "create" or not any(token.kind == "mark" for token in rest[:head])


def _may_stand(tokens: list[Token], at: int) -> bool:
    return _may_open(tokens, at) or _word(tokens[at - 1]) in _MAKES_UP


def _parted(tokens: list[Token], word: str) -> tuple[list[Token], list[Token] | None]:
    """Before and behind a word, without what is returned; None if there is no such word."""
    end = next((at for at, token in enumerate(tokens) if _word(token) == "returning"), len(tokens))
    at = next((at for at, token in enumerate(tokens[:end]) if _word(token) == word), None)
    return (tokens[:end], None) if at is None else (tokens[:at], tokens[at + 1 : end])


def _rows(tokens: list[Token]) -> Rows:
    pieces: list[list[list[Token]]] = [[[]]]
    depth = 0
    for token in tokens:
        depth += (token == Token("mark", "(")) - (token == Token("mark", ")"))
        if not depth and _word(token) == "or":
            pieces.append([[]])
        elif not depth and _word(token) == "and":
            pieces[-1].append([])
        else:
            pieces[-1][-1].append(token)
    return tuple(tuple(one for part in piece if (one := _comparison(part))) for piece in pieces)


def _comparison(tokens: list[Token]) -> Compared | None:
    """One column and plain values; None for everything else."""
    names, rest = _named(tokens)
    if not names or len(rest) < 2 or _word(tokens[0]) == "not":
        return None
    given = ("text", "number", "given")
    if len(rest) == 2 and rest[1].kind in given:
        mark, value = rest[0].text.lower(), rest[1]
        like = mark in ("like", "ilike") and len(value.text.strip("%_")) > 2
        if mark == "=" or like:
            return Compared(names[-1], (_shown(value),), exact=True)
        if mark in ("<", ">", "<=", ">=") and re.match(r"\d{4}-\d\d", value.text):
            return Compared(names[-1], (value.text,), exact=False)
        return None
    inner = rest[2:-1]
    if _word(rest[0]) != "in" or rest[1].text != "(" or rest[-1].text != ")" or not inner:
        return None
    if any(token.kind not in given if at % 2 == 0 else token.text != "," for at, token in enumerate(inner)):
        return None
    return Compared(names[-1], tuple(_shown(token) for token in inner[::2]), exact=True)


def _shown(token: Token) -> str:
    """A value, or "" for one that is given beside the statement."""
    return token.text if token.kind != "given" else ""


def _compared(tokens: list[Token]) -> list[tuple[str, str]]:
    """Each value with the column before it: `status = 'shipped'`, `id in (1, 2)`."""
    found, column = [], ""
    for at, token in enumerate(tokens):
        if token.kind in ("text", "number"):
            found.append((column, token.text))
        elif token.kind == "mark" or _word(token) in ("in", "like", "ilike", "between", "and", "not", "is"):
            continue
        elif at + 1 < len(tokens) and tokens[at + 1].text != "(":
            column = token.text
    return found


def _inserted(tokens: list[Token]) -> list[tuple[str, str]]:
    """The values of rows with the columns that the statement lists."""
    at = next((at for at, token in enumerate(tokens) if _word(token) == "values"), None)
    if at is None:
        return []
    columns = [token.text for token in tokens[:at] if token.kind != "mark"]
    found, position = [], 0
    for token in tokens[at + 1 :]:
        if token.text == "(" and token.kind == "mark":
            position = 0
        elif token.text == "," and token.kind == "mark":
            position += 1
        elif token.kind in ("text", "number"):
            found.append((columns[position] if position < len(columns) else "", token.text))
    return found


def _word(token: Token) -> str:
    return token.text.lower() if token.kind == "word" else ""
