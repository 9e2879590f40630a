"""`git`: what its sub-commands touch."""

import re
from collections.abc import Callable

from beliefd.hooks.shell.effects import Effects
from beliefd.hooks.shell.options import Doubt, Reading, Words, check_names, plain, read_options
from beliefd.hooks.shell.paths import Places, inside, resolved
from beliefd.hooks.shell.table import TABLE, Known
from beliefd.hooks.shell.words import Word
from beliefd.kernel.substrate.shell import UNKNOWN_PATH


def git(reading: Reading, words: Words, places: Places) -> None:
    at, places = _git_globals(words, places)
    if at >= len(words):
        return
    (verb,) = plain(words[at : at + 1], "git")
    rest, rules, effects = words[at + 1 :], TABLE.git, reading.effects
    if not places <= set(effects.roots):
        # Any folder can be made a repository whose settings run programs, out of plain files.
        raise Doubt("`git` obeys the settings of the folder it is in, which is not the project's own")
    if verb in rules.looks:
        _git_looks(verb, rest)
    elif _git_lists(verb, rest):
        return
    elif verb in rules.network:
        effects.reaches([UNKNOWN_PATH], "git")
        effects.runs("git", f"what `git {verb}` does is not known")
    elif verb in rules.writes or verb in rules.deletes:
        _check_paths(verb, rest, places, effects)
        if verb in ("clean", "rm"):
            _git_removes(verb, rest, places, effects)
        elif verb in ("checkout", "restore"):
            for word in rest:  # what it brings back may be a file that programs obey
                if word.text != "HEAD":
                    effects.may_write(word, places)
        elif verb == "mv":
            _git_moves(reading, rest, places)
        note = effects.writes if verb in rules.writes else _deletes_within(effects)
        for place in places:
            note(Word(place), places)
    else:
        raise Doubt(f"what `git {verb[:40]}` does is not known")


def _check_paths(verb: str, rest: Words, places: Places, effects: Effects) -> None:
    """The project may be a part of the repository: what it names must not be beyond it."""
    for at, word in enumerate(rest):
        said = at > 0 and re.fullmatch(r"-[a-z]*m|--message", rest[at - 1].text)
        if word.splits:
            raise Doubt("a word of `git` may become several")
        if verb in TABLE.git.with_message and (said or word.text.startswith("--message=")):
            continue
        up = ".." in word.text.split("/") or word.text.startswith("/")
        if not word.literal or word.text.startswith(":") or "-file" in word.text:
            raise Doubt(f"what `git {verb}` changes cannot be told")
        if up and not all(inside(path, effects.roots) for path in resolved(word, places)):
            raise Doubt(f"`git {verb}` reaches beyond the project")


def _git_removes(verb: str, rest: Words, places: Places, effects: Effects) -> None:
    known = Known(flags="fdnqxX" if verb == "clean" else "rfnq", long=TABLE.git.removing)
    operands = read_options(f"git {verb}", rest, known).operands
    for word in operands or [Word(".")]:
        effects.deletes(word, places)


def _git_moves(reading: Reading, rest: Words, places: Places) -> None:
    operands = read_options("git mv", rest, Known(flags="fknv")).operands
    if len(operands) > 1:
        check_names(reading, operands, places, onto=False)
    for word in operands:
        reading.effects.writes(word, places)


def _git_lists(verb: str, rest: Words) -> bool:
    texts = [word.text if word.literal and not word.loose else "?" for word in rest]
    if verb == "config" and len(texts) == 2 and texts[0] == "--get":
        return True
    listing = TABLE.git.listings.get(verb)
    if listing is None or not set(texts) <= listing.words:
        return False
    return not listing.first or (bool(texts) and texts[0] in listing.first)


def _deletes_within(effects: Effects) -> Callable[[Word, Places], None]:
    """What git undoes it has a copy of, apart from what was never committed: told of, and not all that is."""
    return lambda word, places: effects.deletes(Word(f"{word.text}/(uncommitted)"), places)


def _git_globals(words: Words, places: Places) -> tuple[int, Places]:
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        (text,) = plain(words[at : at + 1], "git")
        at += 1
        if text == "-C" and at < len(words):
            places = frozenset(resolved(words[at], places))
            at += 1
        elif text not in ("--no-pager", "-P", "--no-optional-locks", "--version", "--literal-pathspecs"):
            raise Doubt(f"option `{text[:40]}` of `git` is not known to be harmless")
    return at, places


def _git_looks(verb: str, rest: Words) -> None:
    for word in rest:
        if word.literal and word.text == "--" and not word.loose:
            return
        if word.may_be_option:
            raise Doubt("a word of `git` may become an option")
        if word.text.startswith("--"):
            option = word.text[2:].partition("=")[0]
            if any(one.startswith(option) for one in TABLE.git.refused):
                raise Doubt(f"option `--{option[:40]}` of `git` may do more than look")
        elif word.text.startswith("-") and set(TABLE.git.refused_short.get(verb, "")) & set(word.text):
            raise Doubt(f"option `{word.text[:40]}` of `git` may do more than look")
