"""What a session was told, indexed: texts of the system and the user, results of tools with their records."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import UNSET, Struct

from beliefd.kernel.origin.bare import (
    agree,
    echoes,
    given_values,
    holds_one,
    how_written,
    is_bare,
    is_plain,
    wraps,
)
from beliefd.kernel.origin.facts import RANK, ObjectOrigin, Origin
from beliefd.kernel.origin.index import HOST, MAX_VALUE, Index, Place, Record, Wanted, wanted
from beliefd.kernel.origin.lexicon import Lexicon
from beliefd.kernel.origin.naming import Names, field_origin, leaves
from beliefd.kernel.origin.people import Bearers, has_namesake
from beliefd.kernel.origin.records import RecordReading, read_record
from beliefd.kernel.origin.results import fields, keys, parsed, records
from beliefd.kernel.origin.spelling import SINK_SHAPES, Shape, at_home, folded, name_words, shape_of
from beliefd.kernel.origin.tools import ToolInfo, Trade, goes_out, trade
from beliefd.kernel.origin.user import Said, read_said, speaks_of, together
from beliefd.kernel.values import Id, Object, Value

RECENT: Final = 5
"""So many of the user's last texts say what is asked for. Values are looked up in all of them."""
MAX_USED: Final = 10_000
MAX_FIELDS: Final = 20_000
"""Fields of one result that are indexed apart; what is beyond is text."""


class ContextItem(Value, frozen=True):
    """Something the session is told: a text of the system or the user, an address of the user's, a result."""

    kind: Literal["system", "user", "own_address", "result"]
    text: str = ""
    structured: Any = UNSET
    tool_id: Id | None = None
    args: Object = {}
    call_id: Id | None = None
    error: bool = False


class Found(Struct, frozen=True):
    """The best place a value stands in. `doubted`: a field that a stranger may have filled in."""

    origin: Origin
    place: Place | None = None
    doubted: bool = False


class Memory:
    """Grows with what it is told. A lookup takes the same time after ten results as after a thousand."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.said = Index(lexicon)
        self.told = Index(lexicon)
        self.heard = Index(lexicon)
        self.items = 0
        self.results = 0
        self.asked: list[Said] = []
        self.speech = self._heard_of("")
        self.counts: dict[str, int] = {}
        self.pending: dict[str, int] = {}
        self.used: dict[str, set[str]] = {}
        self.refused_sinks: set[str] = set()
        self.own_hosts: set[str] = set()
        self.named_orders = 0
        self.named_by: dict[str, set[str]] = {}
        self.bearers = Bearers(frozenset(lexicon.bears))
        self._names = Names(lexicon)

    def tell(self, item: ContextItem, tool: ToolInfo | None = None) -> None:
        """`tool` is what is known of the tool that gave a result; without it its name must do."""
        self.items += 1
        if item.kind == "user":
            self._tell_user(item.text)
        elif item.kind == "result":
            self._tell_result(item, tool or ToolInfo(tool_id=item.tool_id or "unknown"))
        else:
            record = Record(self.items, item.kind, "said")
            self.told.add(item.text, record, "", "text")
            if item.kind == "own_address" and "@" in item.text:
                self.own_hosts.add(folded(item.text).rpartition("@")[2].strip())

    def _tell_user(self, text: str) -> None:
        self.said.add(text, Record(self.items, "user", "said"), "", "text")
        one = self._heard_of(text)
        if one not in self.asked:
            self.asked = [*self.asked, one][-RECENT:]
            self.speech = together(self.asked)
            self._name_again(one)

    # The next three say the same of the same text or value, whatever else a session was told.

    def _heard_of(self, text: str) -> Said:
        return read_said(text, self.lexicon)

    def _parsed(self, text: str) -> Any:
        return parsed(text, self.lexicon)

    def _read_record(self, value: Any) -> RecordReading:
        """What a record holds; keys that are no names are texts in it."""
        said = [("", "text", key) for key in keys(value) if self._names.of(key).odd]
        leaves = [leaf for at, leaf in enumerate([*said, *fields(value)]) if at < MAX_FIELDS]
        return read_record(leaves, self._names, self.heard.things, self.lexicon)

    def _name_again(self, one: Said) -> None:
        """Records that were read before the user spoke of them."""
        for word in one.words:
            for place, _ in self.heard.found(word):
                if not place.record.named and place.record.how != "open":
                    place.record.named = speaks_of(self.speech, place.record, self.lexicon)
                    self._note_orders(place.record)

    def _tell_result(self, item: ContextItem, tool: ToolInfo) -> None:
        what = trade(tool, self.lexicon)
        self.results += 1
        self.counts[tool.tool_id] = self.counts.get(tool.tool_id, 0) + (not item.error)
        if self.pending.get(tool.tool_id):
            self.pending[tool.tool_id] -= 1
        self.use(tool.tool_id, [value for _, value in leaves(item.args)] if not item.error else [])
        structured = None if item.structured is UNSET else item.structured
        if item.error:
            how: Any = "open"
        else:
            how = self._how_read(item, tool) if what.reads else how_written(tool, self.lexicon)
        key_typed = how != "open" and self._typed_key(item.args)
        bare = how == "open" or is_bare(tool, item.args, self.lexicon)
        if bare or (structured is None and is_plain(tool, self.lexicon)):
            self._add_plain(item, tool, how, key_typed, bare=True)
            return
        if structured is None:
            structured = self._parsed(item.text)
            if holds_one(tool, self.lexicon) and not wraps(structured, item.args, self.lexicon):
                structured = None
        elif not agree(item.text, structured):
            structured = None
        if structured is None:
            self._add_plain(item, tool, how, key_typed)
            return
        found = records(structured)
        whose = [self._of_spoken_author(value) for value in found] if key_typed else []
        alone = sum(bool(value) for value in found) == 1
        for at, value in enumerate(found):
            # Of a room that the user names, whoever he speaks of is meant, and nobody else who writes there.
            aside = True in whose and not whose[at]
            named = None if aside else key_typed
            self._add_record(value, item, tool, how, named, keyed=self._keyed(item, tool, value, alone=alone))

    def use(self, tool_id: str, values: list[Any]) -> None:
        """Remember what calls of a tool were about."""
        known = self.used.setdefault(tool_id, set())
        for value in values:
            one = wanted(str(value), self.lexicon.month_of) if len(str(value)) <= MAX_VALUE else None
            if one and len(known) < MAX_USED:
                known.add(one.key)

    def _add_plain(
        self, item: ContextItem, tool: ToolInfo, how: Any, named: bool, *, bare: bool = False
    ) -> None:
        record = Record(self.results, tool.tool_id, how, named)
        record.keyed = not item.error and self._keyed(item, tool, None, alone=True)
        short = len(item.text) <= 80 and "\n" not in item.text.strip() and not bare
        one_word = short and len(item.text.split()) == 1
        self.heard.add(
            item.text,
            record,
            "",
            "field" if one_word else "text",
            echo=echoes(given_values(item.args, self.lexicon), item.text, self.lexicon),
        )
        self._note_orders(record)

    def _note_orders(self, record: Record) -> None:
        """What documents that the user speaks of ask for: it counts where the user says to do it."""
        if record.named and record.how != "open":
            self.named_orders |= record.orders

    def _how_read(self, item: ContextItem, tool: ToolInfo) -> str:
        what = trade(tool, self.lexicon)
        if tool.open_world or tool.tier == "egress" or goes_out(tool, item.args, self.lexicon):
            return "open"
        if tool.open_world is None and not what.whole.isdisjoint(self.lexicon.open_world):
            return "open"
        if tool.identity or (not item.args and self._tells_who_i_am(what)):
            return "directory"
        if not what.words.isdisjoint(self.lexicon.directory):
            return "maybe_directory"
        mine = not item.args and not what.words.isdisjoint(self.lexicon.self_names)
        return "queried" if mine or any(self._typed(value) for _, value in leaves(item.args)) else "listed"

    def _tells_who_i_am(self, what: Trade) -> bool:
        """`whoami`, `get_my_profile`; but what `get_my_messages` returns others have written."""
        mine = self.lexicon.self_names
        about = (self.lexicon.groups.get(noun, frozenset()) for noun in what.nouns.difference(mine))
        return not what.words.isdisjoint(mine) and all("profile" in groups for groups in about)

    def _typed(self, value: Any) -> bool:
        one = wanted(str(value), self.lexicon.month_of)
        return one is not None and len(one.key) > 2 and self.said.has(one)

    def _typed_key(self, args: Mapping[str, Any], *, said_only: bool = False) -> bool:
        """Read by a key that the user typed, or by the id of something the user speaks of."""
        for name, value in leaves(args):
            words = set(name_words(name))
            if words & self.lexicon.names["query"] and not words & (
                self.lexicon.names["path"] | self.lexicon.names["id"]
            ):
                continue
            one = wanted(str(value), self.lexicon.month_of)
            if one is None or one.shape in ("day", "time"):
                continue
            if (len(one.key) > 2 or words & self.lexicon.names["id"]) and self.said.has(one):
                return True
            if said_only:
                continue
            if words & self.lexicon.names["id"] and self.object(one) in ("named", "user"):
                return True
        return False

    def _keyed(self, item: ContextItem, tool: ToolInfo, value: Any, *, alone: bool) -> bool:
        """Did the user type the key of this one? A folder or a room holds what anybody puts there."""
        own = self.lexicon.own_keys | trade(tool, self.lexicon).nouns
        given = {
            name: held
            for name, held in item.args.items()
            if self.lexicon.containers.isdisjoint(words := name_words(name)) and not own.isdisjoint(words)
        }
        return self._typed_key(given, said_only=True) and (alone or wraps(value, given, self.lexicon))

    def _add_record(
        self, value: Any, item: ContextItem, tool: ToolInfo, how: Any, named: bool | None, *, keyed: bool
    ) -> None:
        """`named`: it was read by a key that the user typed; None: and is not what he meant by it."""
        found = self._read_record(value)
        people = how in ("directory", "maybe_directory")
        if how == "maybe_directory":
            # Where anybody registers himself, only whom the user names is meant.
            anybody = not trade(tool, self.lexicon).words.isdisjoint(self.lexicon.registers)
            how = "directory" if found.identity and not anybody else "queried"
        record = Record(self.results, tool.tool_id, how, bool(named), labels=found.labels)
        record.keyed = keyed
        if people:
            self.bearers.meet(found.leaves)
        elif how != "own":
            self._ascribe(record, found)
        # Whoever writes chooses whom else it goes to: of a mail the user means its sender.
        record.addresses = [key for key, author in found.sinks if author or not record.authored]
        record.named = record.named or (named is not None and speaks_of(self.speech, record, self.lexicon))
        record.linked = self._linked(record)
        given = given_values(item.args, self.lexicon) if how == "own" else []
        for entry in found.entries:
            echo = how == "own" and echoes(given, entry.text, self.lexicon)
            for piece in entry.pieces:
                self.heard.add(piece, record, entry.path, entry.kind, echo=echo, things=entry.things)
        for owner in found.owners:
            self._remember_name(owner)
        self._note_orders(record)

    def _ascribe(self, record: Record, found: RecordReading) -> None:
        """Has somebody else written it? Where there is a text and somebody's address, that is his."""
        others = [one for one in found.authors if not self._is_self(one)]
        # Who sends money chooses the purpose, but not whom it reaches: there only he himself is doubted.
        record.authored = bool(others) and not any(shape_of(one) == "iban" for one in others)
        record.written = found.written

    def _is_self(self, text: str) -> bool:
        one = wanted(text, self.lexicon.month_of) if len(text) <= MAX_VALUE else None
        plain = folded(text[:MAX_VALUE]).strip()
        return plain in self.lexicon.self_names or (one is not None and self.told.has(one))

    def _remember_name(self, address: Wanted) -> None:
        for part in address.parts[:4]:
            known = self.named_by.setdefault(part, set())
            if len(known) < 8:
                known.add(address.key)

    def _linked(self, record: Record) -> bool:
        """The user says to follow a document, and it speaks of this record: its id is meant, not its text."""
        if "delegated" not in self.speech.phrases:
            return False
        for label in record.labels:
            parts = label.parts
            if label.kind != "label" or not any(len(part) > 3 for part in label.meant):
                continue
            one = Wanted(" ".join(parts), parts, len(parts) == 1, "word")
            if any(place.record.named and place.kind == "text" for place, _ in self.heard.places(one)):
                return True
        return False

    def origin(self, value: Wanted, *, sink: bool = False) -> Found:
        """The best place a value stands in. `sink`: an address in a title is a text like any other."""
        best = self._origin(value, sink)
        if best.origin == "model" and value.shape == "phone":
            for digits in at_home(value.key):
                best = _better(best, self._origin(Wanted(digits, (digits,), True, "phone"), sink))
        return best

    def _origin(self, value: Wanted, sink: bool) -> Found:
        if place := next(self.said.places(value), None):
            return Found("user", place[0])
        if place := next(self.told.places(value), None):
            return Found("system", place[0])
        best = Found("model")
        for field in self.heard.whole.get(value.key, ()):
            if sink and field.kind == "label" and value.shape in SINK_SHAPES:
                continue
            doubted = sink and self._doubted(field, value)
            found = "field" if doubted else field_origin(field)
            if found == "own" and value.shape in SINK_SHAPES:
                found = "field"  # a write makes ids, and nobody's address
            best = _better(best, Found(found, field, doubted))
        if RANK[best.origin] <= RANK["field"]:
            return best
        for text, _ in self.heard.places(value):
            best = _better(best, Found("named_text" if text.record.named else "text", text))
        if best.origin == "model" and (self.heard.left_out or self.heard.uncounted(value)):
            return Found("text")
        return best

    def addressed(self, shape: Shape) -> bool:
        """Has the user given an address of this kind, besides his own? Then he has said whom he means."""
        given = self.speech.addresses.get(shape, ())
        return any(not self.told.has(Wanted(key, (key,), True, shape)) for key in given)

    def _by_author(self, name: str) -> bool:
        return self._names.of(name).is_author

    def _of_spoken_author(self, value: Any) -> bool:
        """Is it written by somebody of whom the user speaks?"""
        by = [str(raw) for _, name, raw in fields(value) if self._by_author(name)]
        names = {part for one in by[:4] for part in name_words(one[:MAX_VALUE])}
        return not names.isdisjoint(self.speech.names)

    def _doubted(self, place: Place, value: Wanted) -> bool:
        """A name is no proof: whoever writes chooses the title, and two people may bear one name."""
        record = place.record
        if record.how == "own":
            return False
        spoken = self.speech.words - self.lexicon.stops
        if value.shape not in SINK_SHAPES:
            return self.bearers.several(value.key, spoken) or has_namesake(
                record, value, self.heard, self.speech.words
            )
        replying = not self.speech.words.isdisjoint(self.lexicon.replies)
        authored = record.authored or (record.how != "directory" and self._by_author(place.path))
        # Beside a text an address is its author's, but for those that it was sent to or shared with.
        authored = authored or (record.written and not self._names.of(place.path).is_audience)
        if authored and not record.keyed and not replying:
            return True
        return self.bearers.several(value.key, spoken)

    def object(self, value: Wanted) -> ObjectOrigin:
        """Where an id is from: the user, an own write, a record that was named, asked for or only listed."""
        if self.said.has(value):
            return "user"
        best: ObjectOrigin = "model"
        order = ("user", "own", "named", "queried", "listed", "text", "model")
        for place in self.heard.whole.get(value.key, ()):
            how: ObjectOrigin = "listed"
            if place.record.how == "own" and not place.echo:
                how = "own"
            elif place.record.named or place.record.linked or place.record.how == "directory":
                how = "named"
            elif place.record.how == "queried":
                how = "queried"
            best = min(best, how, key=order.index)
        if best == "model" and (self.heard.has(value) or self.heard.left_out or self.heard.uncounted(value)):
            return "text"
        return best

    def host_seen(self, host: str) -> bool:
        """Given by the user, the system or a field that no stranger filled in.

        INVARIANT: a text opens the one address that stands in it, and nothing else on its host: whoever
        wrote it may read there whatever a path says.
        """
        one = Wanted(f"{HOST}{host}", (host,), True, "host")
        if self.said.has(one) or self.told.has(one):
            return True
        return any(
            place.kind == "field" and place.record.how != "open" and not (place.record.authored or place.echo)
            for place, _ in self.heard.places(one)
        )


def _better(left: Found, right: Found) -> Found:
    if left.origin == right.origin:
        return left if right.doubted or not left.doubted else right
    return right if RANK[right.origin] < RANK[left.origin] else left
