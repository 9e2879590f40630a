"""Opposites. Two answers that differ by a pair of them do not say the same.

COMPLEMENTS leave nothing between them, so that `not open` is `closed`. CONTRARIES do: what did not rise need
not have fallen. CONVERSES tell one thing from two ends: Ann is taller than Ben, Ben is shorter than Ann.
Of an EXCLUSIVE group only one can hold. Words are given in their plain form; forms of them are found by stem.
"""

from typing import Final

from beliefd.uncertainty.equivalence.tables import rows

COMPLEMENTS: Final = rows("""
open close; enable disable; pass fail; succeed fail; success failure; accept reject; accept refuse; accept
decline; approve reject; grant deny; grant refuse; allow deny; allow forbid; allow block; permit block;
allow prevent; true false; dead alive; dead live; present absent; healthy sick; legal illegal; possible
impossible; safe dangerous; safe risky; guilty innocent; ON OFF; UP DOWN; online offline; public private;
mandatory optional; include exclude; remember forget; obey violate; win lose; correct wrong; internal
external; available unavailable; active idle; lock unlock; connect disconnect; attach detach; exist lack;
encrypt unencrypt; readonly writable; complete partial; temporary permanent; malicious benign; cancerous
benign; malignant benign; occupied vacant; married single; conscious unconscious; awake asleep; even odd;
confirm deny; admit deny; match differ; same different; keep discard; real fake; genuine fake; genuine
forged; solvent bankrupt; profitable unprofitable; intact damaged; working broken; stable unstable;
harmful harmless; useful useless; sober drunk; pregnant barren; heed ignore; fast slow; quick slow; hard
easy; difficult easy; simple complex; simple complicated; clean dirty; polite rude; careful careless;
visible hidden; admit exclude; admit bar; respect ignore; keep lose; approve decline; approve refuse;
approve deny; survive die; proven unproven; manual automatic; manually automatically; known unknown;
synchronous asynchronous;
""")
CONTRARIES: Final = rows("""
allergic tolerate; increase decrease; rise fall; grow shrink; improve worsen; begin end; start stop; big
small; hot cold; warm cool; high low; up down; left right; above below; over under; in out; inside
outside; into outof; better worse; best worst; more less; more fewer; most least; positive negative;
strong weak; strengthen weaken; early late; earlier later; north south; east west; northern southern;
eastern western; always never; male female; man woman; boy girl; import export; buy sell; rich poor; young
old; new old; maximum minimum; first last; first final; acid base; add remove; add subtract; insert
delete; create delete; create destroy; upload download; push pull; send receive; give take; lend borrow;
gain lose; loss gain; loss profit; profit deficit; surplus deficit; raise lower; ascend descend; climb
sink; tight loose; tighten loosen; forward backward; forwards backwards; deep shallow; long short; tall
short; wide narrow; thick thin; heavy light; dark light; dark bright; hard soft; cheap expensive; wet dry;
full empty; sharp blunt; smooth rough; near far; close distant; love hate; like dislike; friend enemy;
ally enemy; peace war; attack defend; help hinder; cause prevent; cause cure; save waste; save spend; earn
spend; expand contract; accelerate slow; accelerate decelerate; hire fire; join leave; enter leave; enter
exit; arrive depart; arrive leave; build destroy; build demolish; repair break; fix break; heal hurt; heal
harm; benefit harm; advantage disadvantage; optimistic pessimistic; happy sad; happy unhappy; glad sorry;
calm angry; brave afraid; brave cowardly; generous stingy; careful reckless; wise foolish; clever stupid;
smart stupid; good bad; good evil; beautiful ugly; noisy quiet; loud quiet; busy idle; crowded empty;
fresh stale; raw cooked; ripe rotten; sweet sour; sweet salty; sweet bitter; acute chronic; mild severe;
minor major; critical harmless; optional required; upper lower; top bottom; front rear; front back;
ancient modern; rural urban; solid liquid; majority minority; plus minus; credit debit; asset liability;
bull bear; bullish bearish; overweight underweight; upgrade downgrade; tachycardia bradycardia;
hypertension hypotension; hypoglycemia hyperglycemia; dilate constrict; contract relax; inhale exhale;
overdue early; resolve escalate; promote demote; praise criticise; praise criticize; support oppose;
favour oppose; for against; attract repel; appear disappear; appear vanish; expose conceal; reveal hide;
reveal conceal; show hide; restart stop; commit abort; commit rollback; deploy revert; install uninstall;
mount unmount; encrypt decrypt; compress expand; overload idle; escalate deescalate; true fabricated; from
until; during after; during before; while after; freeze overheat; freeze melt; float sink; finish begin;
finish start; close start; run stop; stop continue; stop resume; pause resume; hold release; arrest
release; acquit convict; punish reward; defend abandon; tighten ease; rally slump; surge plunge; surge
slump; soar plunge; success disaster; hit miss; sign veto; cold hot; recover die; recover deteriorate;
recover worsen; improve deteriorate; live die; born die; daily weekly; trust doubt; trust suspect; believe
doubt; certain doubtful; likely doubtful; today yesterday; today tomorrow; yesterday tomorrow; this next;
this last; next last; next previous; current previous; former current; dawn dusk; sunrise sunset; slim
fat; lean fat; adult child; parent child; winner loser; victory defeat; innocent culpable; lock release;
vertical horizontal; clockwise counterclockwise; clockwise anticlockwise; inbound outbound; incoming
outgoing; upstream downstream; hourly daily; less greater; lower higher; inflate deflate; dense sparse;
transparent opaque; public secret; shorten prolong; shorten extend; within outside; in outside; use
ignore; confirm exclude; thin wide; past15 to15; past30 to30; inside beyond; within beyond; public
confidential; ahead behind; widen narrow; lengthen shorten; brighten darken; harden soften; heat cool;
warm chill; punctual late; punctual delay; accidentally deliberately; accidental deliberate; join left;
enter left; arrive left; stay left; unanimous divide; unite divide; beat miss; uphold dismiss; uphold
overturn; affirm overturn; affirm reverse; sustain overrule; detain release; jail free; comply violate;
exceed miss; log skip; retain discard; retain delete; eager reluctant; willing reluctant; shrink widen;
scarce abundant; shortage surplus; shortage glut; broad narrow; flexible rigid; elastic rigid; explicit
implicit; abstract concrete; domestic foreign; amateur professional; civil military; junior senior;
inferior superior; interior exterior; maximise minimise; maximize minimize; optimal worst; odd even; past
future; permit forbid; pro con; pull push; refuse agree; seldom often; separate together; serial parallel;
static dynamic; subtract add; tame wild; thaw freeze; vague precise; vacant occupied; wax wane; wholesale
retail; worthless valuable; lenient strict; loyal treacherous; blunt sharp; humid dry; dull bright;
fertile barren; humble proud; innocent guilty; lend return; logged_in logged_out; voluntary forced; win
defeat; gradual sudden; gradually suddenly; slowly quickly; local remote; direct indirect; plaintext
encrypted; deliver drop; fill drain; compress inflate; shrink inflate; own share; now later; now formerly;
now soon; now tomorrow; now yesterday; confident unsure; certain unsure; accept oppose; hire dismiss; hire
quit; crash recover; crash start; withhold release; ignite extinguish; record omit; mention omit;
accelerate delay; single several; win crash; tolerate forbid; join withdraw; reveal omit; unencrypted
encrypted; new existing; lit out; warm cold; cool hot;
departure arrival;
""")
CONVERSES: Final = rows("""
tall short; big small; large small; high low; more less; more fewer; above below; over under; fast slow;
old young; heavy light; strong weak; long short; better worse; rich poor; early late; earlier later; buy
sell; send receive; lend borrow; give receive; parent child; precede follow; win lose; beat lose; teach
learn; own belong; deep shallow; wide narrow; expensive cheap; north south; east west; left right; hot
cold; warm cool; greater less; higher lower; upstream downstream; employ work; import export; include
belong; contain inside; ahead behind; lead follow; lead trail; host guest; supervise report; outrank
serve;
""")
EXCLUSIVE: Final = rows("""
monday tuesday wednesday thursday friday saturday sunday; january february march april maymonth june july
august september october november december; spring summer autumn winter; morning noon afternoon evening
night midnight midday; red orange yellow green blue purple violet pink brown black white grey silver
golden; north south east west northeast northwest southeast southwest; staging production development
sandbox preproduction prod dev qa canary; primary secondary tertiary replica standby; leader follower;
master slave; client server; producer consumer; reader writer; read write; input output; frontend backend;
low medium high critical; debug info warning error fatal; get post put patch head options; tcp udp icmp;
http https ftp ssh; ipv4 ipv6; linux windows macos android ios; cpu gpu memory disk network; solid liquid
gas plasma; heart liver kidney lung brain stomach pancreas spleen; arm leg knee elbow ankle wrist shoulder
hip foot hand head neck back chest abdomen finger toe eye ear nose; virus bacterium fungus parasite; viral
bacterial fungal parasitic; father mother; son daughter; brother sister; husband wife; uncle aunt; king
queen; he she; nephew niece; stock bond; dollar euro pound yen; equity debt; revenue profit cost; gold
silver bronze copper iron steel aluminium; breakfast lunch dinner supper; dog cat horse cow pig sheep goat
bird fish; violin cello piano guitar flute trumpet drum; car train plane bus ship bicycle boat; tea coffee
water wine beer milk juice; apple pear banana orange cherry plum grape; mercury venus earth mars jupiter
saturn uranus neptune; buyer seller; plaintiff defendant; landlord tenant; teacher student; employer
employee; doctor nurse patient; judge jury; author reader; sender recipient; lender borrower; winner
loser; attacker victim; predator prey; supplier customer; professor student; sister cousin aunt mother;
wheat barley rye oats rice maize; kitchen bathroom bedroom garage cellar attic; jpeg png gif svg; chrome
firefox safari edge; python java rust ruby perl php; mysql postgres oracle sqlite mongodb redis; aws azure
gcp; pneumonia bronchitis asthma copd; tumour cyst polyp; aspirin ibuprofen paracetamol; approved reviewed
drafted signed; deleted archived encrypted; repaired replaced; stolen copied; vaccinated infected; guitar
banjo viola violin; engine gearbox brake; keyboard mouse monitor; swelling bruising bleeding; hired
interviewed; germany france italy spain; berlin munich hamburg; monthly weekly; tokyo osaka kyoto; copper
zinc tin lead nickel; oil gas coal; fever cough rash headache; injection tablet capsule ointment; router
switch firewall; http dns dhcp smtp; nominal real; gross net; fixed variable floating; quarterly monthly
yearly weekly daily hourly annual; phishing ransomware ddos malware spyware; confidentiality integrity
availability; authentication authorisation; oral intravenous topical rectal; type1 type2; asia africa
europe america australia antarctica; alpha beta gamma delta epsilon; systolic diastolic; arterial venous;
artery vein; hardware software firmware; hour day week month year; latency throughput; compile runtime;
unit integration; add drop replace; mayor governor president;
""")
