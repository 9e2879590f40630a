"""Verbs of two words and the one word that says the same: `stepped down` is read as `resigned`.

The table has plain forms; the others are derived. The small word may stand behind the object: `rolled the
deploy back`. Some verbs only mean this of certain subjects: a server goes down, and so does a price.
"""

from typing import Final

from beliefd.uncertainty.equivalence.forms import IRREGULAR, PAST_FORMS
from beliefd.uncertainty.equivalence.tables import rows, word_set
from beliefd.uncertainty.equivalence.words import BOUNDARIES, VERB_FORMS

_TABLE: Final = rows("""
go up = rise; go down = fall; come down = fall; go on = continue; carry on = continue; keep on = continue;
put off = postpone; push back = postpone; call off = cancel; turn down = reject; throw out = dismiss; turn
on = enable; switch on = enable; power on = enable; turn off = disable; switch off = disable; power off =
disable; shut off = disable; shut down = stop; close down = close; take on = hire; lay off = dismiss; step
down = resign; stand down = resign; give up = quit; set up = install; set off = trigger; bring about =
cause; bring down = reduce; find out about = discover; find out = discover; look into = investigate; look
after = tend; take care of = tend; care for = tend; look for = seek; search for = seek; point out =
mention; roll out = deploy; roll back = revert; back out = withdraw; pull out = withdraw; drop out =
withdraw; carry out = perform; work out = solve; sort out = solve; figure out = solve; fill in = complete;
hand over = deliver; hand in = submit; hand out = distribute; give back = return; pay back = repay; send
back = return; come back = return; go back = return; get back = return; speed up = accelerate; slow down =
slow; cut down = reduce; scale up = increase; scale down = decrease; ramp up = increase; build up =
accumulate; pile up = accumulate; break down = malfunction; stop working = malfunction; cease working =
malfunction; quit working = malfunction; break out = erupt; blow up = explode; burn down = destroy; use up
= exhaust; run out of = exhaust; run out = expire; run into = encounter; come across = find; time out =
timeout; get rid of = remove; do away with = abolish; leave out = omit; rule out = exclude; take out =
remove; take away = remove; wipe out = destroy; pass away = die; pass out = faint; set free = release; go
under = sink; show up = arrive; turn up = arrive; hold up = delay; clean up = clean; tidy up = tidy; end
up = end; wind up = end; start up = start; boot up = boot; open up = open; lock up = lock; split up =
separate; sign up = register; write down = record; note down = record; put up with = tolerate; put out =
extinguish; tear down = demolish; pull down = demolish; knock down = demolish; fall apart = disintegrate;
move out = leave; fall through = fail; turn into = become; think over = consider; talk over = discuss; cut
off = disconnect; phase out = discontinue; step in = intervene; let in = admit; let through = admit; keep
out = exclude; fail over = failover; take place = happen; get better = improve; get worse = worsen; get
longer = grow; get shorter = shrink; get bigger = grow; get smaller = shrink; become better = improve;
become worse = worsen; become weaker = weaken; become stronger = strengthen; make sure = ensure; take part
in = join; stem from = arise; depend on = rely; rely on = rely; consist of = comprise; lead to = cause;
result in = cause; give rise to = cause; contribute to = contribute; deal with = handle; agree to =
accept; object to = oppose; hang up = freeze; lock up = freeze; fill up = fill; dry up = dry; free up =
free; move on = continue; catch fire = ignite; break into = burgle; bail out = rescue; buy out = acquire;
take off = depart; pick up = collect; hold back = withhold; stand for = mean; leave behind = abandon; look
at = examine; come to an end = end;
""")
_OF_SUBJECTS: Final = (
    (
        "go down = crash; fall over = crash; come up = start; come back up = recover; go offline = crash",
        "server service site website system host node network database db cluster app application platform "
        "region gateway backend api broker router replica machine instance pod container process daemon",
    ),
    ("go off = sound", "alarm siren bell buzzer pager alert horn"),
    ("drop = lose; cut out = lose; go dead = lose", "connection link call session signal line contact"),
)
_WHEN: Final = word_set(
    "at in on during after before since for when while because again twice today yesterday overnight"
)
"""What may follow a verb that has no object: `the host went down at noon`."""
_FIXED: Final = word_set("go come step stand run pass fall break look get depend rely consist stem object")
"""Their small word follows at once, or is another word."""
_GAP: Final = 4
"""So many words may stand between a verb and its small word."""
_OPENERS: Final = word_set("the a an his her its their our my your this that these those it them him us me")
_Row = tuple[tuple[str, ...], str]


def _forms() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for form, base in IRREGULAR.items():
        found.setdefault(base, []).append(form)
    return found


_IRREGULAR_FORMS: Final = _forms()


def _regular(verb: str, ending: str) -> str:
    if verb.endswith("e"):
        return verb[: -1 if ending == "ing" else None] + ("ing" if ending == "ing" else "d")
    if verb.endswith("y") and ending == "ed" and verb[-2] not in "aeou":
        return verb[:-1] + "ied"
    return verb + ending


def inflected(verb: str) -> dict[str, str]:
    """Every form of a verb, and whether it is its past (`ed`), its `ing` or its plain form (empty)."""
    double = verb + verb[-1]
    sibilant = verb.endswith(("s", "sh", "ch", "x", "o"))
    found = {verb: "", verb + ("es" if sibilant else "s"): ""}
    found |= {_regular(verb, "ing"): "ing", double + "ing": "ing"}
    others = [form for form in _IRREGULAR_FORMS.get(verb, ()) if form not in found]
    past = [form for form in others if not form.endswith(("ing", "s"))]
    return found | dict.fromkeys(past or [_regular(verb, "ed"), double + "ed"], "ed")


def _in_form(verb: str, ending: str) -> str:
    if not ending:
        return verb
    past = [form for form in _IRREGULAR_FORMS.get(verb, ()) if form in PAST_FORMS]
    return past[0] if ending == "ed" and past else _regular(verb, ending)


def _by_verb(table: tuple[str, ...]) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for row in table:
        left, right = (side.split() for side in row.split("="))
        for form, ending in inflected(left[0]).items():
            found.setdefault(form, []).append((tuple(left[1:]), _in_form(right[0], ending)))
    for several in found.values():
        several.sort(key=lambda one: -len(one[0]))
    return found


PHRASALS: Final = _by_verb(_TABLE)
_SEPARABLE: Final = frozenset(PHRASALS) - {form for verb in _FIXED for form in inflected(verb)}
_BY_SUBJECT: Final = {
    subject: _by_verb(rows(table)) for table, subjects in _OF_SUBJECTS for subject in subjects.split()
}


def in_one_word(texts: list[str]) -> list[str]:
    """Verbs of two words become one; each word is looked at once, with a few behind it."""
    if PHRASALS.keys().isdisjoint(texts) and _BY_SUBJECT.keys().isdisjoint(texts):
        return texts
    found: list[str] = []
    place = 0
    while place < len(texts):
        word = texts[place]
        own = _BY_SUBJECT.get(_singular(found[-1])) if found else None
        size, said = _found(own[word], texts, place, True) if own and word in own else (0, [])
        if not size and word in PHRASALS:
            size, said = _found(PHRASALS[word], texts, place, False)
        found += said if size else [word]
        place += size or 1
    return found


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") else word


def _found(several: list[_Row], texts: list[str], place: int, ends: bool) -> tuple[int, list[str]]:
    for particles, instead in several:
        behind = place + 1 + len(particles)
        if tuple(texts[place + 1 : behind]) == particles:
            if not ends or behind >= len(texts) or texts[behind] in BOUNDARIES or texts[behind] in _WHEN:
                return behind - place, [instead]
        elif not ends and len(particles) == 1 and (at := _apart(particles[0], texts, place)):
            return at + 1 - place, [instead, *texts[place + 1 : at]]
    return 0, []


def _apart(particle: str, texts: list[str], place: int) -> int:
    """Where the small word stands behind an object: at the end of what is said. 0 if it does not."""
    if texts[place] not in _SEPARABLE or place + 1 >= len(texts) or texts[place + 1] not in _OPENERS:
        return 0
    for at in range(place + 2, min(place + 2 + _GAP, len(texts))):
        if texts[at] == particle:
            return at if at + 1 >= len(texts) or texts[at + 1] in _ENDS else 0
        if texts[at] in BOUNDARIES or texts[at] in VERB_FORMS:
            return 0
    return 0


_ENDS: Final = BOUNDARIES | word_set("on in at to by for with from until last this next today yesterday")
