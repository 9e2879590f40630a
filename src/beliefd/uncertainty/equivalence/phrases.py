"""Phrases of several words that mean one thing, and the words or markers to read instead.

On the left words as they are written, on the right what is read. `#` on the left is a number and `.` the
end of a clause; both are kept.
"""

from typing import Final

from beliefd.uncertainty.equivalence.quantities import COUNTING
from beliefd.uncertainty.equivalence.tables import rows
from beliefd.uncertainty.equivalence.words import BE, BOUNDARIES

_TABLE: Final = """
failed over = failover; fails over = failover;
once daily = 1 per day; once a = 1 per; once per = 1 per; once every = 1 per; basis points = bp;
percentage points = %; left unchanged = unchanged; no longer = not; not any more = not; not any longer =
not; any more =; any longer =; anymore =; at all =; no one = nobody; not a single = no; not one = no; not
a = no; not any = no; not only =; not just =; not merely =; no doubt =; without doubt =; without a doubt
=; no matter =; nothing but = only; none but = only; none other than =; it is not true that = NOT_SO; it
is not the case that = NOT_SO; it is false that = NOT_SO; it is untrue that = NOT_SO; it is true that =;
it is the case that =; whether or not = whether; not yet = not; has yet to = not; have yet to = not; yet
to = not; out of = not; refuse to = not; refuses to = not; refused to = not; refusing to = not; unable to
= not; could not = can not; the most =; the only =; would have = WOULD; would have been = WOULD; free of =
not; free from = not; used to = not; fail to = not; fails to = not; failed to = not; failing to = not;
failure to = not; neglected to = not; forgot to = not; declined to = not; declines to = not; unwilling to
= not; not able to = not; was unable to = could not; is unable to = can not; were unable to = could not;
are unable to = can not; able to = can; was able to = could; rather than = INSTEAD not; instead of =
INSTEAD not; as opposed to = INSTEAD not; in place of = INSTEAD not; in lieu of = INSTEAD not; has to =
must; have to = must; had to = must; need to = must; needs to = must; needed to = must; required to =
must; obliged to = must; it is necessary to = must; is necessary to = must; not optional = must; not
obliged to = OPTIONAL; not required to = OPTIONAL; need not = OPTIONAL; not need to = OPTIONAL; in favour
of = for; in favor of = for; quarter past = past15; quarter to = to15; half past = past30; rule out =
exclude; rules out = exclude; ruled out = excluded; nobody except = only; no one except = only; none
except = only; but # = except; not mandatory = OPTIONAL; not necessary = OPTIONAL; not have to = OPTIONAL;
ought to = should; better not = should not; allowed to = may; permitted to = may; free to = may; forbidden
to = not may; forbidden = not allowed; prohibited = not allowed; banned = not allowed; prohibited from =
not may; banned from = not may; barred from = not may; it is possible that = possibly; unlikely = not
likely; improbable = not likely; unnecessary = OPTIONAL; it is likely that = probably; it is probable that
= probably; it is certain that =; may have = POSSIBLE; might have = POSSIBLE; could have = POSSIBLE; may
be = POSSIBLE; would not = not; going to = FUTURE; about to = FUTURE; scheduled to = FUTURE; plan to =
FUTURE; plans to = FUTURE; planned to = FUTURE; planning to = FUTURE; intend to = FUTURE; intends to =
FUTURE; due to = because; because of = because; owing to = because; on account of = because; thanks to =
because; as a result of = because; as a consequence of = because; is due to = was caused by; was due to =
was caused by; are due to = was caused by; were due to = was caused by; been due to = was caused by; is
because of = was caused by; was because of = was caused by; result from = was caused by; results from =
was caused by; resulted from = was caused by; stems from = was caused by; stemmed from = was caused by;
arose from = was caused by; the result of = caused by; a result of = caused by; a consequence of = caused
by; result in = cause; results in = cause; resulted in = caused; resulting in = cause; lead to = cause;
leads to = cause; led to = caused; leading to = cause; gives rise to = cause; gave rise to = caused;
brings about = cause; brought about = caused; responsible for = cause; the cause of = cause; the reason
for = cause; the root cause of = cause; provided that = if; as long as = if; prior to = before; nobody but
= only; no one but = only; anything but = not; is far from = is not; was far from = was not; are far from
= are not; far from being = not; by no means = not; in no way = not; not in the least = not; under no
circumstances = never; little or no = no; next to nothing = nothing; subsequent to = after; as soon as =
after; following the = after the; as well as = and; along with = and; together with = and; in addition to
= and; nearly all = most; almost all = most; almost every = most; nearly every = most; almost always =
most; nearly always = most; almost everyone = most; almost everybody = most; vast majority of = most;
majority of = most; most of the time = usually; more often than not = usually; as a rule = usually; every
time = always; all the time = always; at all times = always; each time = always; in every case = always;
in all cases = always; in most cases = usually; in some cases = sometimes; at times = sometimes; from time
to time = sometimes; now and then = sometimes; once in a while = sometimes; hardly any = few; hardly ever
= rarely; scarcely any = few; barely any = few; almost no = few; almost no one = few; almost nobody = few;
almost none of = few; almost none = few; almost never = rarely; next to no = few; close to none = few;
very few = few; only a few = few; only few = few; just a few = few; quite a few = many; a few = some; a
couple of = some; a number of = some; a handful of = few; a small number of = few; a large number of =
many; a great deal of = many; a lot of = many; a lot = many; not many = few; not much = few; not often =
rarely; not all = NOTALL; not every = NOTALL; not everyone = NOTALL; not everybody = NOTALL; not
everything = NOTALL; not each = NOTALL; not always = NOTALL; not entirely = NOTALL; not fully = NOTALL;
not completely = NOTALL; not wholly = NOTALL; not both = NOTALL; not most = few; some of the = PART; some
of = PART; only part of = PART; parts of = PART; only some = PART; only some of = PART; but not all =
PART; apart from = except; other than = except; aside from = except; except for = except; with the
exception of = except; all but = except; at least = LEAST; no less than = LEAST; no fewer than = LEAST;
not less than = LEAST; not fewer than = LEAST; a minimum of = LEAST; minimum of = LEAST; no earlier than =
LEAST; at most = MOST_OF; no more than = MOST_OF; not more than = MOST_OF; up to = MOST_OF; a maximum of =
MOST_OF; maximum of = MOST_OF; no later than = MOST_OF; at the most = MOST_OF; not exceed = MOST_OF; more
than # = ABOVE #; greater than # = ABOVE #; higher than # = ABOVE #; over # = ABOVE #; above # = ABOVE #;
exceeds # = ABOVE #; exceeded # = ABOVE #; in excess of # = ABOVE #; less than # = BELOW #; fewer than # =
BELOW #; lower than # = BELOW #; under # = BELOW #; below # = BELOW #; only # = #; just # = #; some # = #;
all # = #; almost # = #; nearly # = #; roughly # = #; go up = rise; goes up = rise; going up = rise; went
up = rose; gone up = rose; go down = fall; goes down = fall; going down = fall; went down = fell; gone
down = fell; come down = fall; came down = fell; scaled up = increased; scaled down = decreased; on the
rise = rise; on the decline = fall; get better = improve; gets better = improve; got better = improved;
became better = improved; getting better = improve; get worse = worsen; gets worse = worsen; got worse =
worsened; became worse = worsened; getting worse = worsen; getting longer = grow; getting shorter =
shrink; getting bigger = grow; getting smaller = shrink; became weaker = weakened; became stronger =
strengthened; turned down = rejected; called off = cancelled; put off = postponed; rolled out = deployed;
roll out = deploy; rolled back = reverted; roll back = revert; switched on = ON; turned on = ON; powered
on = ON; switched off = not ON; turned off = not ON; powered off = not ON; shut down = stopped; shuts down
= stop; took place = happened; takes place = happen; carried out = performed; carry out = perform; found
out = discovered; looked into = investigated; set up = installed; gave up = abandoned; handed over =
delivered; paid back = repaid; is up . = UP; is down . = not UP; is on . = ON; is off . = not ON; was up .
= UP; was down . = not UP; was on . = ON; was off . = not ON; are up . = UP; are down . = not UP; are on .
= ON; are off . = not ON; were up . = UP; were down . = not UP; were on . = ON; were off . = not ON; be up
. = UP; be down . = not UP; be on . = ON; be off . = not ON; been up . = UP; been down . = not UP; been on
. = ON; been off . = not ON; went off . = not ON; still up . = UP; still down . = not UP; still on . = ON;
still off . = not ON; not up . = not UP; not down . = UP; not on . = not ON; not off . = ON; in plain text
= unencrypted; in plaintext = unencrypted; in clear text = unencrypted; read only = readonly; not writable
= readonly; on time = punctual; in time = punctual; by accident = accidentally; by mistake = accidentally;
by chance = accidentally; on purpose = deliberately; by hand = manually; logged in = logged_in; logged out
= logged_out; logged off = logged_out; signed in = logged_in; signed out = logged_out; daily = per day;
weekly = per week; monthly = per month; hourly = per hour; annually = per year; united states of america =
usa; united states = usa; the states = usa; united kingdom = uk; great britain = uk; high temperature =
fever; in sync = sync; per cent = percent; per annum = per year;
"""
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


PHRASES: Final = _by_opening(_TABLE)
"""By their first word and their second (empty: any), the longest first."""


def rewritten(texts: list[str]) -> list[str]:
    """Phrases become what they mean."""
    if PHRASES.keys().isdisjoint(texts):
        return texts
    found: list[str] = []
    place = 0
    while place < len(texts):
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


def _openings(texts: list[str], place: int) -> list[Phrase]:
    by_second = PHRASES.get(texts[place])
    if by_second is None:
        return []
    then = texts[place + 1] if place + 1 < len(texts) else "."
    return by_second.get(then, []) + by_second.get("", [])


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
