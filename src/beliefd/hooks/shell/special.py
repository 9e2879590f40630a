"""Commands that options alone do not tell about: each has a reader of its own."""

import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Final

from beliefd.hooks.shell.git import git
from beliefd.hooks.shell.options import Doubt, Reading, Words, check_names, plain, read_options
from beliefd.hooks.shell.paths import Places, resolved
from beliefd.hooks.shell.scripts import awk_only_prints, sed_only_prints
from beliefd.hooks.shell.table import TABLE, Known
from beliefd.hooks.shell.words import UNKNOWN, Word
from beliefd.kernel.substrate.shell import UNKNOWN_PATH


def find(reading: Reading, words: Words, places: Places) -> None:
    at = 0
    if any(word.splits for word in words):
        raise Doubt("a word of `find` may become several")
    while at < len(words):
        word = words[at]
        at += 1
        if word.text in ("-exec", "-ok") and word.literal:
            at = _find_exec(reading, words, at, places)
        elif word.text == "-delete" and word.literal:
            for start in _find_starts(words):
                reading.effects.deletes(start, places)
        elif word.may_be_option or (word.text.startswith("-") and word.text not in TABLE.find.looks):
            raise Doubt(f"`find` with `{word.text[:40]}` may do more than look")


def _find_starts(words: Words) -> Words:
    at = 0
    while at < len(words) and words[at].text in ("-L", "-H", "-P"):
        at += 1
    end = at
    while end < len(words) and words[end].text[:1] not in ("-", "!", "("):
        end += 1
    return words[at:end] or [Word(".")]


def _find_exec(reading: Reading, words: Words, at: int, places: Places) -> int:
    inner: list[Word] = []
    while at < len(words) and words[at].text != ";":
        word = words[at]
        if word.text == "+" and words[at - 1].text == "{}":
            break
        if word.loose:
            raise Doubt("where the command inside `find` ends cannot be told")
        inner.append(Word("?", literal=False) if "{}" in word.text else word)
        at += 1
    # The files that are found begin with where the search began; that is not followed here.
    reading.command(inner, places)
    return at + 1


def xargs(reading: Reading, words: Words, places: Places) -> None:
    at = _leading(words, "xargs", flags="0rtx", takes="adEILnPs")
    marks = [
        words[place].text[2:] or words[place + 1].text
        for place in range(at)
        if words[place].text.startswith("-I")
    ]
    inner = [UNKNOWN if any(mark in one.text for mark in marks) else one for one in words[at:]]
    reading.command([*(inner or [Word("echo")]), UNKNOWN], places)


def _leading(words: Words, name: str, flags: str = "", takes: str = "", long: Sequence[str] = ()) -> int:
    """Where the command inside a wrapper begins; all options before it must be known."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        (text,) = plain(words[at : at + 1], name)
        at += 1
        if text == "--":
            break
        if text.startswith("--"):
            if text.partition("=")[0][2:] not in long:
                raise Doubt(f"option `{text[:40]}` of `{name}` is not known to be harmless")
        elif text[1:2] and text[1] in takes:
            if len(text) == 2:
                plain(words[at : at + 1], name)
                at += 1
        elif not text[1:] or not set(text[1:]) <= set(flags):
            raise Doubt(f"option `{text[:40]}` of `{name}` is not known to be harmless")
    return at


def _wrapper(
    name: str, flags: str = "", takes: str = "", long: Sequence[str] = (), skip: int = 0
) -> Callable[[Reading, Words, Places], None]:
    def read(reading: Reading, words: Words, places: Places) -> None:
        at = _leading(words, name, flags, takes, long)
        plain(words[at : at + skip], name)
        if words[at + skip :]:
            reading.command(words[at + skip :], places)

    return read


def nohup(reading: Reading, words: Words, places: Places) -> None:
    reading.effects.writes(Word("nohup.out"), places)
    reading.command(words, places)


def command(reading: Reading, words: Words, places: Places) -> None:
    if words and words[0].text in ("-v", "-V") and words[0].literal:
        return
    _wrapper("command")(reading, words, places)


def env(reading: Reading, words: Words, places: Places) -> None:
    at = _leading(words, "env", flags="i0", takes="u")
    while at < len(words) and "=" in words[at].text:
        name = words[at].text.partition("=")[0]
        if name not in TABLE.variables.harmless or words[at].loose:
            raise Doubt("`env` sets a variable that something may rest on")
        at += 1
    if words[at:]:
        reading.command(words[at:], places)


def sed(reading: Reading, words: Words, places: Places) -> None:
    in_place = any(re.fullmatch(r"-[nErsuz]*i.*|--in-place(=.*)?", word.text, re.S) for word in words)
    suffixed = [Word("-n") if _is_in_place(word) else word for word in words]
    known = Known(flags="nErsuz", takes="e", long=frozenset({"quiet", "silent", "regexp-extended", "debug"}))
    found = read_options("sed", suffixed, known)
    operands, scripts = found.operands, found.values.get("e", ())
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    if not all(text and sed_only_prints(text) for text in plain(scripts, "sed")):
        raise Doubt("the script of `sed` may write files or run programs")
    if in_place:
        copies = [
            word.text.removeprefix("--in-place=").removeprefix("-i") for word in words if _is_in_place(word)
        ]
        for word in operands:
            reading.effects.writes(word, places)
            for copy in copies:
                reading.effects.may_write(Word(word.text + copy, word.literal, word.loose), places)


def _is_in_place(word: Word) -> bool:
    """`-i`, or `-i.bak`: the copy has the name of the file with that at its end, so it has no slash."""
    return (
        word.literal
        and not word.loose
        and bool(re.fullmatch(r"-i[\w.~-]*|--in-place(=[\w.~-]+)?", word.text))
    )


def awk(reading: Reading, words: Words, places: Places) -> None:
    found = read_options("awk", words, Known(takes="Fv"))
    plain((*found.values.get("v", ()), *found.values.get("F", ())), "awk")
    (script, *_) = plain(found.operands[:1], "awk") or [""]
    if not awk_only_prints(script) or any(word.text.startswith("/inet") for word in found.operands):
        raise Doubt("the script of `awk` may write files or run programs")


def tar(reading: Reading, words: Words, places: Places) -> None:
    texts = plain(words, "tar")
    listing = bool(texts) and re.fullmatch(r"-?(?=[a-z]*t)[tvzjJ]*f?", texts[0])
    # A name with a colon is an archive on another machine.
    if not listing or any(":" in text or text.startswith("-") for text in texts[1:]):
        raise Doubt("`tar` is known to be harmless with `t` only")


def shell(name: str) -> Callable[[Reading, Words, Places], None]:
    def read(reading: Reading, words: Words, places: Places) -> None:
        texts = plain(words[:2], name)
        if len(texts) < 2 or not re.fullmatch(r"-[eufx]*c", texts[0]):
            raise Doubt(f"what `{name}` runs is not written here")
        reading.script(texts[1], places, posix=name != "bash")

    return read


def evaluate(reading: Reading, words: Words, places: Places) -> None:
    if reading.script(" ".join(plain(words, "eval")), places, posix=False) != places:
        raise Doubt("where `eval` goes is not followed")


_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?")


def printf(_: Reading, words: Words, places: Places) -> None:
    words = words[1:] if words and words[0].text == "--" else words
    (text,) = plain(words[:1], "printf") or [""]
    if text.startswith("-"):
        raise Doubt("an option of `printf` sets a variable")
    numbers = re.sub(r"%[-+ #0]*\d*(\.\d+)?[sbqc%]", "", text).count("%")
    # To some shells a number is arithmetic, which can run commands.
    if numbers and not all(word.literal and _NUMBER.fullmatch(word.text) for word in words[1:]):
        raise Doubt("what `printf` takes for a number cannot be told")


_BINARY: Final = frozenset({"=", "==", "!=", "<", ">", "-nt", "-ot", "-ef"})
_NUMERIC: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_UNARY: Final = frozenset(f"-{letter}" for letter in "abcdefghknprstuwxzGLNOS")


def check_test(words: Words, *, double: bool) -> None:
    """A test that compares texts or looks at files. Numbers are arithmetic to some shells; `-v` to all."""
    for at, word in enumerate(words):
        around = [one.text for one in (*words[max(at - 1, 0) : at], *words[at + 1 : at + 2]) if one.literal]
        if (
            word.literal
            and word.text.startswith("-")
            and word.text not in _UNARY | _BINARY | _NUMERIC | {"-a", "-o"}
        ):
            raise Doubt(f"`{word.text[:20]}` in a test is not known to be harmless")
        if _NUMERIC & set(around) and not (word.literal and _NUMBER.fullmatch(word.text)):
            raise Doubt("a number in a test cannot be told")
        if not double and word.loose:
            raise Doubt("a word in a test may become several")
        if not double and not word.literal and not (_UNARY | _BINARY) & set(around):
            raise Doubt("a word in a test may become an operator")


def test(_: Reading, words: Words, places: Places) -> None:
    check_test(words, double=False)


def write_all(name: str) -> Callable[[Reading, Words, Places], None]:
    """All operands are written; of `cp` the last one, of `chmod` all but the first."""

    def read(reading: Reading, words: Words, places: Places) -> None:
        operands = read_options(name, words, Known(flags=TABLE.writers[name])).operands
        if name in ("cp", "mv") and len(operands) > 1:
            flags = "".join(word.text for word in words if word.text.startswith("-"))
            check_names(reading, operands, places, onto="T" in flags)
        if name == "cp":
            operands = operands[-1:] if len(operands) > 1 else (UNKNOWN,)
        elif name == "chmod":
            if any(_gives_rights(word) for word in operands[:1]):
                reading.effects.needs_privilege(name)
            operands = operands[1:]
        elif name == "ln" and len(operands) > 1:
            _link(reading, operands, places)
        for word in operands:
            reading.effects.writes(word, places)

    return read


def _gives_rights(mode: Word) -> bool:
    """Does a program with this mode run as its owner or its group?"""
    numbers = re.findall(r"[0-7]+", mode.text)
    return not mode.literal or mode.loose or "s" in mode.text or any(int(one, 8) & 0o6000 for one in numbers)


def _link(reading: Reading, operands: Words, places: Places) -> None:
    """A relative target belongs to the folder of the link, which is beside its name or in it."""
    named = resolved(operands[-1], places)
    folders = frozenset(UNKNOWN_PATH if one == UNKNOWN_PATH else posixpath.dirname(one) for one in named)
    for target in operands[:-1]:
        reading.effects.writes(target, folders | frozenset(named))


def delete_all(name: str) -> Callable[[Reading, Words, Places], None]:
    def read(reading: Reading, words: Words, places: Places) -> None:
        for word in read_options(name, words, Known(flags=TABLE.deleters[name])).operands:
            reading.effects.deletes(word, places)

    return read


_HOST: Final = re.compile(
    r"^(?:[a-z][a-z0-9+.-]*://)?(?:[^@/\s]*@)?(\[[0-9a-f:]+\]|[a-z0-9.-]+\.[a-z0-9-]+|localhost)(?=[:/?#]|$)",
    re.I,
)


def network(name: str) -> Callable[[Reading, Words, Places], None]:
    def read(reading: Reading, words: Words, places: Places) -> None:
        hosts = [host[1] for word in words if word.literal and (host := _HOST.match(word.text))]
        unseen = any(not word.literal or word.loose for word in words)
        reading.effects.reaches([*hosts, UNKNOWN_PATH] if unseen or not hosts else hosts, name)
        if name != "curl":
            reading.effects.runs(name)
            return
        found = read_options(name, words, TABLE.network.curl)
        # Bodies, files and settings go by other options; an operand that is no address was missed.
        if len(hosts) != len(found.operands) or any(
            text not in ("GET", "HEAD") for text in plain(found.values.get("X", ()), name)
        ):
            reading.effects.runs(name, "`curl` may do more than fetch")
        if any(word.text.startswith("@") for word in found.values.get("w", ())):
            reading.effects.runs(name, "`curl` may do more than fetch")

    return read


SPECIAL: Final[dict[str, Callable[[Reading, Words, Places], None]]] = {
    "find": find,
    "xargs": xargs,
    "command": command,
    "builtin": _wrapper("builtin"),
    "nohup": nohup,
    "timeout": _wrapper(
        "timeout",
        flags="v",
        takes="ks",
        long=("preserve-status", "foreground", "kill-after", "signal", "verbose"),
        skip=1,
    ),
    "nice": _wrapper("nice", takes="n"),
    "stdbuf": _wrapper("stdbuf", takes="ioe"),
    "time": _wrapper("time", flags="p"),
    "env": env,
    "sed": sed,
    "awk": awk,
    "gawk": awk,
    "mawk": awk,
    "tar": tar,
    "bash": shell("bash"),
    "sh": shell("sh"),
    "dash": shell("dash"),
    "eval": evaluate,
    "printf": printf,
    "test": test,
    "git": git,
    **{name: write_all(name) for name in TABLE.writers},
    **{name: delete_all(name) for name in TABLE.deleters},
    **{name: network(name) for name in TABLE.network.programs},
}
