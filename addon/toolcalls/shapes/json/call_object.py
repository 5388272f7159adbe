"""One JSON object that may be a call, member by member, with those that are wrapped in it."""

from collections.abc import Callable, Sequence

from toolcalls.events import Reason, Repair
from toolcalls.shapes.json.call_block import CallBlock
from toolcalls.shapes.json.call_keys import ARGUMENTS, LISTS, NAMES, REMARKS, SERVER, WRAPPERS, placed
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS, argument_object
from toolcalls.shapes.json.json_values import MAX_NAME, QUOTES, bare_key, separated, value, whole_value
from toolcalls.shapes.json.strict_calls import (
    CALL_KEYS,
    STRICT_ARGUMENTS,
    STRICT_LISTS,
    STRICT_NAMES,
    MeantCall,
    calls_meant,
    declares_tool,
)
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.words import NAME, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, quote

_BRACKETS = ("{", "[")
_NESTED = frozenset((*NAMES, *WRAPPERS))
_LISTED = _NESTED.union(LISTS)
MAX_DEPTH = 4  # `{"tool_calls": [{"function": {...}}]}`, and one to spare
_MAX_PASSED = 1024  # characters of a value that nobody asks for, before the name is known
_UNESCAPED = ('"{"', '"{ "', '"{\n')  # how a string of arguments begins whose own quotes lost their escapes
# How an object begins that was escaped as a whole.
_SPACES = ("", " ", "\n", "\n ", "\n  ", "\n    ")  # between its brace and the first key
_MARKS = ('\\"', "&quot;", "&#34;")
_ESCAPED = ("{\\n", *(f"{{{space}{mark}" for space in _SPACES for mark in _MARKS))
_ESCAPED_CALL = tuple(
    f"{{{space}{mark}{key}{mark}" for space in _SPACES for mark in _MARKS for key in sorted(CALL_KEYS)
)
_COMMENTS = {"//": "\n", "#": "\n", "/*": "*/"}
_OPENS_COMMENT = tuple(_COMMENTS)


class OpenArguments:
    """An argument object that arrives, whose closing brace is kept until it is known that no member follows."""

    def __init__(self, piece: Callable[[str], None]) -> None:
        self._piece = piece
        self._brace = ""
        self._empty = True

    def add(self, json: str) -> None:
        """The next piece of the object."""
        json = self._brace + json
        self._brace = "}" if json.endswith("}") else ""
        if self._brace:
            json = json[:-1]
        if self._empty:
            self._empty = not json.strip("{ \t\r\n")
        if json:
            self._piece(json)

    def close(self, more: Sequence[tuple[str, str]]) -> None:
        """The object is whole. `more` members follow its own."""
        written = ",".join(f"{quote(key)}:{raw}" for key, raw in more)
        comma = "," if written and not self._empty else ""
        self._piece(f"{comma}{written}}}")


class CallObject:
    """One object, member by member, with those that are wrapped in it.

    whole        it is complete
    begun        its call was reported while it came
    name         the tool that it names, "" for none
    given        its arguments have begun
    stray        it broke where something stood that no call has
    calls        those that it means, when it is whole and none was reported
    problem      why it is no call, None where it is one
    passed_over  it is no call and names no tool, and something was in it
    repairs      what was noted and is not reported
    """

    def __init__(self, block: CallBlock, array: Callable[[int], Step[bool]]) -> None:
        self._block = block
        self._rules = block.rules
        self._array = array
        self._awaits_message = block.rules.commit == "message"
        self.whole = self.begun = self.given = self.stray = self.passed_over = False
        self.name = ""
        self.calls: list[MeantCall] = []
        self.problem: Reason | None = None
        self.repairs: list[Repair] = []
        self._key = ""  # of the name
        self._text = ""  # the name as it is there
        self._server = ""
        self._arguments: str | None = None  # where they came before the name, or are held
        self._unread = ""  # the key of arguments that are no object, "" for none
        self._pairs: list[tuple[str, str]] = []  # members beside name and arguments; all where the message is awaited
        self._other_names: list[tuple[str, str]] = []  # members that could say the name as well
        self._open: OpenArguments | None = None  # arguments that leave while they arrive
        self._wraps = False  # calls in an array in it have begun
        self._keyed = False  # the name was the key of the arguments, as the form has it
        self._first = True  # no key was read so far
        self._bare = False  # the first key has no quotes
        self._took_comma = False  # the quote that ends the name is the next key's: the comma was in the name

    @property
    def written(self) -> str:
        """The name as it is there, with its server's."""
        return self._block.tools.served(self._server, self._text) if self._text else ""

    def note_repair(self, name: Repair) -> None:
        """Note a repair on the call, or for it while it has not begun."""
        if name in self._rules.own:
            return
        if self.begun:
            self._block.sink.note_repair(name)
        else:
            self.repairs.append(name)

    def read(self, depth: int) -> Step[bool]:
        """Read it with its braces. Returns whether it is complete."""
        block = self._block
        plain = yield from block.scan.starts('{"')  # most are
        if not plain and (yield from block.scan.among(_ESCAPED_CALL if self._awaits_message else _ESCAPED)):
            return (yield from self._escaped(depth))
        whole = yield from self._members(depth)
        if whole:
            self._end()
        return whole

    def _escaped(self, depth: int) -> Step[bool]:
        """An object all of whose quotes are escaped: read as what the escapes say, when it is whole."""
        block = self._block
        found = yield from whole_value(block.scan, None, block.unclosed)
        if found is None:
            return False
        if self._awaits_message:
            self._pairs = members(found.json)
            whole = True
        else:
            outer, block.scan = block.scan, Scanner()
            # What was decoded once is text, also where it looks like an entity.
            block.scan.feed(found.json.replace("&", "\\u0026") if "entities" in found.repairs else found.json)
            block.scan.end(cut=False)
            whole = yield from self._members(depth)
            block.scan = outer
        for repair in found.repairs:
            self.note_repair(repair)
        if whole:
            self._end()
        return whole

    def _members(self, depth: int) -> Step[bool]:
        block, scan = self._block, self._block.scan
        scan.take(1)
        block.unclosed.append("}")
        comma = False
        while True:
            self.stray = True
            yield from self._gap()
            if (yield from scan.starts("}")):
                if comma and not (self._rules.sure and self._rules.commit == "name"):
                    self.note_repair("trailing_comma")
                break
            key = yield from self._key_here()
            slipped = key is not None and (yield from self._slipped_colon(key))
            if key is None or (self._awaits_message and not slipped and not self._may_stand(key)):
                return False
            if not slipped and not (yield from self._separated(":")):
                return False
            yield from self._gap()
            self.stray = False
            if not (yield from (self._named_at(key.rstrip(": ")) if slipped else self._member(key, depth))):
                return False
            if self._may_end and (yield from block.lacks_brace()):
                self.note_repair("missing_brace")
                block.unclosed.pop()
                return True
            comma = self._took_comma or (yield from self._separated(","))
            if not comma:
                break
        if not (yield from accept(scan, "}")):
            return False
        block.unclosed.pop()
        return True

    def _may_stand(self, key: str) -> bool:
        """Whether a call that is decided when the message is may have such a member here."""
        return key in CALL_KEYS or key in REMARKS or self.name in self._block.tools

    @property
    def _may_end(self) -> bool:
        """Whether a brace may be missing here: the arguments are whole."""
        return self.begun or (self._awaits_message and self.given and bool(self._text))

    def _gap(self) -> Step[None]:
        """Take white space, and comments where they may stand."""
        scan = self._block.scan
        scan.take((yield from scan.space()))
        while not self._rules.sure and (comment := (yield from scan.among(_OPENS_COMMENT))) is not None:
            self.note_repair("comment")
            scan.take(len(comment))
            end = _COMMENTS[comment]
            while (at := scan.text.find(end, scan.pos)) < 0 and not scan.ended:
                scan.take(max(0, scan.rest() - len(end) + 1))
                yield
            scan.take(at + len(end) - scan.pos if at >= 0 else scan.rest())
            scan.take((yield from scan.space()))

    def _separated(self, literal: str) -> Step[bool]:
        if not self._rules.sure:
            yield from self._gap()
        return (yield from separated(self._block.scan, literal, self.note_repair))

    # Keys

    def _key_here(self) -> Step[str | None]:
        """A key that begins here, decoded, also a word without its quotes, or without the first; None for no key."""
        scan = self._block.scan
        first, self._first = self._first, False
        if (yield from scan.among(QUOTES)):
            return (yield from self._string())
        found = yield from bare_key(scan)
        self._bare = self._bare or first
        took_comma, self._took_comma = self._took_comma, False
        half = yield from scan.starts('"')
        if found is None or half != took_comma:
            return None
        if half:
            scan.take(1)
            return found.text
        if not self._bare:
            return None  # it may as well be part of a string that lost its escapes
        self.note_repair("bare_key")
        return found.text

    def _slipped_colon(self, key: str) -> Step[bool]:
        """Whether the colon after a name's key is in the key's quotes: `"name: "N"`."""
        if key.rstrip()[-1:] != ":" or key.rstrip(": ") not in NAMES or self.name:
            return False
        return not (yield from self._block.scan.starts(":", (yield from self._block.scan.space())))

    def _string(self) -> Step[str | None]:
        """A string that begins here, decoded; None for anything else, or one that is too long."""
        found = yield from whole_value(self._block.scan, MAX_NAME, self._block.unclosed)
        if found is None or found.text is None:
            return None
        for repair in found.repairs:
            self.note_repair(repair)
        return found.text

    # Members

    def _member(self, key: str, depth: int) -> Step[bool]:
        block = self._block
        bracket = yield from block.scan.among(_BRACKETS)
        if self._awaits_message:
            return (yield from self._kept(key, bracket))
        if self.begun:  # a second key would be a second tool's
            return not self._keyed and (yield from self._behind(key))
        if self._rules.keyed and not (self.name or self._pairs):
            text = yield from block.scan.starts('"')
            if not (text and key in NAMES):
                self._keyed = True
                self._take_name("name", key)
                starts = yield from block.scan.among(OBJECT_STARTS)
                return starts is not None and (yield from self._given(self._rules.arguments, bracket))
        if bracket == "[" and key in _LISTED and not self.name:
            return (yield from self._list(depth))
        if bracket == "{" and key in _NESTED and (not self.name or (key in WRAPPERS and not self._declares(key))):
            whole = depth + 1 < MAX_DEPTH and (yield from self._members(depth + 1))
            if self.name:
                self._note_alias()
            return whole
        if key in NAMES and self._outranks(key) and (yield from self._may_name()):
            return (yield from self._named(key))
        if key == SERVER and not self._rules.sure and (yield from block.scan.among(QUOTES)):
            server = yield from self._string()
            self._server = server or ""
            self.name = block.tools.resolve(self.written)
            return server is not None
        if key in ARGUMENTS and self._arguments in {None, "{}"}:
            return (yield from self._given(key, bracket))
        if not self.name and not self._pairs and bracket == "{" and key in block.tools:
            self._take_name("name", key)
            self._note_alias()
            return (yield from self._given(self._rules.arguments, bracket))
        return (yield from self._other(key))

    def _declares(self, key: str) -> bool:
        """Whether the tool that is named so far has such a parameter."""
        tools = self._block.tools
        return bool(self.name) and tools.key(self.name, key) in tools.keys(self.name)

    def _outranks(self, key: str) -> bool:
        """Whether this key, and none that came before, says the name."""
        return not self.name or (NAMES.index(key) < NAMES.index(self._key) and not self._declares(key))

    def _behind(self, key: str) -> Step[bool]:
        """A member after the arguments, kept only where it is one itself."""
        sink = self._block.sink
        kept = list[str]()
        declared = self._declares(key)

        def keep(made: str) -> None:
            if declared and sink.collect(len(made)):
                kept.append(made)

        if not (yield from value(self._block.scan, sink, keep, self._block.unclosed)):
            return False
        self._pairs.append((key, "".join(kept)))
        return True

    def _list(self, depth: int) -> Step[bool]:
        before = self._block.count
        whole = yield from self._array(depth + 1)
        self._wraps = self.begun = self._block.count > before
        if self.begun:
            self._note_alias()
        return whole

    def _may_name(self) -> Step[bool]:
        """Whether a string is here, or a declared name that lost its first quote."""
        scan = self._block.scan
        if (yield from scan.among(QUOTES)):
            return True
        found = yield from word(scan, NAME)
        return found in self._block.tools and (yield from scan.starts('"', len(found)))

    def _named(self, key: str) -> Step[bool]:
        if not (yield from self._block.scan.among(QUOTES)):
            return (yield from self._named_at(key))
        name = yield from self._string()
        if name is not None and name.strip() == ":":  # `"name":": "N"`
            return (yield from self._named_at(key))
        if name is not None and name.rstrip()[-1:] == ",":  # `"name": "N, "arguments"`
            name = name.rstrip(", ")
            if self._block.tools.resolve(name) not in self._block.tools:
                return False
            self.note_repair("missing_quote")
            self._took_comma = True
        self._take_name(key, name or "")
        return name is not None

    def _named_at(self, key: str) -> Step[bool]:
        """A declared name that is here without its first quote."""
        scan, tools = self._block.scan, self._block.tools
        name = yield from word(scan, NAME)
        if tools.resolve(name) not in tools or not (yield from scan.starts('"', len(name))):
            return False
        scan.take(len(name) + 1)
        self.note_repair("missing_quote")
        self._take_name(key, name)
        return True

    def _take_name(self, key: str, text: str) -> None:
        tools = self._block.tools
        if self._awaits_message:
            self._pairs.append((key, quote(text)))
        elif self.name and text != self._text:
            if self.name in tools and tools.resolve(text) not in tools:
                self._other_names.append((key, quote(text)))
                return
            self._other_names.append((self._key, quote(self._text)))
        self._key, self._text = key, text
        self.name = tools.resolve(self.written)
        self._note_alias(key, "name")

    def _given(self, key: str, bracket: str | None) -> Step[bool]:
        """The arguments, which leave while they arrive where the name is known."""
        block, rules = self._block, self._rules
        streams = rules.commit == "name" and not self._is_described and self.name not in rules.no_calls
        if self.name and streams:
            unescaped = (yield from block.scan.among(_UNESCAPED)) is not None
            if unescaped:
                block.scan.take(1)
            if unescaped or bracket == "{":
                self._note_alias(key, rules.arguments)
                if unescaped:
                    self.note_repair("nested_quotes")
                block.begin(self.written, self.repairs)
                self.begun = self.given = True
                self._open = OpenArguments(block.sink.piece)
                whole = yield from value(block.scan, self, self._open.add, block.unclosed, direct=True)
                if unescaped:
                    yield from accept(block.scan, '"')  # it may be lost, too
                return whole
        if self.name:
            block.sink.expect(self.written)
        found = yield from whole_value(block.scan, None, block.unclosed, comments=not rules.sure)
        if found is None:
            return False
        self._arguments = argument_object(found.json)
        if self._arguments is None:
            self._unread = key
            self._pairs.append((key, found.json))
        else:
            self._note_alias(key, rules.arguments)
        self.repairs += [repair for repair in found.repairs if repair not in self._rules.own]
        return True

    @property
    def _is_described(self) -> bool:
        """Whether the object says so far what the tool does, as the declaration of one says it."""
        return any(key == "description" for key, _ in self._pairs) and not self._declares("description")

    @property
    def _may_declare(self) -> bool:
        """Whether a schema in the place of the arguments makes the object the declaration of a tool."""
        return not self._rules.sure or self._is_described

    def _note_alias(self, key: str = "", written: str = "arguments") -> None:
        if self._rules.arguments and key != written:
            self.note_repair("alias")

    def _other(self, key: str) -> Step[bool]:
        """A member that is no argument by its key. What the tool declares may be long."""
        sure = self._rules.sure
        limit = None if self._declares(key) or not sure else _MAX_PASSED
        found = yield from whole_value(self._block.scan, limit, self._block.unclosed, comments=not sure)
        if found is None:
            return False
        said_again = key in NAMES and found.json == quote(self._text)
        if not said_again:
            is_name = key in NAMES and found.text is not None
            (self._other_names if is_name else self._pairs).append((key, found.json))
            self.repairs += [repair for repair in found.repairs if repair not in self._rules.own]
        return True

    def _kept(self, key: str, bracket: str | None) -> Step[bool]:
        """A member of what is decided when the message is."""
        block, scan = self._block, self._block.scan
        self.stray = bracket == "[" and key not in (*STRICT_LISTS, *REMARKS) and self.name not in block.tools
        if self.stray:
            return False
        given = key in STRICT_ARGUMENTS
        self.given = self.given or given
        if given and self._text:
            block.sink.expect(self._text)
        unescaped = given and (yield from scan.among(_UNESCAPED)) is not None
        scan.take(int(unescaped))
        any_size = given or self.name in block.tools or (bracket and key not in REMARKS)
        found = yield from whole_value(scan, None if any_size else _MAX_PASSED, block.unclosed)
        if found is None:
            return False
        if unescaped:
            if not (yield from accept(scan, '"')):
                return False
            self.note_repair("nested_quotes")
        if key in STRICT_NAMES and found.text is not None:
            self._text = found.text
            self.name = block.tools.resolve(found.text)
        self.repairs += [repair for repair in found.repairs if repair not in self._rules.own]
        self._pairs.append((key, found.json))
        return True

    # What it was

    def _end(self) -> None:
        """The object is whole: what it held is known."""
        sink, tools = self._block.sink, self._block.tools
        if self._awaits_message:
            self.calls = calls_meant(self._pairs, tools)
            return
        given = self._open is not None or self._arguments is not None
        beside = placed(self._pairs, self.name, tools, given=given or self._wraps)
        names = placed(self._other_names, self.name, tools, given=given)
        arguments, left = [*names.arguments, *beside.arguments], names.left or beside.left
        if self._wraps:
            if left:
                sink.note_repair("left_out")
            return
        if not self.name or self.name in self._rules.no_calls:
            self.problem = "not_a_call"
            self.passed_over = not self.name and (left or given)
            return
        if self._open is not None:
            self._open.close(arguments)
        elif self._unread and self._unread not in dict(arguments):
            self.problem = "bad_arguments"
        elif self._may_declare and self._arguments and declares_tool(self._arguments, self.name, tools):
            self.problem = "not_a_call"
        elif (beside.left or (names.left and self._rules.sure)) and not given:
            self.problem = "not_a_call" if self._key == "name" and not self._rules.sure else "unknown_arguments"
        else:
            pieces = list[str]()
            whole = OpenArguments(pieces.append)
            whole.add(self._arguments or "{}")
            whole.close(arguments)
            self.calls = [MeantCall(self.written, "".join(pieces))]
        if arguments:
            self.note_repair("flat_arguments")
        if left:
            self.note_repair("left_out")
