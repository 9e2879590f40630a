"""Forms of words that no rule derives: the plain form first."""

from typing import Final

from beliefd.uncertainty.equivalence.tables import listed, rows, word_set

_FORMS: Final = rows("""
fall fell fallen; rise rose risen; grow grew grown growth; begin began begun; win won; lose lost loss
losses; make made; buy bought; sell sold; child children; die died dying; dead deadly; fewer fewer; less
less; lead led; show shown; break broke broken; choose chose chosen; do done; draw drew drawn; drink drank
drunk; drive drove driven; eat ate eaten; feel felt; fight fought; find found; fly flew flown; forget
forgot forgotten; freeze froze frozen; get got gotten; give gave given; go went gone; hang hung; hear
heard; hide hid hidden; hold held; keep kept; know knew known; leave left; lend lent; lie lay lain; mean
meant; meet met; pay paid; put put; read read; ride rode ridden; ring rang rung; run ran running; see saw
seen; seek sought; send sent; shake shook shaken; shrink shrank shrunk; shut shut; sing sang sung; sink
sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; stand stood; steal stole stolen theft;
strike struck; swim swam swum; take took taken; teach taught; tear tore torn; tell told; think thought;
throw threw thrown; understand understood; wear wore worn; write wrote written; bite bit bitten; blow blew
blown; bring brought; build built; catch caught; come came; cost cost; deal dealt; man men; woman women;
foot feet; mouse mice; person people; analysis analyses; index indices indexes; bacterium bacteria; fungus
fungi; worsen worse; improve better; decide decision; approve approval; refuse refusal; arrive arrival;
replace replacement; lie lied lying; vertex vertices; wolf wolves; knife knives; life lives; half halves;
tighten tight tighter; loosen loose looser; strengthen strong stronger; weaken weak weaker; big bigger
biggest; high higher highest height; low lower lowest; tall taller tallest; short shorter shortest; long
longer longest; fast faster fastest; slow slower slowest; old older oldest; young younger youngest; heavy
heavier heaviest weight; small smaller smallest; cheap cheaper cheapest; large larger largest; great
greater greatest; hot hotter hottest; cold colder coldest; warm warmer warmest; early earlier earliest;
late later latest; deep deeper deepest; wide wider widest; narrow narrower; rich richer richest; poor
poorer poorest; hard harder hardest; easy easier easiest; success success; access access; bus buses; gas
gases; process process processes; series series; news news; business business businesses; virus viruses;
status status; address address addresses; less lesser; loss lossy; overload overloaded; control controlled
controlling; travel travelled; cancel cancelled canceled; label labelled; install installed installing
installation; fulfil fulfilled; expel expelled; call called calling; kill killed; fill filled; pull
pulled; sell selling; tell telling; spell spelled spelling; roll rolled rolling; pass passed passes
passing; miss missed; press pressed pressing; discuss discussed; cross crossed; assess assessed; process
processed processing; bless blessed; dismiss dismissed; confess confessed; witness witnesses; stress
stressed; use used using uses; cause caused causing causes; close closed closing; lose losing; rise
rising; raise raised raising; purchase purchased; release released; increase increased increasing;
decrease decreased decreasing; uphold upheld; withhold withheld; withdraw withdrew withdrawn; overtake
overtook overtaken; undergo underwent undergone; mislead misled; overthrow overthrew; undo undid undone;
swear swore sworn; shoot shot; sting stung; spread spread; split split; spring sprang; slide slid; creep
crept; bind bound; bend bent; bet bet; burst burst; cling clung; forbid forbade forbidden; forgive forgave
forgiven; lay laid; light lit; quit quit; set set; shine shone; shed shed; spin spun; sweep swept; weep
wept; exceed exceeded; see seeing; be being; agree agreed agreeing; free freed; see sees; flee fled; die
dies; tie tied; live lived living;
""")
IRREGULAR: Final[dict[str, str]] = {}
for _row in _FORMS:
    for _form in _row.split():
        IRREGULAR.setdefault(_form, _row.split()[0])
# Words that are an adjective or noun of their own before they are a form of a verb.
for _word in listed("left lower used better dying weight height tight loose strong weak"):
    IRREGULAR.pop(_word, None)
PAST_FORMS: Final = word_set(
    "fell rose grew began won lost made bought sold died led broke chose drew drank drove ate felt "
    "fought found flew forgot froze got gave went hung heard hid held kept knew lent met paid rode rang "
    "ran saw sought sent shook shrank sang sank sat slept spoke spent stood stole struck swam took "
    "taught tore told threw understood wore wrote bit blew brought built caught came dealt done gone "
    "fled"
)
