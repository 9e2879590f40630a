"""From a parsed script to its effects: every command in it, in the folders that it may run in."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tree_sitter import Node

from beliefd.hooks.shell.effects import Effects
from beliefd.hooks.shell.options import Doubt, check_reading, may_assign
from beliefd.hooks.shell.parsing import parsed
from beliefd.hooks.shell.paths import Places, resolved
from beliefd.hooks.shell.special import SPECIAL, check_test
from beliefd.hooks.shell.table import TABLE
from beliefd.hooks.shell.words import Unparsed, Word, read_word, substitutions_in, text_of
from beliefd.kernel.substrate.shell import UNKNOWN_PATH

MAX_PLACES: Final = 8
MAX_SCRIPTS: Final = 4
MAX_STEPS: Final = 10_000
"""How many commands are looked at, those in loops several times."""
ANYWHERE: Final[Places] = frozenset({UNKNOWN_PATH})
_DELIMITER: Final = re.compile(rb"(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")

Ends = tuple[Places, Places]
"""The folders after a command that went well, and after one that failed."""


class Walker:
    """Reads one script; scripts inside it are read by walkers that add to the same effects."""

    def __init__(self, effects: Effects, depth: int = 0) -> None:
        self.effects = effects
        self.depth = depth

    def script(self, text: str, places: Places, *, posix: bool) -> Places:
        """Read a whole script, and tell where it may end up."""
        if self.depth >= MAX_SCRIPTS:
            raise Unparsed("there are too many scripts in scripts")
        root = parsed(text, posix=posix)
        return Walker(self.effects, self.depth + 1)._sequence(root.children, places)

    def command(self, words: Sequence[Word], places: Places) -> None:
        """A command that another one runs. INVARIANT: it must not change the folder unseen."""
        if words and words[0].text in ("cd", "pushd", "popd"):
            raise Doubt("where it goes is not followed")
        self._simple(words, places)

    def _sequence(self, nodes: Sequence[Node], places: Places) -> Places:
        for at, node in enumerate(nodes):
            if node.type == ";;" and (node.parent is None or node.parent.type != "case_item"):
                raise Unparsed("its grammar is not understood")
            if not node.is_named or node.type == "comment":
                continue
            after = _either(self._statement(node, places))
            behind = nodes[at + 1] if at + 1 < len(nodes) else None
            if behind is None or behind.type != "&":  # in the background it moves nobody but itself
                places = after
        return places

    def _statement(self, node: Node, places: Places) -> Ends:
        reader = _STATEMENTS.get(node.type)
        self.effects.steps += 1
        if self.effects.steps > MAX_STEPS:
            raise Unparsed("it takes too long to read")
        if reader is None:
            raise Unparsed(f"`{node.type}` is not read")
        return reader(self, node, places)

    def _list(self, node: Node, places: Places) -> Ends:
        left, sign, right = node.children
        well, failed = self._statement(left, places)
        if sign.type == "&&":
            ends = self._statement(right, well)
            return ends[0], failed | ends[1]
        ends = self._statement(right, failed)
        return well | ends[0], ends[1]

    def _alone(self, node: Node, places: Places) -> Ends:
        """Pipelines and subshells move nobody but themselves."""
        for child in node.children:
            if child.is_named:
                self._sequence([child], places)
        return places, places

    def _subshell(self, node: Node, places: Places) -> Ends:
        self._sequence(node.children, places)
        return places, places

    def _group(self, node: Node, places: Places) -> Ends:
        if node.children[0].type not in ("{", "do"):
            raise Unparsed("arithmetic can run commands")
        after = self._sequence(node.children, places)
        return after, after

    def _negated(self, node: Node, places: Places) -> Ends:
        well, failed = self._statement(node.children[1], places)
        return failed, well

    def _if(self, node: Node, places: Places) -> Ends:
        """Every branch may be taken, and none: the folders of all of them."""
        after = self._sequence(node.children, places) | places
        for branch in node.children:
            if branch.type in ("elif_clause", "else_clause"):
                after |= self._sequence(branch.children, after)
        return _same(after)

    def _branch(self, _: Node, places: Places) -> Ends:
        return places, places  # read with its `if`

    def _loop(self, node: Node, places: Places) -> Ends:
        for child in node.children:
            if child.type in _WORDS:
                self._word(child, places)
        if node.type == "for_statement":
            (name,) = [child for child in node.children if child.type == "variable_name"]
            if node.children[0].type != "for" or not may_assign(Word(text_of(name))):
                raise Unparsed("a loop sets a variable that something may rest on")
        body = [
            child
            for child in node.children
            if child.is_named and child.type not in _WORDS | {"variable_name"}
        ]
        for _ in range(3):
            after = places | self._sequence(body, places)
            if after == places:
                return _same(places)
            places = after
        self._sequence(body, ANYWHERE)
        return _same(ANYWHERE)

    def _case(self, node: Node, places: Places) -> Ends:
        after = places
        for child in node.children:
            if child.type in _WORDS:
                self._word(child, places)
            elif child.type == "case_item":
                inner = [one for one in child.children if one.type not in _WORDS | {"extglob_pattern"}]
                for one in child.children:
                    if one.type in _WORDS:
                        self._word(one, places)
                after |= self._sequence(inner, after)
        return _same(after)

    def _redirected(self, node: Node, places: Places) -> Ends:
        body = [child for child in node.children if not child.type.endswith("_redirect")]
        if sum(child.type == "heredoc_redirect" for child in node.children) > 1:
            raise Unparsed("several texts inside the command are not read")
        behind: list[Node] = []
        for child in node.children:
            if child.type.endswith("_redirect"):
                behind += self._redirected_to(child, places)
        if body and behind and body[0].type == "command":
            return self._command(body[0], places, behind)
        if behind:
            raise Unparsed("whose the words behind a redirection are cannot be told")
        return self._statement(body[0], places) if body else _same(places)

    def _bare_redirect(self, node: Node, places: Places) -> Ends:
        self._redirect(node, places)
        return places, places

    def _redirect(self, node: Node, places: Places) -> None:
        if self._redirected_to(node, places):
            raise Unparsed("whose the words behind a redirection are cannot be told")

    def _redirected_to(self, node: Node, places: Places) -> Sequence[Node]:
        """Tell of where it leads. INVARIANT: that is one word: others behind it are the command's own."""
        if node.type == "heredoc_redirect":
            self._heredoc(node, places)
            return ()
        at = next(at for at, child in enumerate(node.children) if not child.is_named)
        sign, behind = node.children[at].type, node.children[at + 1 :]
        if sign in (">&-", "<&-"):
            return behind
        self._leads(sign, self._word(behind[0], places), places)
        return behind[1:]

    def _leads(self, sign: str, target: Word, places: Places) -> None:
        if sign == "<<<":
            return None
        if sign in ("<&", ">&") and target.literal and re.fullmatch(r"\d+|-", target.text):
            return None
        if not target.literal or target.loose:
            raise Unparsed("where a redirection leads cannot be told")
        if any(re.match(r"/dev/(tcp|udp)/", path) for path in resolved(target, places)):
            self.effects.reaches([target.text.split("/")[3]], "a redirection")
        elif sign != "<":
            self.effects.writes(target, places)
        return None

    def _heredoc(self, node: Node, places: Places) -> None:
        """INVARIANT: a text ends where its word first stands alone, whatever the parser says."""
        parts = {child.type: child for child in node.children}
        start, body, end = (parts.get(f"heredoc_{name}") for name in ("start", "body", "end"))
        if "<<" not in parts or not (start and body and end):
            raise Unparsed("a text inside the command is not understood")
        mark = _DELIMITER.fullmatch(start.text or b"")
        lines = (body.text or b"").split(b"\n")
        begins = (body.start_point[0] - start.start_point[0], body.start_point[1], end.start_point[1])
        if mark is None or mark[2] != (end.text or b"") or mark[2] in lines or begins != (1, 0, 0):
            raise Unparsed("a text inside the command is not understood")
        for child in node.children:  # what stands behind it on its line
            if child.type.endswith("_redirect"):
                self._redirect(child, places)
            elif child.is_named and not child.type.startswith("heredoc_"):
                self._sequence([child], places)
        if (start.text or b"") == mark[2]:
            if b"\\" in (body.text or b""):
                raise Unparsed("a text inside the command has escapes")
            for child in body.children:
                if child.type != "heredoc_content":
                    self._word(child, places)

    def _assignments(self, node: Node, places: Places) -> Ends:
        for child in node.children:
            self._assignment(child, places)
        return places, places

    def _assignment(self, node: Node, places: Places) -> Ends:
        name = node.children[0]
        if name.type != "variable_name" or not may_assign(Word(text_of(name))):
            raise Unparsed(f"`{text_of(name)[:40]}` is set, and something may rest on it")
        for value in node.children[2:]:
            self._word(value, places)
        return places, places

    def _declaration(self, node: Node, places: Places) -> Ends:
        for child in node.children[1:]:
            if child.type != "variable_assignment":
                raise Unparsed("a declaration may do more than set a value")
            if any(self._word(value, places).splits for value in child.children[2:]):
                raise Unparsed("to some shells a declaration may set several variables")
            self._assignment(child, places)
        return places, places

    def _test(self, node: Node, places: Places) -> Ends:
        sign = node.children[0].type
        if sign not in ("[", "[["):
            raise Unparsed("arithmetic can run commands")
        inner = node.children[1:-1]
        if sign == "[" and any(one not in _TEST_SIGNS for child in inner for one in _signs(child)):
            raise Unparsed("what stands in the brackets is more than a test")  # `[ a > f ]` writes
        words = [word for child in inner for word in self._test_words(child, places)]
        check_test(words, double=sign == "[[")
        return places, places

    def _test_words(self, node: Node, places: Places) -> list[Word]:
        if node.type in _TESTS:
            return [word for child in node.children for word in self._test_words(child, places)]
        if node.type in _WORDS:
            return [self._word(node, places)]
        if not node.is_named or node.type == "test_operator":
            if node.type == "=~":
                raise Unparsed("patterns in tests are not read")
            return [Word(text_of(node))]
        if node.type == "extglob_pattern" and re.fullmatch(r"[\w.*?/-]+", text_of(node), re.A):
            return [Word(text_of(node))]
        raise Unparsed(f"`{node.type}` in a test is not read")

    def _command(self, node: Node, places: Places, behind: Sequence[Node] = ()) -> Ends:
        """`behind` are words of it that stand behind a redirection."""
        words: list[Word] = []
        for child in node.children:
            if child.type == "variable_assignment":
                if text_of(child.children[0]) not in TABLE.variables.harmless:
                    raise Unparsed(
                        f"`{text_of(child.children[0])[:40]}` is set for a command that may obey it"
                    )
                self._assignment(child, places)
            elif child.type.endswith("_redirect"):
                self._redirect(child, places)
            else:
                word = child.children[0] if child.type == "command_name" else child
                words.append(self._word(word, places))
        words += [self._word(word, places) for word in behind]
        if words and words[0] == Word("cd"):
            return self._cd(words[1:], places)
        self._simple(words, places)
        return places, places

    def _cd(self, words: Sequence[Word], places: Places) -> Ends:
        words = [word for word in words if word.text not in ("--", "-P", "-L")]
        if len(words) != 1 or words[0].text.startswith(("-", "+")) or words[0].loose:
            return ANYWHERE, places
        return _bounded(frozenset(resolved(words[0], places))), places

    def _simple(self, words: Sequence[Word], places: Places) -> None:
        if not words or not words[0].literal or words[0].loose:
            raise Unparsed("which command it runs cannot be told")
        name, rest = _name(words[0].text), words[1:]
        try:
            self._known(name, rest, places)
        except Doubt as doubt:
            self.effects.runs(name, str(doubt))

    def _known(self, name: str, rest: Sequence[Word], places: Places) -> None:
        if name in TABLE.any:
            return
        if name in TABLE.versions and list(rest) == [Word("--version")]:
            return
        if name in TABLE.privilege.programs:
            self.effects.needs_privilege(name)
        elif name in TABLE.options:
            check_reading(name, rest, TABLE.options[name])
        elif name in SPECIAL:
            SPECIAL[name](self, rest, places)
        else:
            self.effects.runs(name)

    def _word(self, node: Node, places: Places) -> Word:
        """A word, after the commands that run to make it."""
        for inner in substitutions_in(node):
            if inner.children[0].type == "`" and b"\\" in (inner.text or b""):
                raise Unparsed("escapes inside backquotes are not read")
            self._substituted(inner, places)
        return read_word(node)

    def _substituted(self, node: Node, places: Places) -> None:
        for child in node.children:
            if child.type.endswith("_redirect"):  # $(< file)
                self._redirect(child, places)
        self._sequence([one for one in node.children if not one.type.endswith("_redirect")], places)


def _signs(node: Node) -> Iterator[str]:
    """The signs between the words of a test."""
    if node.type in _TESTS:
        for child in node.children:
            yield from _signs(child)
    elif not node.is_named:
        yield node.type


def _name(text: str) -> str:
    """A command by its own name, if it is one of the system's; otherwise as it was written."""
    for home in TABLE.paths.homes:
        if text.startswith(home) and "/" not in text[len(home) :]:
            return text[len(home) :]
    return text


def _either(ends: Ends) -> Places:
    return _bounded(ends[0] | ends[1])


def _same(places: Places) -> Ends:
    return _bounded(places), _bounded(places)


def _bounded(places: Places) -> Places:
    return places if len(places) <= MAX_PLACES else ANYWHERE


_TESTS: Final = frozenset({"unary_expression", "binary_expression", "parenthesized_expression"})
_TEST_SIGNS: Final = frozenset({"=", "==", "!=", "!"})
_WORDS: Final = frozenset(
    {
        *("word", "number", "raw_string", "ansi_c_string", "string", "simple_expansion", "expansion"),
        *("arithmetic_expansion", "command_substitution", "process_substitution", "concatenation"),
        "brace_expression",
    }
)
_STATEMENTS: Final[dict[str, Callable[[Walker, Node, Places], Ends]]] = {
    "command": Walker._command,
    "pipeline": Walker._alone,
    "list": Walker._list,
    "subshell": Walker._subshell,
    "compound_statement": Walker._group,
    "do_group": Walker._group,
    "negated_command": Walker._negated,
    "if_statement": Walker._if,
    "elif_clause": Walker._branch,
    "else_clause": Walker._branch,
    "for_statement": Walker._loop,
    "while_statement": Walker._loop,
    "case_statement": Walker._case,
    "redirected_statement": Walker._redirected,
    "file_redirect": Walker._bare_redirect,
    "variable_assignment": Walker._assignment,
    "variable_assignments": Walker._assignments,
    "declaration_command": Walker._declaration,
    "test_command": Walker._test,
}
