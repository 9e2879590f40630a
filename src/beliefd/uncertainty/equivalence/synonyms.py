"""Words that mean the same in nearly every answer. The first of a row stands for all of them."""

from typing import Final

_ROWS: Final = """
reduce lower decrease diminish cut drop lessen decline fall shrink dwindle plummet plunge sink slump dip
increase raise rise grow elevate climb boost heighten surge soar jump hike
improve better enhance
begin start commence launch initiate
end finish conclude terminate complete
stop halt cease
big large huge great enormous massive sizeable
small little tiny minor
quick fast rapid swift speedy
slow sluggish
film movie
car automobile vehicle
doctor physician dr
child kid
usa us america
uk britain
medicine drug medication
buy purchase acquire
make produce create generate
show demonstrate reveal indicate
allow permit let
forbid prohibit ban
old aged ancient
january jan
february feb
march mar
april apr
june jun
july jul
august aug
september sep sept
october oct
november nov
december dec
monday mon
tuesday tue tues
wednesday wed
thursday thu thurs
friday fri
saturday sat
sunday sun
sick ill unwell
cause trigger provoke induce
win victory
help aid assist
company firm business corporation enterprise
delete remove erase
email mail
repair fix mend
restart reboot
wash clean
share stock
error mistake
bug defect flaw
crash collapse
happen occur
notice spot
check verify inspect examine
investigate probe
hurt injured wounded injure wound
answer reply respond response
ask enquire inquire
choose select pick
close shut
correct right accurate
success successful succeed pass
find discover locate detect
get obtain receive
give provide supply
keep retain maintain
leave depart
let allow
need require
need necessary
alive living live
purpose aim goal
send transmit dispatch
speak talk
steal stolen theft
tell inform notify
try attempt
use utilise utilize employ
whole entire
worker employee
boring dull tedious
based headquartered headquarters seated
update patch
deploy rollout
outage downtime
server machine host
refuse reject decline deny
admin administrator
config configuration
database db
doc document
info information
app application
repo repository
temp temperature
buggy faulty
hacker attacker intruder
breach compromise
safe secure
risky dangerous hazardous
inhabitant resident
population inhabitant
long lengthy
colour color
centre center
grey gray
litre liter
metre meter
tyre tire
tumour tumor
programme program
postpone delay defer
cancel scrap abandon
wrong incorrect erroneous
able capable
hard difficult tough
simple easy
rich wealthy
poor impoverished
brave courageous
smart clever intelligent
angry furious
happy glad pleased
sad unhappy
scared afraid frightened
cheap inexpensive
expensive costly pricey
build construct construction
destroy demolish wreck
teach instruct
border neighbour
approximately roughly circa
weak feeble
strong powerful
rain rainfall
student pupil
lawyer attorney
plane aircraft airplane
bicycle bike
phone telephone
photo photograph picture
sofa couch
trip journey
street road
shop store
city town
candy sweets
wage salary
strange weird
sweets candies
baby infant
illness disease sickness
surgery operation
dose dosage
tablet pill
heart cardiac
kidney renal
liver hepatic
lung pulmonary
profit earnings
revenue turnover
staff personnel
rule regulation
law statute
court tribunal
sue litigate
rob steal
"""
SAME: Final[dict[str, str]] = {}
for _row in _ROWS.strip().splitlines():
    _first, *_others = _row.split()
    _head = SAME.get(_first, _first)
    for _word in (_first, *_others):
        SAME.setdefault(_word, _head)
