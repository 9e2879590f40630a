"""Characters that hide or imitate: invisible ones, direction controls, letters that only look Latin."""

import re
import unicodedata
from typing import Final, Literal

INVISIBLE: Final = "invisible_characters"
LOOK_ALIKE: Final = "look_alike"

_ZERO_WIDTH = "\u034f\u180e\u200b-\u200d\u2060-\u2064\ufeff"
_MARKS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\u00ad\u115f\u1160\u3164\uffa0"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"

UNSEEN: Final = re.compile(f"[{_ZERO_WIDTH}{_MARKS}{_SELECTORS}{_TAGS}]")

# A flag such as Scotland's is a black flag and a few tags: the one honest use of them.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{2,6}\U000e007f")
_TAG_RUN = re.compile(f"[{_TAGS}]+")
_SELECTOR_RUN = re.compile(f"[{_SELECTORS}]{{4,}}")
_ZERO_WIDTH_RUN = re.compile(f"[{_ZERO_WIDTH}]{{4,}}")
_INSIDE_LATIN = re.compile(f"(?<=[A-Za-z])[{_ZERO_WIDTH}]+(?=[A-Za-z])")
_SOFT_HYPHEN = re.compile("(?<=[^\\W\\d_])\u00ad+(?=[^\\W\\d_])")
_OVERRIDE = re.compile("[\u202d\u202e]")
_OPENS, _CLOSES = re.compile("[\u202a\u202b\u2066-\u2068]"), re.compile("[\u202c\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def _pairs(text: str) -> dict[str, str]:
    return dict(zip(text[::2], text[1::2], strict=True))


# The letter that is not Latin, then the Latin letter it passes for. Upper and lower case differ (Greek eta
# looks like n, its capital like H), so both stand here.
_CYRILLIC = _pairs("аaвbсcԁdеeһhіiјjкkӏlмmнhпnоoрpԛqгrѕsтtѵvԝwхxуyАaВbСcЕeНhІiЈjКkМmОoРpЅsТtХxУy")
_GREEK = _pairs("αaβbεeηnιiκkνvοoρpτtυuχxγyωwσoϲcΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧx")
_OTHERS = _pairs("ᎠdᎡrᎢtᎥiᎪaᎫjᎬeᎳwᎷmᎻhᏀgᏚsᏞlᏟcᏢpᏦkᏴbօoսuոnհhɑaɡg")
_SMALL_CAPITALS = _pairs("ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢz")
_CONFUSABLES: Final = _CYRILLIC | _GREEK | _OTHERS | _SMALL_CAPITALS

# Honest letters and signs without a decomposition, as people type them on a plain keyboard.
_SPELLINGS: Final = _pairs("ıiøoØOđdĐDħhłlŁLŧt‘'’'‚'“\"”\"„\"«\"»\"‹'›'–-—-−-‑-·.•.€ £ ° × ") | {
    "ß": "ss", "ẞ": "SS", "æ": "ae", "œ": "oe", "Æ": "Ae", "…": "...", "\u00a0": " ", "\u202f": " ",
}  # fmt: skip

_LOWER = "".join(c for c in _CYRILLIC | _GREEK if c.islower())
_UPPER = "".join(c for c in _CYRILLIC if c.isupper())
# Same case on both sides: `TNFα`, `kΩ` and a Russian ending on an English abbreviation are ordinary writing.
_MIXED = re.compile(f"[a-z][{_LOWER}]|[{_LOWER}][a-z]|[A-Z][{_UPPER}]|[{_UPPER}][A-Z]")


class _Table(dict[int, str | int]):
    """A `str.translate` table that works characters out when first met.

    Character by character on purpose: `unicodedata.normalize` takes quadratic time on runs of marks.
    """

    def __init__(self, form: Literal["NFD", "NFKD"], replaced: dict[str, str], *, drop_unseen: bool) -> None:
        super().__init__()
        self._form: Literal["NFD", "NFKD"] = form
        self._replaced = replaced
        self._drop_unseen = drop_unseen

    def __missing__(self, code: int) -> str | int:
        if 0x3400 <= code < 0xA000 or 0xAC00 <= code < 0xF900:
            # Ideographs, Hangul, surrogates, private use: nothing to fold, too many to remember.
            return code
        folded = self._fold(chr(code))
        if len(self) < 8192:
            self[code] = folded
        return folded

    def _fold(self, char: str) -> str:
        if self._drop_unseen:
            if UNSEEN.match(char):
                return ""
            if 0x1F130 <= ord(char) <= 0x1F189:  # letters in squares and circles, three alphabets in a row
                return chr(ord("a") + (ord(char) - 0x1F130) % 32 % 26)
        parts = unicodedata.normalize(self._form, self._replaced.get(char, char))
        return "".join(self._replaced.get(part, part) for part in parts if not unicodedata.combining(part))


_PLAIN = _Table("NFD", _SPELLINGS, drop_unseen=False)
_SKELETON = _Table("NFKD", _SPELLINGS | _CONFUSABLES, drop_unseen=True)


def plain(text: str) -> str:
    """The text without accents: how honest text is read."""
    return text if text.isascii() else text.translate(_PLAIN)


def visible(text: str) -> str:
    """The text without what nobody can see."""
    return UNSEEN.sub("", text)


def skeleton(text: str) -> str:
    """What the text looks like to a person: nothing unseen, look-alikes as the letters they imitate."""
    return text.translate(_SKELETON)


def smuggled(text: str) -> str:
    """Text written in tag characters, in variation selectors as bytes, or backwards."""
    found = []
    for run in _TAG_RUN.findall(_FLAG.sub("", text)):
        found.append("".join(chr(ord(c) - 0xE0000) for c in run if c >= "\U000e0020"))
    for run in _SELECTOR_RUN.findall(text):
        data = bytes(ord(c) - 0xFE00 if c <= "\ufe0f" else ord(c) - 0xE0100 + 16 for c in run)
        found.append(data.decode("utf-8", "ignore"))
    if _OVERRIDE.search(text):
        found.append(visible(text)[::-1])
    return "\n".join(found)


def unseen_weight(text: str) -> float:
    """What the invisible characters of a text weigh by themselves, whatever they hide."""
    inside = len(_INSIDE_LATIN.findall(text))
    unbalanced = len(_OPENS.findall(text)) != len(_CLOSES.findall(text))
    weights = (
        0.8 if _TAG_RUN.search(_FLAG.sub("", text)) else 0.0,
        0.8 if _SELECTOR_RUN.search(text) else 0.0,
        0.8 if _ZERO_WIDTH_RUN.search(text) else 0.0,
        0.75 if _OVERRIDE.search(text) else 0.0,
        0.5 if unbalanced and not _RIGHT_TO_LEFT.search(text) else 0.0,
        (0.0, 0.35, 0.6, 0.6, 0.8)[min(inside, 4)],
        0.2 if _SOFT_HYPHEN.search(text) else 0.0,
    )
    return max(weights)


def mixed_words(text: str) -> list[str]:
    """Words in which letters of two scripts stand side by side and imitate each other."""
    if not _MIXED.search(text):
        return []
    return sorted({word for word in text.split() if _MIXED.search(word)})
