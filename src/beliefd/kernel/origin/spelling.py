"""One spelling of a value, however it is written: tokens, addresses, numbers, days.

Letters that only look alike stay different: an address that looks like a known one is not known.
"""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, Literal
from urllib.parse import unquote

from msgspec import Struct

Shape = Literal["email", "url", "iban", "phone", "card", "path", "day", "time", "number", "host", "word"]
SINK_SHAPES: Final = frozenset({"email", "url", "iban", "phone", "card"})

_CHUNK: Final = re.compile(
    r"""(?P<plain>[a-z]++(?=[\s,;?)"]|[.!]?(?:\s|\Z)))
    |(?P<phone>(?<![\w+])\+[1-9]\d{6,14}(?![\w-]))
    |(?P<url>[a-z][a-z0-9+.-]{1,15}+://[^\s<>"'`|\\^{}]+)
    |(?P<email>(?:mailto:)?[^\W_][\w.+%&'*/=!~-]{0,63}+@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8})
    |(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?[ap]m\b)?|\b\d{1,2}\s?[ap]m\b)
    |(?P<day>\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?=t\d|\b)|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b)
    |(?P<number>(?<![\w.])\d{1,3}(?:[,.']\d{3})+(?:[.,]\d{1,2})?(?![\w-])(?!\.\d)
        |(?<![\w.-])\d+(?:\.\d+)?(?![\w-])(?!\.\d))
    |(?P<path>(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?|[a-z]:\\[\w\\.-]+)
    |(?P<word>\w+(?:[-.'/+&@:]\w+)*)""",
    re.X,
)
_PART: Final = re.compile(r"[^\W_]+")
_IBAN: Final = re.compile(r"[a-z]{2}\d{2}[a-z0-9]{11,30}$")
ENDING: Final = r"(?:[^\W\d_]{2,24}|xn--[a-z0-9-]{1,59})"
"""What a host ends with, in whatever script."""
_HOST: Final = re.compile(rf"(?:[\w-]{{1,63}}\.)+{ENDING}(?:[/?#:]\S*)?$")
_FILE_END: Final = re.compile(
    r"\.(?:txt|docx?|xlsx?|pptx?|pdf|md|csv|json|ya?ml|py|js|ts|html?|png|jpe?g|gif|zip|log|xml|sh|rs|go|java|c|h"
    r"|cpp|rb|toml|ini|cfg|conf|sql|mp[34]|wav|tex|odt|ods|rtf|ics|eml|tsv|env|lock)$"
)
_PHONE: Final = re.compile(r"(?:\+|00)\d[\d\s().-]{6,20}\d$|\(?\d{3}\)?[\s.-]\d{3}[\s.-]\d{4}$")
_PHONE_GROUPS: Final = re.compile(
    r"""(?<![\w+.,-])(?<!\d\ )(?:(?:\+|00)[1-9]\d{0,2}(?:[ ./-]{0,2}\(0\))?(?:[ ()./-]{1,2}\d{1,8}){1,6}
    |00[1-9]\d{7,13}|\(\d{3}\)\ ?\d{3}[ .-]\d{4}|\d{3}([.-])\d{3}\1\d{4}
    |0[1-9]\d{1,4}(?:[ /-]{1,3}\d{2,8}){1,4})(?![\w-]|[.,: ]\d)""",
    re.X,
)
"""A number that is dialled, with gaps or without its plus."""
_DIALLED: Final = re.compile(r"[+\d]\d\)?[ ./-]{1,3}\(?\d|00[1-9]\d{7}")
"""What such a number has. Most texts have none."""
_CARD: Final = re.compile(r"(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)")
_ACCOUNT_GROUPS: Final = re.compile(r"\b([a-z]{2}\d{2}(?: [a-z0-9]{4}){2,7}(?: [a-z0-9]{1,4})?)\b")
_ADDRESS: Final = re.compile(
    r"""(?:(?<=[\s,;<("'])|^)(?:mailto:)?[^\W_][\w.+%&'*/=!~-]{0,63}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}"""
    r"""\.?(?=[\s,;>)"']|$)"""
)
_KEY: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[opsur]_[A-Za-z0-9]{30,}"
    r"|\bgithub_pat_\w{30,}|\bxox[abeprs]-[\w-]{10,}|\bsk-[\w-]{20,}|\bsk_live_\w{16,}|\bAIza[\w-]{35}|\bglpat-[\w-]{20}"
    r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"
)
_TRAILING: Final = ".,;:!?)]}>'\"*_`"


class Atom(Struct, frozen=True, gc=False):
    """A stretch of a text that stands for one thing, in its one spelling; `parts` are its words."""

    key: str
    shape: Shape
    parts: tuple[str, ...]


_MARK: Final = "ˣ"
"""Around the number of a mark that is combined with a letter. No other text has it: it is folded itself."""
_MARKS: Final = re.compile(f"{_MARK}[0-9a-f]+{_MARK}")


class _Fold(dict[int, str | None]):
    """A `str.translate` table, worked out per character: `unicodedata.normalize` is quadratic on marks."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        # Not `casefold`: ß and ς are letters of their own in addresses.
        folded: str | None = unicodedata.normalize("NFKC", char).lower()
        kind = unicodedata.category(char)
        if (kind in ("Cf", "Cc", "Cs") and char not in "\n\t\r") or unicodedata.name(char, "").startswith(
            ("VARIATION SELECTOR", "COMBINING GRAPHEME")
        ):
            folded = None
        elif kind == "Mn":
            folded = f"{_MARK}{code:x}{_MARK}"
        if len(self) < 8_192:
            self[code] = folded
        return folded


_PLAIN: Final = {"'": "’‘", '"': "“”", "-": "–\u2010\u2011"}
_FOLD: Final = _Fold({ord(char): plain for plain, chars in _PLAIN.items() for char in chars})


def folded(text: str) -> str:
    """Lower case, compatibility forms resolved, invisible characters gone.

    Marks are gone from words, so that nobody hides an order with them. In addresses they make another one.
    """
    if text.isascii():
        return text.lower()
    composed = text if len(text) > 20_000 else unicodedata.normalize("NFC", text[:20_000])
    plain = composed.translate(_FOLD)
    return plain if _MARK not in plain else re.sub(r"\S+", _without_marks, plain)


def _without_marks(found: re.Match[str]) -> str:
    run = found.group()
    if _MARK not in run:
        return run
    bare = _MARKS.sub("", run)
    return run if "@" in bare or "://" in bare or _DOTTED.search(bare) else bare


def unmarked(text: str) -> str:
    """A folded text as lexicons write it: people leave marks out. No address is compared so."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text)
    return "".join(char for char in apart if unicodedata.category(char) != "Mn")


_DOTTED: Final = re.compile(r"\w\.\w")


def atoms(text: str, months: dict[str, int]) -> Iterator[Atom]:
    """The things of a text that is folded already, in order."""
    before: Atom | None = None
    for found in _CHUNK.finditer(text):
        atom = _atom(found.lastgroup or "word", found.group())
        if atom is None:
            continue
        yield atom
        if (
            before is not None
            and (before.key in months or atom.key in months)
            and (day := _named_day(before, atom, months))
        ):
            yield Atom(day, "day", ())
        before = atom


def _named_day(before: Atom, atom: Atom, months: dict[str, int]) -> str | None:
    """`may 15`, `15th may` -> the day without its year."""
    for name, number in ((before.key, atom.key), (atom.key, before.key)):
        if name in months and (digits := re.match(r"(\d{1,2})(?:st|nd|rd|th)?$", number)):
            return f"{months[name]:02d}-{int(digits[1]):02d}"
    return None


@lru_cache(65_536)
def _atom(kind: str, raw: str) -> Atom | None:
    if kind == "plain":  # a word of letters with nothing behind it that could belong to it
        return Atom(raw, "word", (raw,))
    if kind == "number":
        return Atom(number(raw), "number", (number(raw),))
    if kind == "day":
        return _day(raw)
    if kind == "phone":
        return Atom(raw, "phone", (raw,))
    if kind == "time":
        return Atom(_time(raw), "time", (_time(raw),))
    raw = raw.rstrip(_TRAILING) if kind != "word" else raw
    parts = tuple(_PART.findall(raw))
    if kind == "url":
        return Atom(url(raw), "url", parts)
    if kind == "email":
        return Atom(email(raw), "email", parts)
    if kind == "path":
        return Atom(raw.rstrip("/"), "path", parts)
    return _word(raw, parts) if parts else None


def _word(raw: str, parts: tuple[str, ...]) -> Atom:
    if _IBAN.match(raw):
        return Atom(raw, "iban", (raw,))
    if "." in raw and _HOST.match(raw) and not _FILE_END.search(raw):
        return Atom(url(raw), "host", parts)
    return Atom(raw.removesuffix("'s"), "word", parts)


def _day(raw: str) -> Atom:
    pieces = [int(piece) for piece in re.split(r"[-/.]", raw)]
    if pieces[0] > 31:
        year, month, day = pieces
    else:
        day, month, year = pieces
        if month > 12 or ("/" in raw and day <= 12):
            day, month = month, day
    return Atom(f"{year:04d}-{month:02d}-{day:02d}", "day", (f"{month:02d}-{day:02d}",))


def _time(raw: str) -> str:
    late = raw.endswith("pm")
    digits = raw.rstrip("apm ").split(":")
    hour = int(digits[0]) % 12 + 12 * late if raw[-1] == "m" else int(digits[0])
    return f"{hour:02d}:{digits[1] if len(digits) > 1 else '00'}"


def number(raw: str) -> str:
    """1,000.00, 1.000,00 and 1000 are one number."""
    raw = raw.replace("'", "")
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d{1,2}|\d{1,3}(?:\.\d{3}){2,}", raw):
        raw = raw.replace(".", "").replace(",", ".")
    try:
        value = Decimal(raw.replace(",", ""))
    except InvalidOperation:
        return raw
    whole = value.to_integral_value()
    return str(whole) if value == whole else format(value.normalize(), "f")


def email(raw: str) -> str:
    """Without `mailto:`; a dot or a tag makes no other mailbox where the provider ignores them."""
    name, _, host = raw.removeprefix("mailto:").rpartition("@")
    host = _host(host.rstrip("."))
    if host in ("gmail.com", "googlemail.com"):
        name, host = name.partition("+")[0].replace(".", ""), "gmail.com"
    return f"{name}@{host}"


def url(raw: str) -> str:
    """Without scheme, `www.` and the fragment, percent-encoding resolved.

    What stands before an `@` stays: whoever reads at the host is told it.
    """
    rest = raw.split("://", 1)[-1].partition("#")[0]
    host, slash, path = re.match(r"([^/?]*)([/?]?)(.*)", rest, re.S).groups()  # type: ignore[union-attr]
    told, mark, host = host.rpartition("@")
    host = _host(host.removeprefix("www.").removesuffix(":443").removesuffix(":80"))
    return f"{told}{mark}{host}{slash}{unquote(path).lower()}".rstrip("/")


def _host(host: str) -> str:
    """In punycode, each letter for itself: `ß` is not `ss` to whoever looks a host up today."""
    if host.isascii():
        return host.lower()
    labels = host.lower().split(".")
    return ".".join(one if one.isascii() else f"xn--{one.encode('punycode').decode()}" for one in labels)


def host_of(key: str) -> str:
    """The host of an address in its one spelling."""
    return re.split(r"[/?]", key, maxsplit=1)[0].rpartition("@")[2]


def tells_a_user(key: str) -> bool:
    """`https://anybody@host/`: has an address in its one spelling something before its host?"""
    return "@" in re.split(r"[/?]", key, maxsplit=1)[0]


def shape_of(text: str) -> Shape:
    """What kind of thing a whole value is."""
    value = folded(text).strip()
    if len(value) > 2_048:
        return "word"
    if _PHONE.match(value):
        return "phone"
    if _IBAN.match(value.replace(" ", "")) and any(char.isdigit() for char in value[4:]):
        return "iban"
    found = _CHUNK.match(value)
    if not found or found.end() < len(value.rstrip(_TRAILING)):
        return "card" if has_card(value) else "word"
    atom = _atom(found.lastgroup or "word", found.group())
    return atom.shape if atom else "word"


def has_strange_address(text: str) -> bool:
    """An address that is part of something longer, which may be another: `"ann@x.org"@evil.example`."""
    if any(atom.shape == "email" for atom in atoms(text, {})):
        return "@" in _ADDRESS.sub("", text)
    # Browsers and libraries disagree about the host, or leave out what parts it.
    return "://" in text and ("\\" in text or _GAP.search(text.strip()) is not None)


_GAP: Final = re.compile(r"[\t\r\n]\s*(?![a-z][a-z0-9+.-]{1,15}://)[^\s<>(\"',;]|\s[.@/:%]")


def is_file_name(text: str) -> bool:
    return _FILE_END.search(text) is not None


def has_card(text: str) -> bool:
    """A run of digits that passes the check of card numbers."""
    for found in _CARD.finditer(text):
        digits = [int(char) for char in found.group() if char.isdigit()]
        if len(set(digits)) > 3 and _luhn(digits):
            return True
    return False


def has_key(text: str) -> bool:
    """Something that programs take for a key: its beginning tells. A folded text has no case."""
    return _KEY.search(text) is not None


def _luhn(digits: list[int]) -> bool:
    total = 0
    for at, digit in enumerate(reversed(digits)):
        twice = digit * 2 if at % 2 else digit
        total += twice - 9 if twice > 9 else twice
    return total % 10 == 0


def joined_accounts(text: str) -> str:
    """`us13 3000 0001` and `+44 20 7946 0321` are written with gaps on paper: one token each."""
    if " " in text and _ACCOUNT_GROUPS.search(text):
        text = _ACCOUNT_GROUPS.sub(lambda found: found.group().replace(" ", ""), text)
    return _PHONE_GROUPS.sub(_phone, text) if _DIALLED.search(text) else text


def _phone(found: "re.Match[str]") -> str:
    """`+` and digits; what is written without a country stays without. `00` is `+`, and `(0)` is no digit."""
    raw = found.group()
    abroad = raw.startswith(("+", "00"))
    digits = re.sub(r"\D", "", raw.replace("(0)", "") if abroad else raw)
    if not _SHORT <= len(digits) <= _LONG:
        return raw
    return f"+{digits.removeprefix('00')}" if abroad else digits


_SHORT: Final = 8
_LONG: Final = 16
"""Digits of a number that is dialled."""


def at_home(phone: str) -> list[str]:
    """How the same number is written inside its country, whose code has one digit to three."""
    return [phone[at:].lstrip("0") for at in (2, 3, 4) if len(phone) - at >= _SHORT]


def name_words(name: str) -> list[str]:
    """`chat.postMessage`, `create-issue`, `HTTPGet` as words. Invisible characters part no words."""
    # The same few names of tools and arguments are asked for again and again; long ones are nobody's names.
    return list(_known_words(name) if len(name) <= _NAME else _words_of(name))


def _words_of(name: str) -> tuple[str, ...]:
    if not name.isascii():
        shown = "".join(char for char in name if unicodedata.category(char) not in ("Cf", "Cc", "Cs", "Mn"))
        name = unicodedata.normalize("NFKC", shown[:1_024])
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z]+)([A-Z][a-z])", r"\1\3 \2\4", name)
    return tuple(word.casefold() for word in re.split(r"[^A-Za-z0-9À-ɏ]+", spaced) if word)


_NAME: Final = 128
_known_words: Final = lru_cache(4_096)(_words_of)
