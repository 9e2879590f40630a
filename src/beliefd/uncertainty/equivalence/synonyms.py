"""Words that mean the same in nearly every answer. The first of a row stands for all of them."""

from typing import Final

from beliefd.uncertainty.equivalence.tables import rows

_ROWS: Final = """
sleep asleep; reduce lower decrease diminish cut drop lessen decline fall shrink dwindle plummet plunge
sink slump dip descend; increase raise rise grow elevate climb boost heighten surge soar jump hike ascend;
use usage; now currently presently; formerly previously; accelerate speed hasten; improve better enhance;
begin start commence launch initiate; end finish conclude terminate complete; stop halt cease; big large
huge great enormous massive sizeable; small little tiny minor; quick fast rapid swift speedy; slow
sluggish; film movie; car automobile vehicle; doctor physician dr; child kid; usa us america; uk britain;
medicine drug medication; buy purchase acquire; make produce create generate; show demonstrate reveal
indicate; allow permit let; forbid prohibit ban; old aged ancient; january jan; february feb; march mar;
april apr; june jun; july jul; august aug; september sep sept; october oct; november nov; december dec;
monday mon; tuesday tue tues; wednesday wed; thursday thu thurs; friday fri; saturday sat; sunday sun;
sick ill unwell; cause trigger provoke induce; win victory; help aid assist; company firm business
corporation enterprise; delete remove erase; email mail; repair fix mend; restart reboot; wash clean;
share stock; error mistake; bug defect flaw; crash collapse; happen occur; notice spot; check verify
inspect examine; investigate probe; hurt injured wounded injure wound; answer reply respond response; ask
enquire inquire; choose select pick; close shut; correct right accurate; success successful succeed pass;
find discover locate detect; get obtain receive; give provide supply; keep retain maintain; leave depart;
let allow; need require; need necessary; alive living live; purpose aim goal; send transmit dispatch;
speak talk; steal stolen theft; tell inform notify; try attempt; use utilise utilize employ; whole entire;
worker employee; boring dull tedious; based headquartered headquarters seated; deploy rollout; outage
downtime; refuse reject decline deny; admin administrator; config configuration; database db; doc
document; info information; app application; repo repository; temp temperature; buggy faulty; hacker
attacker intruder; breach compromise; safe secure; risky dangerous hazardous; inhabitant resident;
population inhabitant; long lengthy; colour color; centre center; grey gray; litre liter; metre meter;
tyre tire; tumour tumor; programme program; postpone delay defer; cancel scrap abandon; wrong incorrect
erroneous; able capable; hard difficult tough; simple easy; rich wealthy; poor impoverished; brave
courageous; smart clever intelligent; angry furious; happy glad pleased; sad unhappy; scared afraid
frightened; cheap inexpensive; expensive costly pricey; build construct construction; destroy demolish
wreck; teach instruct; border neighbour; approximately roughly circa; weak feeble; strong powerful; rain
rainfall; student pupil; lawyer attorney; plane aircraft airplane; bicycle bike; phone telephone; photo
photograph picture; sofa couch; trip journey; street road; shop store; city town; candy sweets; wage
salary; strange weird; sweets candies; baby infant; illness disease sickness; surgery operation; dose
dosage; tablet pill; heart cardiac; kidney renal; liver hepatic; lung pulmonary; profit earnings; revenue
turnover; staff personnel; rule regulation; law statute; court tribunal; sue litigate; rob steal; customer
client; invoice bill; fire blaze; panel committee; advise counsel; vulnerability weakness; vendor
supplier; screen display; scared frightened; trash garbage rubbish; apartment flat; elevator lift;
vacation holiday; change modify alter; yearly annual annually; pavement sidewalk; breached compromised
hacked; discover uncover; conceal hide; shatter smash; death demise; quit resign; rent lease; footage
video; drunk intoxicated; boss manager supervisor; leak disclose; expose reveal; password credential;
website site; agreement contract; furious enraged; packed crowded overcrowded; flee escape; eliminate
remove; evaluate assess; gather collect; grab seize; guard protect; hurry rush; idea notion; job
occupation; limit restrict; link connect; mend fix; mistake error fault; observe notice; odd unusual; part
component; plan scheme schedule timetable; predict forecast; price cost; promise pledge; prove confirm;
quiet silent; reach attain; refund reimburse; reject decline; remain stay; return revert; reward prize;
scan examine; secret confidential; simple straightforward; smell odour odor; sort kind type; source
origin; state condition; story tale; suggest propose; sum total; surprise astonish; tired exhausted
exhaust deplete; tool instrument; transport carry; trick deceive; trouble problem issue; understand grasp;
unite join; useful helpful; usual normal; wait await; warn alert; worry concern; write compose; yell
shout; zone area region; accident mishap; achieve accomplish; admit confess; affect impact; amount
quantity; annoy irritate; anxious nervous; arrest detain; attack assault; beautiful pretty; behaviour
behavior conduct; blame accuse; bleed haemorrhage hemorrhage; block obstruct; bright luminous; build
assemble; busy occupied; calm peaceful; celebrate commemorate; centre middle; choose opt; clear obvious
evident; clothes clothing garments; coast shore; complain grumble; consider regard; convert transform;
cook chef; cop policeman; copy duplicate; crazy mad insane; damage harm; deadly lethal fatal; decrypt
decipher; defend protect; describe depict; desire want wish; dirty filthy; disappear vanish; discuss
debate; dizzy lightheaded; donate contribute; drowsy sleepy; dry arid; earn gain; edge border; eat
consume; effect consequence; empty vacant; enemy foe; enormous gigantic; enough sufficient; entire
complete; error glitch; evidence proof; exam test; example instance; expand enlarge extend; expert
specialist; explain clarify; explode detonate; faithful loyal; famous renowned; farm ranch; fat obese;
feed nourish; fight battle; flood inundate; fog mist; follow pursue; food nourishment; foreign alien;
forest woods; forever eternally; fragile delicate; friend pal; frequent common; fun enjoyable; funny
amusing; garbage waste; garden yard; gigantic immense; goods merchandise; government administration; grave
serious severe; guess estimate; guest visitor; gun firearm; handle manage; harmful damaging; hole gap;
honest truthful; hug embrace; hungry starving; illegal unlawful illicit; legal lawful; imagine envision;
important significant; impossible unfeasible; income earnings; initial first; inquiry investigation;
install setup; instant immediate; instantly immediately; journalist reporter; joy delight; keen eager;
latest newest; laugh giggle; learn study; letter note; lonely isolated; look gaze; lorry truck; loud
noisy; luck fortune; luggage baggage; map chart; marriage wedding; meal dish; meeting conference; method
technique; mix blend; money cash funds; monitor supervise; movement motion; murder homicide; naked nude;
necessary essential; neglect ignore; network net; novel book; nurse carer; object item; ocean sea; offer
proposal; official formal; pain ache; parcel package; passenger traveller traveler; pause break; payment
remittance; peak summit; penalty fine; perform execute; period era; permission authorisation
authorization; petrol gasoline; piece fragment; pilot aviator; place location spot; player athlete; police
cops; poison toxin; polite courteous; pollute contaminate; port harbour harbor; possess own; preserve
conserve; prison jail; proper appropriate suitable; push shove; question query; rage fury; rare uncommon;
rash eruption; reason motive; recall remember; recover heal; rely depend; remote distant; repair restore;
replace substitute; request ask; reserve book; responsible liable; rest relax; restore recover; retire
withdraw; revenue sales; ride travel; ruin destroy; rumour rumor gossip; sailor seaman; scene setting;
seat chair; send forward; shake tremble; shift move migrate relocate; shiny glossy; ship vessel; shocked
stunned; shortage scarcity; shy timid; silly foolish; skill ability; smoke fume; soldier trooper; sorrow
grief; spread propagate; stare gaze; stone rock; storm tempest; stupid dumb; subway underground metro;
sufficient adequate; summary abstract; supper dinner; survive outlive; swelling oedema edema; hypertension
hypertonia; target goal; tax levy; tease mock; temporary provisional; tenant renter; thief burglar; tidy
neat; tired weary; tremor quake earthquake; trust confidence; vote ballot; vomit puke; wander roam; wealth
riches; weep cry; wild untamed; worker labourer laborer; wound injury; wreck ruin; yield produce; crack
fissure; crew team; leakage leak; rollback revert; mobile cellphone; hang freeze; throttle limit;
exfiltrate steal; plaintext cleartext; main principal chief; deliberately intentionally purposely
knowingly; deliberate intentional; accidentally inadvertently; accidental inadvertent; late delayed
overdue tardy; server host; dismiss sack; quit relinquish; hire recruit; tend nurse; submit file; begin
kickoff; object objection oppose; late belated; require demand; reset reinitialise reinitialize; bar
exclude; annul void nullify; verify validate; hang stall; overload saturate swamp; revoke rescind;
prohibit bar; freeze hang; corrupt garble; vague unclear; flawed defective; frequently often; immediately
promptly; merge combine; obtain acquire; disclose divulge; rescue save; ignite inflame; accumulate amass;
publish issue; encounter meet; ensure guarantee; malfunction misbehave; sufficient ample; unusual
abnormal; route path; folder directory; picture image; laptop notebook;
high height; long length; wide width; deep depth;
"""
_DEMONYMS: Final = """
france french; germany german; italy italian; spain spanish spaniard; england english; britain british;
scotland scottish; ireland irish; wales welsh; portugal portuguese; netherlands dutch; belgium belgian;
switzerland swiss; austria austrian; poland polish; denmark danish; sweden swedish; norway norwegian; finland
finnish; iceland icelandic; greece greek; turkey turkish; russia russian; ukraine ukrainian; hungary
hungarian; romania romanian; bulgaria bulgarian; serbia serbian; croatia croatian; america american; canada
canadian; mexico mexican; brazil brazilian; argentina argentinian argentine; chile chilean; peru peruvian;
colombia colombian; cuba cuban; china chinese; japan japanese; korea korean; india indian; pakistan pakistani;
vietnam vietnamese; thailand thai; indonesia indonesian; australia australian; egypt egyptian; israel israeli;
iran iranian; iraq iraqi; nigeria nigerian; kenya kenyan; ethiopia ethiopian; morocco moroccan; europe
european; asia asian; africa african;
"""
SAME: Final[dict[str, str]] = {}
for _row in rows(_ROWS + _DEMONYMS):
    _first, *_others = _row.split()
    _head = SAME.get(_first, _first)
    for _word in (_first, *_others):
        SAME.setdefault(_word, _head)
