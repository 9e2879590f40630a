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


class Token(Struct, frozen=True):
    kind: str
    text: str


class Change(Struct, frozen=True):
    """A statement that changes something: what it does, to which table, with which values by column."""

    action: Class
    table: str
    values: tuple[tuple[str, str], ...]


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
    rest = [token for token in tokens[1:] if _word(token) not in _ASIDE]
    return Change(action, _table(rest), (*_inserted(rest), *_compared(rest)))


def _table(tokens: list[Token]) -> str:
    """The last part of a name like `shop.orders`."""
    at = 0
    while at + 2 < len(tokens) and tokens[at + 1].text == ".":
        at += 2
    return tokens[at].text if tokens else ""


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
    return found if not any(_word(token) == "values" for token in tokens) else []


def _inserted(tokens: list[Token]) -> list[tuple[str, str]]:
    """The values of rows with the columns that the statement lists."""
    at = next((at for at, token in enumerate(tokens) if _word(token) == "values"), None)
    if at is None:
        return []
    columns = [token.text for token in tokens[1:at] if token.kind != "mark"]
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
