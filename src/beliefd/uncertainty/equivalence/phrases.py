"""Phrases of several words that mean one thing, and the words or markers to read instead.

On the left words as they are written, on the right what is read. `#` on the left is a number and `.` the
end of a clause; both are kept.
"""

from typing import Final

from beliefd.uncertainty.equivalence.phrasals import in_one_word
from beliefd.uncertainty.equivalence.quantities import COUNTING
from beliefd.uncertainty.equivalence.tables import rows, word_set
from beliefd.uncertainty.equivalence.words import BE, BOUNDARIES

_TABLE: Final = """
once daily = 1 per day; once per = 1 per; once every = 1 per; basis points = bp; percentage points = %;
left unchanged = unchanged; no longer = not; not any more = not; not any longer = not; any more =; any
longer =; anymore =; at all =; no one = nobody; not a single = no; a single = one; every single = every;
each single = each; multiple = several; not one = no; not a = no; not any = no; not only =; not just =;
not merely =; no doubt =; without doubt =; without a doubt =; no matter =; nothing but = only; none but =
only; none other than =; it is not true that = NOT_SO; it is not the case that = NOT_SO; it is false that
= NOT_SO; it is untrue that = NOT_SO; it is true that =; it is the case that =; whether or not = whether;
not yet = not; has yet to = not; have yet to = not; yet to = not; out of = not; refuse to = not; refuses
to = not; refused to = not; refusing to = not; unable to = not; could not = can not; the most =; the only
=; would have = WOULD; would have been = WOULD; free of = not; free from = not; used to = not; fail to =
not; fails to = not; failed to = not; failing to = not; failure to = not; neglected to = not; forgot to =
not; declined to = not; declines to = not; unwilling to = not; not able to = not; was unable to = could
not; is unable to = can not; were unable to = could not; are unable to = can not; able to = can; was able
to = could; rather than = INSTEAD not; instead of = INSTEAD not; as opposed to = INSTEAD not; in place of
= INSTEAD not; in lieu of = INSTEAD not; has to = must; have to = must; had to = must; need to = must;
needs to = must; needed to = must; required to = must; obliged to = must; it is necessary to = must; is
necessary to = must; not optional = must; not obliged to = OPTIONAL; not required to = OPTIONAL; need not
= OPTIONAL; not need to = OPTIONAL; in favour of = for; in favor of = for; quarter past = past15; quarter
to = to15; half past = past30; nobody except = only; no one except = only; none except = only; but # =
except; not mandatory = OPTIONAL; not necessary = OPTIONAL; not have to = OPTIONAL; ought to = should;
better not = should not; allowed to = may; permitted to = may; free to = may; forbidden to = not may;
forbidden = not allowed; prohibited = not allowed; banned = not allowed; prohibited from = not may; banned
from = not may; barred from = not may; it is possible that = possibly; unlikely = not likely; improbable =
not likely; unnecessary = OPTIONAL; it is likely that = probably; it is probable that = probably; it is
certain that =; may have = POSSIBLE; might have = POSSIBLE; could have = POSSIBLE; may be = POSSIBLE;
would not = not; going to = FUTURE; about to = FUTURE; scheduled to = FUTURE; plan to = FUTURE; plans to =
FUTURE; planned to = FUTURE; planning to = FUTURE; intend to = FUTURE; intends to = FUTURE; due to =
because; because of = because; owing to = because; on account of = because; thanks to = because; as a
result of = because; as a consequence of = because; is due to = was caused by; was due to = was caused by;
are due to = was caused by; were due to = was caused by; been due to = was caused by; is because of = was
caused by; was because of = was caused by; result from = was caused by; results from = was caused by;
resulted from = was caused by; stems from = was caused by; stemmed from = was caused by; arose from = was
caused by; the result of = caused by; a result of = caused by; a consequence of = caused by; responsible
for = cause; the cause of = cause; the reason for = cause; the root cause of = cause; provided that = if;
as long as = if; prior to = before; in advance of = before; nobody but = only; no one but = only; anything
but = not; is far from = is not; was far from = was not; are far from = are not; far from being = not; by
no means = not; in no way = not; not in the least = not; under no circumstances = never; little or no =
no; next to nothing = nothing; subsequent to = after; as soon as = after; following the = after the; as
well as = and; along with = and; together with = and; in addition to = and; nearly all = most; almost all
= most; almost every = most; nearly every = most; almost always = most; nearly always = most; almost
everyone = most; almost everybody = most; vast majority of = most; majority of = most; most of the time =
usually; more often than not = usually; as a rule = usually; every time = always; all the time = always;
at all times = always; each time = always; in every case = always; in all cases = always; in most cases =
usually; in some cases = sometimes; at times = sometimes; from time to time = sometimes; now and then =
sometimes; once in a while = sometimes; hardly any = few; hardly ever = rarely; scarcely any = few; barely
any = few; almost no = few; almost no one = few; almost nobody = few; almost none of = few; almost none =
few; almost never = rarely; next to no = few; close to none = few; very few = few; only a few = few; only
few = few; just a few = few; quite a few = many; a few = some; a couple of = some; a number of = some; a
handful of = few; a small number of = few; a large number of = many; a great deal of = many; a lot of =
many; a lot = many; not many = few; not much = few; not often = rarely; not all = NOTALL; not every =
NOTALL; not everyone = NOTALL; not everybody = NOTALL; not everything = NOTALL; not each = NOTALL; not
always = NOTALL; not entirely = NOTALL; not fully = NOTALL; not completely = NOTALL; not wholly = NOTALL;
not both = NOTALL; not most = few; some of the = PART; some of = PART; only part of = PART; parts of =
PART; only some = PART; only some of = PART; but not all = PART; apart from = except; other than = except;
aside from = except; except for = except; with the exception of = except; all but = except; at least =
LEAST; no less than = LEAST; no fewer than = LEAST; not less than = LEAST; not fewer than = LEAST; a
minimum of = LEAST; minimum of = LEAST; no earlier than = LEAST; at most = MOST_OF; no more than =
MOST_OF; not more than = MOST_OF; up to = MOST_OF; a maximum of = MOST_OF; maximum of = MOST_OF; no later
than = MOST_OF; at the most = MOST_OF; not exceed = MOST_OF; more than # = ABOVE #; greater than # = ABOVE
#; higher than # = ABOVE #; over # = ABOVE #; above # = ABOVE #; exceeds # = ABOVE #; exceeded # = ABOVE
#; in excess of # = ABOVE #; less than # = BELOW #; fewer than # = BELOW #; lower than # = BELOW #; under
# = BELOW #; below # = BELOW #; only # = #; just # = #; some # = #; all # = #; almost # = #; nearly # = #;
roughly # = #; on the rise = rise; on the decline = fall; in plain text = unencrypted; in plaintext =
unencrypted; in clear text = unencrypted; read only = readonly; not writable = readonly; on time =
punctual; in time = punctual; by accident = accidentally; by mistake = accidentally; by chance =
accidentally; on purpose = deliberately; by hand = manually; logged in = logged_in; logged out =
logged_out; logged off = logged_out; signed in = logged_in; signed out = logged_out; daily = per day;
weekly = per week; monthly = per month; hourly = per hour; annually = per year; united states of america =
usa; united states = usa; the states = usa; united kingdom = uk; great britain = uk; high temperature =
fever; in sync = sync; per cent = percent; per annum = per year; is rumoured to = POSSIBLE; according to =
SAID; in the end = finally; is rumored to = POSSIBLE; rumour has it that = POSSIBLE; rumor has it that =
POSSIBLE; is said to = POSSIBLE; are said to = POSSIBLE; was said to = POSSIBLE; is reported to =
POSSIBLE; is alleged to = POSSIBLE; is claimed to = POSSIBLE; are claimed to = POSSIBLE; are rumoured to =
POSSIBLE; is supposed to = POSSIBLE; are supposed to = POSSIBLE; is believed to = probably; is thought to
= probably; are believed to = probably; are thought to = probably; is assumed to = probably; is expected
to = probably; seems to = probably; seem to = probably; appears to = probably; appear to = probably; i
suspect = probably; we suspect = probably; i guess = probably; i assume = probably; not doubt that =;
doubt that = likely NOT_SO; doubts that = likely NOT_SO; doubt whether = likely NOT_SO; doubt if = likely
NOT_SO; unless = if NOT_SO; even if = although; even when = although; even though = although; in spite of
= although; despite = although; regardless of = although; in case = if; on condition that = if; provided =
if; providing that = if; till = until; once the = after the; once a = 1 per; once it = after it; once he =
after he; once she = after she; once they = after they; once all = after all; only once = one time; once .
= one time; doubled = increased twofold; doubles = increase twofold; tripled = increased threefold;
triples = increase threefold; trebled = increased threefold; quadrupled = increased fourfold; halved =
decreased by half; halves = decrease by half; by 100 % = twofold; by 100 percent = twofold; by 200 % =
threefold; by 200 percent = threefold; % less = % lower; percent less = % lower; % fewer = % lower;
percent fewer = % lower; % more = % higher; percent more = % higher; too much = too high; too many = too
high; show no = has no; shows no = has no; showed no = had no; contain no = has no; contains no = has no;
contained no = had no; reveals no = has no; include no = has no; includes no = has no; no free space left
= full; no free space = full; no space left = full; no space = full; no room left = full; no disk space
left = full; no capacity left = full; not moving = stationary; not on time = late; not arrive on time =
late; it is forbidden to = not allowed; it is prohibited to = not allowed; it is not allowed to = not
allowed; as fast as possible = immediately; right away = immediately; at once = immediately; straight away
= immediately; in front of = ahead; ahead of = ahead; at the moment = now; right now = now; at present =
now; these days = now; at that time = then; in the past = formerly; by force = forcibly; with care =
carefully; without care = carelessly; in a hurry = quickly; with ease = easily; at random = randomly; on
average = averagely; in secret = secretly; in public = publicly; for free = free; at no cost = free; free
of charge = free; in error = accidentally; went off . = disabled; tried to = TRIED; tries to = TRIED; try
to = TRIED; trying to = TRIED; attempted to = TRIED; attempts to = TRIED; attempting to = TRIED; attempt
to = TRIED; wants to = WANTED; want to = WANTED; wanted to = WANTED; hopes to = WANTED; hoped to = WANTED;
hope to = WANTED; wishes to = WANTED; wished to = WANTED; threatened to = WANTED; threatens to = WANTED;
promised to = WANTED; promises to = WANTED; offered to = WANTED; pretended to = not; pretends to = not;
pretend to = not; pretending to = not; claims to = POSSIBLE; claim to = POSSIBLE; claimed to = POSSIBLE;
alleges to = POSSIBLE; alleged to = POSSIBLE; purports to = POSSIBLE; every other = PART; it seems that =
probably; it appears that = probably; it looks as if = probably; it looks like = probably; it seems =
probably; it appears = probably; was once the = was not the; was once a = was not a; were once the = were
not the; was formerly = was not; were formerly = were not; out of order = broken; has the right to = may;
have the right to = may; purported to = POSSIBLE; professes to = POSSIBLE; professed to = POSSIBLE;
everyone but = everyone except; everybody but = everybody except; everything but = everything except; half
an hour = 30 minutes; three quarters of an hour = 45 minutes; a quarter of an hour = 15 minutes; quarter
of an hour = 15 minutes; managed to =; manages to =; succeeded in =; happened to =; fewer than one = 0;
"""
_STATES: Final = {"up": "UP", "down": "not UP", "on": "enabled", "off": "disabled"}
_DENIED: Final = {"up": "not UP", "down": "UP", "on": "disabled", "off": "enabled"}
_POSITIONS: Final = "".join(
    f"{verb} {state} . = {verb} {said};"
    for verb in sorted(BE | {"still", "currently", "back"})
    for state, said in _STATES.items()
) + "".join(f"not {state} . = {said};" for state, said in _DENIED.items())
"""`is down`, `is not on`, at the end of a clause."""
_CONTENTS: Final = word_set(
    "message messages item items entry entries element elements row rows record records data job jobs task "
    "tasks file files people anybody anyone anything content contents thing things one"
)
"""What a container holds, whatever it is: without any of them it is empty."""
_INSIDE: Final = word_set("in on inside within")
_LEFT: Final = word_set("left remaining waiting pending")
_KEEPING: Final = word_set("keeps keep kept")
_ENDING: Final = word_set("stops stop stopped ceases cease ceased quits quit")
_LIGHT: Final = _KEEPING | word_set(
    "hit hits suffered suffers suffer experienced experiences encountered encounters underwent undergoes "
    "made makes make had took takes take"
)
"""Verbs that say nothing beside the event that they stand before."""
_EVENTS: Final = word_set(
    "timeout crash failure outage error exception deadlock delay shutdown restart loss increase "
    "decrease drop rise fall decision attempt payment purchase collapse overflow breakdown change "
    "improvement reduction visit look"
)
Phrase = tuple[tuple[str, ...], tuple[str, ...]]


def _by_opening(table: str) -> dict[str, dict[str, list[Phrase]]]:
    found: dict[str, dict[str, list[Phrase]]] = {}
    for row in rows(table):
        left, right = (tuple(side.split()) for side in row.split("="))
        kept = tuple(word for word in right if word not in "#.")
        second = left[1] if len(left) > 1 and left[1] not in "#." else ""
        found.setdefault(left[0], {}).setdefault(second, []).append((left, kept))
    for by_second in found.values():
        for phrases in by_second.values():
            phrases.sort(key=lambda row: -len(row[0]))
    return found


_NO_PHRASES: Final[list[Phrase]] = []
PHRASES: Final = _by_opening(_TABLE + _POSITIONS)
"""By their first word and their second (empty: any), the longest first."""


def rewritten(texts: list[str]) -> list[str]:
    """Phrases become what they mean."""
    texts = _lightened(_emptied(in_one_word(texts)))
    if PHRASES.keys().isdisjoint(texts):
        return texts
    found: list[str] = []
    place, end = 0, len(texts)
    while place < end:
        for left, right in _openings(texts, place) if texts[place] in PHRASES else ():
            size = _matches(left, texts, place)
            if size and not (left == ("used", "to") and found and found[-1] in BE):
                found += right
                place += size
                break
        else:
            found.append(texts[place])
            place += 1
    return found


def _lightened(texts: list[str]) -> list[str]:
    """`Hit a timeout` as `timeout`, `keeps restarting` as `repeatedly restarting`, `stopped sending` as
    `not sending`."""
    if _LIGHT.isdisjoint(texts) and _ENDING.isdisjoint(texts):
        return texts
    found: list[str] = []
    for place, text in enumerate(texts):
        then = texts[place + 1 : place + 3]
        if text in _KEEPING and then and then[0].endswith("ing"):
            found.append("repeatedly")
        elif text in _ENDING and then and then[0].endswith("ing"):
            found.append("not")
        elif text not in _LIGHT or text in _KEEPING or not _EVENTS.intersection(then):
            found.append(text)
    return found


def _emptied(texts: list[str]) -> list[str]:
    """`No messages in the queue` and `the queue is empty` both as a denial that the queue HOLDS."""
    if "empty" in texts:
        found: list[str] = []
        for place, text in enumerate(texts):
            then = texts[place + 1] if place + 1 < len(texts) else "."
            stated = text == "empty" and found and found[-1] in BE and then in BOUNDARIES
            found += ["NOT_SO", "HOLDS"] if stated else [text]
        return found
    if "no" not in texts and "nothing" not in texts:
        return texts
    for place, text in enumerate(texts):
        if text in ("no", "nothing"):
            behind = place + 1 + (text == "no" and place + 1 < len(texts))
            held = text == "nothing" or texts[behind - 1] in _CONTENTS
            behind += behind < len(texts) and texts[behind] in _LEFT
            if held and behind < len(texts) and texts[behind] in _INSIDE:
                return [*texts[:place], "NOT_SO", "HOLDS", *texts[behind:]]
    return texts


def _openings(texts: list[str], place: int) -> list[Phrase]:
    by_second = PHRASES[texts[place]]
    then = texts[place + 1] if place + 1 < len(texts) else "."
    return by_second.get(then, _NO_PHRASES) + by_second.get("", _NO_PHRASES)


def _matches(left: tuple[str, ...], texts: list[str], place: int) -> int:
    """How many tokens a phrase takes from here, 0 if it does not stand here. `#` and `.` are not taken."""
    for offset, wanted in enumerate(left):
        at = place + offset
        given = texts[at] if at < len(texts) else "."
        if wanted == "#":
            return offset if given[0].isdigit() or given in COUNTING else 0
        if wanted == "." and offset:
            return offset if given in BOUNDARIES else 0
        if given != wanted or at >= len(texts):
            return 0
    return len(left)
