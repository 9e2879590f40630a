"""The words that facts about calls read, per language: data, which comes from outside the kernel."""

import re
from functools import cached_property
from typing import Final, Literal

import msgspec

from beliefd.kernel.origin.spelling import unmarked
from beliefd.kernel.values import Value

Class = Literal[
    "send", "pay", "create", "update", "delete", "share", "reserve", "draft", "control", "other", "read"
]
CLASSES: Final[tuple[Class, ...]] = (
    "send", "pay", "create", "update", "delete", "share", "reserve", "draft", "control", "other", "read",
)  # fmt: skip
BIT: Final[dict[str, int]] = {name: 1 << at for at, name in enumerate(CLASSES)}
"""Classes as bits, for sentences that order several things."""
ANY: Final = (1 << len(CLASSES)) - 1

Words = tuple[str, ...]


class Becomes(Value, frozen=True):
    """A class that is another one together with a noun: to send money is to pay."""

    of: tuple[Class, ...]
    group: str
    to: Class


class Arguments(Value, frozen=True):
    """What arguments and fields are called."""

    sink: Words
    path: Words
    quote: Words
    outlet: Words
    neutral: Words
    by_id: Words
    id: Words
    text: Words
    label: Words
    url: Words
    query: Words
    identity: Words
    secret: Words
    shell: Words = ()
    author: Words = ()
    audience: Words = ()


class Phrases(Value, frozen=True):
    """Regular expressions for what the user says about where values are to come from."""

    sourced: Words
    delegated: Words
    granted: Words
    links_wanted: Words
    selector: Words
    described: Words
    plural: Words


class Lexicon(Value, frozen=True, dict=True):
    """One language. Read from a file by `policy.lexicons`, and compiled when it is first asked."""

    language: str
    verbs: dict[Class, Words]
    weak: dict[Class, Words]
    words: dict[Class, Words]
    nouns: dict[str, Words]
    becomes: tuple[Becomes, ...]
    hard: Words
    arguments: Arguments
    endings: Words
    things: Words
    hands_out: Words
    self_names: Words = msgspec.field(name="self")
    directory: Words
    open_world: Words
    raw: Words
    raw_verbs: Words
    phrases: Phrases
    secrets: Words
    stop: Words
    months: Words
    replies: Words = ()
    tells: Words = ()
    spoken: dict[Class, Words] = {}
    anybody: Words = ()
    sendable: Words = ()
    shown: Words = ()
    qualities: Words = ()
    narrow: dict[str, Words] = {}
    otherwise: dict[str, Class] = {}
    prose: Words = ()
    holders: Words = ()
    weekdays: Words = ()
    registers: Words = ()
    subject_of: Words = ()
    ranges: Words = ()
    towards: dict[str, Class] = {}
    driving: Words = ()
    bears: Words = ()
    usual: Words = ()
    parts: Words = ()

    @cached_property
    def asked(self) -> dict[str, int]:
        """Forms of verbs as people ask for things with them, with the classes they ask for."""
        return self._forms(past=False)

    @cached_property
    def ordered(self) -> dict[str, int]:
        """The same, and the forms in which texts say that something is to be done."""
        return self._forms(past=True)

    @cached_property
    def _begins(self) -> frozenset[str]:
        """Words that an order may begin with."""
        return frozenset(verb.partition(" ")[0] for verb in self.ordered)

    def orders_of(self, tokens: list[str]) -> int:
        """Classes of what the words of a sentence order. Most order nothing, which is seen at once."""
        begins, verbs, mask = self._begins, self.ordered, 0
        if not "".join(tokens).isascii():
            tokens = [unmarked(token) for token in tokens]
        if begins.isdisjoint(tokens):
            return 0
        for at, token in enumerate(tokens):
            if token in begins:
                mask |= verbs.get(token, 0)
                if at + 1 < len(tokens):
                    mask |= verbs.get(f"{token} {tokens[at + 1]}", 0)
        return mask

    def _forms(self, *, past: bool) -> dict[str, int]:
        found: dict[str, int] = {}
        for source in (self.verbs, self.weak, self.words):
            for name, verbs in source.items():
                for verb in verbs if name != "read" or (past and source is self.words) else ():
                    for form in forms_of(verb, past=past):
                        found[form] = found.get(form, 0) | BIT[name]
        return found

    @cached_property
    def strong(self) -> dict[str, Class]:
        """Verbs in names of tools."""
        return {verb: name for name, verbs in self.verbs.items() for verb in verbs}

    @cached_property
    def faint(self) -> dict[str, Class]:
        """Verbs in names of tools that may be nouns."""
        return {verb: name for name, verbs in self.weak.items() for verb in verbs}

    def faint_mask(self, verb: str) -> int:
        """All that a verb may mean: to schedule is to create and to reserve."""
        return sum(BIT[name] for name, verbs in self.weak.items() if verb in verbs and name != "read")

    @cached_property
    def groups(self) -> dict[str, frozenset[str]]:
        """Singular and plural of a noun -> the groups it belongs to."""
        found: dict[str, set[str]] = {}
        for group, nouns in self.nouns.items():
            for noun in nouns:
                for form in (noun, plural(noun)):
                    found.setdefault(form, set()).add(group)
        return {noun: frozenset(groups) for noun, groups in found.items()}

    @cached_property
    def known_words(self) -> frozenset[str]:
        """Words in names of tools that are no verb that nobody knows."""
        lists = (self.stop, self.endings, self.things, self.directory, self.open_world, self.self_names)
        named = (name for kind in self.names.values() for name in kind)
        return frozenset({*self.groups, *self.faint, *named, *(word for words in lists for word in words)})

    @cached_property
    def stops(self) -> frozenset[str]:
        return frozenset(self.stop)

    @cached_property
    def drives(self) -> frozenset[str]:
        return frozenset(self.driving)

    @cached_property
    def controls(self) -> frozenset[str]:
        """Parts of pages in one and several: who says "the button" means none of them yet."""
        return frozenset(form for word in self.parts for form in (word, plural(word)))

    @cached_property
    def prose_words(self) -> frozenset[str]:
        return frozenset(self.prose)

    @cached_property
    def containers(self) -> frozenset[str]:
        """Words for what holds many things, in one and several."""
        return frozenset(form for word in self.holders for form in (word, plural(word)))

    @cached_property
    def own_keys(self) -> frozenset[str]:
        """Names of arguments that say which one is meant."""
        return self.names["id"] | self.names["path"] | self.names["url"]

    @cached_property
    def month_of(self) -> dict[str, int]:
        return {form: at % 12 + 1 for at, name in enumerate(self.months) for form in (name, name[:3])}

    @cached_property
    def names(self) -> dict[str, frozenset[str]]:
        """The kinds of arguments, each with its names."""
        kinds = self.arguments.__struct_fields__
        return {kind: frozenset(getattr(self.arguments, kind)) for kind in kinds}

    @cached_property
    def says(self) -> dict[str, "re.Pattern[str]"]:
        kinds = self.phrases.__struct_fields__
        return {kind: re.compile("|".join(getattr(self.phrases, kind)), re.S) for kind in kinds}

    @cached_property
    def speaks(self) -> dict[Class, "re.Pattern[str]"]:
        return {name: re.compile("|".join(phrases), re.S) for name, phrases in self.spoken.items()}

    @cached_property
    def secret_words(self) -> "re.Pattern[str]":
        """However it is written: `api key`, `OPENAI_API_KEY=`. Short names must be set to something."""
        words = "|".join(re.escape(word).replace("\\ ", r"[\s_-]?") for word in self.secrets)
        names = "|".join(re.escape(name) for name in self.arguments.secret)
        return re.compile(
            rf"(?<![^\W_])(?:({words})(?![^\W_])|({names})['\"]?\s?(?::|=>?)\s?['\"]?(?=[^\s'\"]{{6}}))"
        )

    def secrets_in(self, plain: str) -> frozenset[str]:
        """Names of secrets in a folded text, in one spelling."""
        found = self.secret_words.finditer(plain)
        return frozenset(re.sub(r"[\s_-]", "", one[1] or one[2]) for one in found)


def forms_of(verb: str, *, past: bool = True) -> list[str]:
    """`move on` -> move on, moving on, moved on. Wrong forms that nobody writes do no harm."""
    head, _, rest = verb.partition(" ")
    if not head:
        return []
    stem = head[:-1] if head.endswith("e") else head
    heads = [head, f"{stem}ing", f"{head}{head[-1]}ing"]
    if past:
        heads += [f"{stem}ed", f"{head}{head[-1]}ed", f"{head[:-1]}ied" if head.endswith("y") else head]
    return [f"{form} {rest}" if rest else form for form in heads]


def plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
