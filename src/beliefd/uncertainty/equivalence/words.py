"""The small vocabulary of reading: what says nothing, which forms belong together, what is opposite."""

from functools import lru_cache
from typing import Final

from beliefd.uncertainty.equivalence import antonyms
from beliefd.uncertainty.equivalence.synonyms import SAME


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ARTICLES: Final = _set("a an the")
STOP: Final = ARTICLES | _set(
    "of in on at to for with by as from into onto it its he she they them him her his hers their this that "
    "these those there is are was were be been being am do does did done has have had will would can shall "
    "and or but so than then also very just about really quite rather which who whom whose what when where "
    "i we you our your my me us answer called known named located think believe say says said until during "
    "before after because while over under above below between through against within anything anybody anyone anywhere if unless since "
    "although though however whereas both either whether up down out off again still already yet even too "
    "any something somebody someone somewhere itself himself herself themselves one ones well now please "
    "approximately roughly circa around became become becomes got gets getting remains remain remained "
    "version release corp inc ltd mr mrs ms definitely certainly surely "
    "indeed actually simply currently presently such only FUTURE WOULD"
)
BE: Final = _set("is are was were be been am being")
PRONOUNS: Final = _set("it this that he she they")
WITH_IS: Final = PRONOUNS | _set("there here what who where how")
VERB_FORMS: Final = BE | _set(
    "has have had does do did will can became becomes made makes won wrote invented born died"
)
YES: Final = _set("yes yeah yep correct true indeed right affirmative agreed")
NO: Final = _set("no nope false incorrect wrong negative disagreed")
NON_ANSWERS: Final = frozenset({
    "i do not know", "do not know", "not sure", "unknown", "no idea", "can not say", "i not sure", "i am not sure",
    "no answer", "not known", "can not answer", "i have no idea", "do not know answer", "i do not know answer",
    "not certain", "i can not say",
})  # fmt: skip
QUALIFIERS: Final = _set(
    "south north east west southern northern eastern western new great lower upper inner outer "
    "anti non un ex vice former"
)
PIVOTS: Final = _set(
    "from to than before over under above below against into onto on in for with until through via at behind "
    "beside then INSTEAD"
)
"""Between two things they say which is which: `from a to b`."""
WHO: Final = {
    "he": "HE", "him": "HE", "his": "HE", "she": "SHE", "her": "SHE", "hers": "SHE", "i": "I", "me": "I",
    "we": "WE", "us": "WE", "they": "THEY", "them": "THEY",
}  # fmt: skip
"""Pronouns count where it matters who did what."""
BOUNDARIES: Final = _set(
    ", . ; but although though while whereas however because if unless when before after since until then "
    "INSTEAD and or"
)
SYMMETRIC: Final = _set(
    "married marry marries meets meet met equals equal same differs differ different border borders bordered "
    "adjacent similar sibling siblings cousins twins collided collide merged compatible incompatible between "
    "neighbour neighbours agree agrees disagree disagrees synonymous identical resembles resemble next"
)
"""Where one of them stands it does not matter who is named first."""

_ENDINGS: Final = ("ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "ly", "e")
_FORMS: Final = """
fall fell fallen; rise rose risen; grow grew grown growth; begin began begun; win won; lose lost loss losses;
make made; buy bought; sell sold; child children; die died dying; dead deadly; fewer fewer; less less; lead led;
show shown; break broke broken; choose chose chosen; do done; draw drew drawn; drink drank drunk; drive drove driven;
eat ate eaten; feel felt; fight fought; find found; fly flew flown; forget forgot forgotten; freeze froze frozen;
get got gotten; give gave given; go went gone; hang hung; hear heard; hide hid hidden; hold held; keep kept;
know knew known; leave left; lend lent; lie lay lain; mean meant; meet met; pay paid; put put; read read;
ride rode ridden; ring rang rung; run ran running; see saw seen; seek sought; send sent; shake shook shaken;
shrink shrank shrunk; shut shut; sing sang sung; sink sank sunk; sit sat; sleep slept; speak spoke spoken;
spend spent; stand stood; steal stole stolen theft; strike struck; swim swam swum; take took taken; teach taught;
tear tore torn; tell told; think thought; throw threw thrown; understand understood; wear wore worn; write wrote
written; bite bit bitten; blow blew blown; bring brought; build built; catch caught; come came; cost cost; deal dealt;
man men; woman women; foot feet; mouse mice; person people; analysis analyses; index indices indexes; bacterium
bacteria; fungus fungi; worsen worse; improve better; decide decision; approve approval; refuse refusal; arrive
arrival; replace replacement; lie lied lying; vertex vertices; wolf wolves; knife knives; life lives; half halves;
tighten tight tighter; loosen loose looser; strengthen strong stronger; weaken weak weaker; big bigger biggest;
high higher highest height; low lower lowest; tall taller tallest; short shorter shortest; long longer longest;
fast faster fastest; slow slower slowest; old older oldest; young younger youngest; heavy heavier heaviest weight;
small smaller smallest; cheap cheaper cheapest; large larger largest; great greater greatest; hot hotter hottest;
cold colder coldest; warm warmer warmest; early earlier earliest; late later latest; deep deeper deepest; wide wider
widest; narrow narrower; rich richer richest; poor poorer poorest; hard harder hardest; easy easier easiest;
success success; access access; bus buses; gas gases; process process processes; series series; news news;
business business businesses; virus viruses; status status; address address addresses; less lesser; loss lossy;
overload overloaded; control controlled controlling; travel travelled; cancel cancelled canceled; label labelled;
install installed installing installation; fulfil fulfilled; expel expelled; call called calling; kill killed;
fill filled; pull pulled; sell selling; tell telling; spell spelled spelling; roll rolled rolling; pass passed
passes passing; miss missed; press pressed pressing; discuss discussed; cross crossed; assess assessed; process
processed processing; bless blessed; dismiss dismissed; confess confessed; witness witnesses; stress stressed;
use used using uses; cause caused causing causes; close closed closing; lose losing; rise rising; raise raised
raising; purchase purchased; release released; increase increased increasing; decrease decreased decreasing;
uphold upheld; withhold withheld; withdraw withdrew withdrawn; overtake overtook overtaken; undergo underwent
undergone; mislead misled; overthrow overthrew; undo undid undone; swear swore sworn; shoot shot; sting stung; spread
spread; split split; spring sprang; slide slid; creep crept; bind bound; bend bent; bet bet; burst burst; cling clung;
forbid forbade forbidden; forgive forgave forgiven; lay laid; light lit; quit quit; set set; shine shone; shed shed;
spin spun; sweep swept; weep wept; exceed exceeded;see seeing; be being; agree agreed agreeing; free freed; see sees; flee fled; die dies; tie tied; live lived living;
"""
_IRREGULAR: Final[dict[str, str]] = {}
for _row in _FORMS.replace("\n", " ").split(";"):
    for _form in _row.split():
        _IRREGULAR.setdefault(_form, _row.split()[0])
# Words that are an adjective or noun of their own before they are a form of a verb.
for _word in ("left", "lower", "used", "better", "dying", "weight", "height", "tight", "loose", "strong", "weak"):
    _IRREGULAR.pop(_word, None)
PAST_FORMS: Final = frozenset(
    "fell rose grew began won lost made bought sold died led broke chose drew drank drove ate felt fought found "
    "flew forgot froze got gave went hung heard hid held kept knew lent met paid rode rang ran saw sought sent "
    "shook shrank sang sank sat slept spoke spent stood stole struck swam took taught tore told threw understood "
    "wore wrote bit blew brought built caught came dealt done gone fled".split()
)


@lru_cache(16_384)
def stem(word: str) -> str:
    """A word without its ending; rough, and the same for every form of a word most of the time."""
    base = _IRREGULAR.get(word)
    if base is not None:
        return SAME_STEMS.get(base) or SAME_STEMS.get(_cut(base), _cut(base))
    if word not in SAME_STEMS and word.endswith(("er", "est")):
        word = _positive(word)
    cut = _cut(word)
    return SAME_STEMS.get(word) or SAME_STEMS.get(cut, cut)


def _cut(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            cut = word[: -len(ending)]
            return cut + "y" if ending in ("ied", "ies") else _undoubled(cut, ending)
    return word


def _positive(word: str) -> str:
    """heavier and heaviest as heavy, where the plain form is known."""
    if word in _KNOWN:
        return word
    base = word[:-2] if word.endswith("er") else word[:-3]
    found = (base, base + "e", base[:-1] + "y", base[:-1])
    return next((one for one in found if one in _KNOWN and len(one) > 2), word)


def _undoubled(cut: str, ending: str) -> str:
    doubled = ending in ("ing", "ings", "ed") and cut[-1] == cut[-2:-1] and cut[-1] not in "ls"
    return cut[:-1] if doubled else cut


_KNOWN: Final = frozenset(
    word
    for table in (antonyms.COMPLEMENTS, antonyms.CONTRARIES, antonyms.CONVERSES, antonyms.EXCLUSIVE)
    for row in table
    for word in row.split()
)
SAME_STEMS: Final = {form: _cut(head) for word, head in SAME.items() for form in (word, _cut(word))}


def _opposites(*tables: tuple[str, ...]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for row in (row for table in tables for row in table):
        stems = [stem(word) for word in row.split()]
        for one in stems:
            found.setdefault(one, set()).update(other for other in stems if other != one)
    return {one: frozenset(others) for one, others in found.items()}


COMPLEMENTS: Final = _opposites(antonyms.COMPLEMENTS)
CONVERSES: Final = _opposites(antonyms.CONVERSES)
CONTRARIES: Final = _opposites(antonyms.CONTRARIES, antonyms.EXCLUSIVE)
OPPOSED: Final = CONTRARIES.keys() | COMPLEMENTS.keys() | CONVERSES.keys()
PARTICLES: Final = {
    word: stem(word)
    for word in "from until in out over under above below during before after while within up down for against this next last first final".split()
}
"""Small words that say nothing alone, and are opposites all the same."""
