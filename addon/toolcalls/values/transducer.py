"""One JSON value that arrives in pieces and leaves as strict JSON (RFC 8259).

Strategy. An automaton reads each character once and decides as early as the grammar allows. What is strict JSON passes
character for character, so big numbers, key order, duplicate keys and inner white space survive; what people and Python
write instead is respelt where its meaning is certain, and each such repair is named once. Nothing is ever supplied for
what was cut off, and what has two meanings fails: `007`, `5.`, `[1,,2]`, NaN, a missing comma or colon.

In an object a comma or a colon that comes twice has one meaning.

Held back is only what is undecided: a comma, with the white space after it, until an item follows; a literal until its
last letter; an escape until it is whole. The rest of the state is one closer for each open container, at most
MAX_DEPTH, so there is no recursion. Every step depends on the state and the characters alone, never on where a piece
ends: any split gives the same output, repairs, offset and verdict.

A state is a method that reads from `pos` and returns how far it came. Strings are the hot path: one regular expression
takes the longest run that can stay as it is, and a piece that lies wholly inside a string leaves as it came.

More than 300 lines: one automaton, whose states are small and read best side by side.
"""

import re
import sys
from collections.abc import Callable

from toolcalls.events import Repair
from toolcalls.values.conversion import escape
from toolcalls.values.json_tokens import (
    DIGITS,
    ENTITIES,
    ENTITY_RUN,
    ENTITY_STOPS,
    ESCAPE_DIGITS,
    HEX_DIGITS,
    LITERALS,
    NUMBER,
    STRING_RUNS,
    STRING_STOPS,
    WHOLE_NUMBER,
)

# Members that hold a program. In one, `&gt;` is no text that anybody means; in a page of HTML it is.
PROGRAMS = frozenset({"command", "commands", "cmd", "script"})
_MAX_HELD = 65536  # characters of a program that are held
_LONGEST_PROGRAM = max(map(len, PROGRAMS)) + 1
MAX_DEPTH = 1024  # more than a route may allow (`Route.max_depth`), so that it is the route's limit that is met

DOUBLED = "}}"  # what closes an object that two braces opened
_OBJECTS = (["}"], [DOUBLED])
_GAP = " \t\n\r/#"  # white space, and what begins a comment
_space = re.compile(r"[ \t\n\r]*+")
_bare = re.compile(r"[\w$.-]*+")
_line_end = re.compile(r"[\r\n]")


class Transducer:
    r"""One JSON value that arrives in pieces and leaves as strict JSON.

    bare_keys    keys without quotes become strings: letters, digits, `_`, `$`, `-` and `.`
    only_object  a value that is no object fails at its first character
    entities     a program (`PROGRAMS`) that holds entities and neither `<`, `>` nor another `&` is decoded; from its
                 first entity on, it is held to its end
    escaped_gaps a line end or tab between values may be written as its escape

    done     the value is complete
    failed   why no JSON can come of it, with the character offset from the beginning of the first piece; else None
    repairs  what was not strict JSON, each name once, in the order of appearance:

             single_quotes   'a'                      → "a"
             backticks       `a`                      → "a", after a colon or in an array
             raw_newline     control characters that are raw in a string, of any kind → their escapes
             invalid_escape  `\'` in double quotes    → '; `\x41`, `\U0001f600` → the character; any other → a
                             backslash that was meant as such
             trailing_comma  [1,]                     → [1]
             doubled_braces  {{"a": 1}}               → {"a": 1}, as templates of Python's `format` write them
             python_literal  None, True, False        → null, true, false
             doubled_separator  {"a":: 1,, "b": 2}  → {"a": 1, "b": 2}
             comment         // and # to the end of the line, /* */ → nothing
             number          +1, .5                   → 1, 0.5
             bare_key        {a: 1}                   → {"a": 1}
             escaped_line_end  a backslash and an n between two values → nothing, with `escaped_gaps`
             entities        {"cmd": "a &gt; b"}      → {"cmd": "a > b"}, with `entities`

    White space and comments before the value are dropped. A raw surrogate leaves as its escape, without a name.
    """

    def __init__(
        self, *, bare_keys: bool = False, only_object: bool = False, entities: bool = False, escaped_gaps: bool = False
    ) -> None:
        self.done = False
        self.failed: str | None = None
        self.repairs: list[Repair] = []
        self._bare_keys = bare_keys
        self._only_object = only_object
        self._entities = entities
        self._waits = False  # what comes next is undecided (`damaged_json`)
        self._gaps = _GAP + "\\" if escaped_gaps else _GAP
        self._key_text = ""  # the key that was read last, where entities are decoded
        self._entity = ""  # one so far
        self._escaped_text: list[str] | None = None  # a program from its first entity on
        self._held = 0  # characters of that
        self._state: Callable[[Transducer, str, int], int] = Transducer._value
        self._closers: list[str] = []
        self._out: list[str] = []  # of the piece at hand
        self._read = 0  # characters consumed by the calls of `feed` before this one
        self._origin = 0  # what added to a position in the piece at hand makes it an offset
        self._started = False
        self._comma: list[str] = []  # a comma that may be trailing, and the white space after it
        self._behind_comment: Callable[[Transducer, str, int], int] = Transducer._value
        self._quote = '"'
        self._run, self._stops = STRING_RUNS['"'], STRING_STOPS['"']
        self._is_key = self._key_is_bare = False
        self._escaped = ""  # an escape so far
        self._literal = self._literal_json = ""
        self._matched = 0  # letters of the literal so far
        self._part = "start"

    def feed(self, text: str, start: int = 0) -> tuple[str, int]:
        """Read `text[start:]`: the strict JSON that is decided by it, and the offset after what was consumed.

        Everything is consumed unless the value ends or fails: then the offset is after the value's last character, or
        at the character that cannot be. After the end nothing is consumed any more.
        """
        if self._state is Transducer._string:
            found = self._run(text, start)
            if found is not None and found.end() == len(text) and self._escaped_text is None and not self._is_key:
                self._read += len(text) - start
                return (text[start:] if start else text), len(text)
        pos, end = start, len(text)
        self._out = []
        self._origin = self._read - start
        while pos < end and not (self.done or self._waits) and self.failed is None:
            pos = self._state(self, text, pos)
        self._read += pos - start
        return "".join(self._out), pos

    @property
    def wake_on(self) -> Callable[[str], object] | None:
        """Finds what must be looked at in the piece that comes next; None where that is any piece.

        A piece without it is the content of a string as it is, and need not be fed (`skip`).
        """
        plain = self._state is Transducer._string and self._escaped_text is None and not self._is_key
        return self._stops if plain else None

    def skip(self, size: int) -> None:
        """So many characters came that need not be fed."""
        self._read += size

    @property
    def unclosed(self) -> tuple[str, ...]:
        """What closes each bracket that is open, outermost first."""
        return tuple("".join(self._closers))

    @property
    def is_strict(self) -> bool:
        """Whether all that was read may be the beginning of strict JSON."""
        if self.repairs or self._key_is_bare or self.failed is not None or self._state in _SUSPECT:
            return False
        return self._state is not Transducer._word or self._literal == self._literal_json

    @property
    def comma_waits(self) -> bool:
        """Whether what was read ends after a comma that may be trailing."""
        return bool(self._comma)

    @property
    def in_token(self) -> bool:
        """Whether what was read ends inside a string or a comment."""
        return self._state in _TOKENS

    def finish(self) -> str:
        """The text has ended: a number that nothing surrounds is `done` now; anything else stays as it is.

        Returns what the end decides, which is the empty text: what is whole has left, and what is not never will.
        """
        if self._state is Transducer._number and not self._closers and self._part in WHOLE_NUMBER:
            self.done = self.failed is None
        return ""

    # --- what several states do ---------------------------------------------------------------------------------------

    def _fail(self, reason: str, pos: int) -> int:
        self.failed = f"{reason} at offset {self._origin + pos}"
        return pos

    def _repair(self, name: Repair) -> None:
        if name not in self.repairs:
            self.repairs.append(name)

    def _flush(self) -> None:
        """An item follows: the comma before it was none too many."""
        self._out += self._comma
        self._comma = []

    def _ended(self) -> None:
        """A value has ended."""
        self._state = Transducer._behind
        self.done = not self._closers

    def _close(self, pos: int) -> int:
        if self._comma:
            self._repair("trailing_comma")
            del self._comma[0]
            self._flush()
        if self._closers[-1] == DOUBLED:
            self._closers[-1] = "}"
            self._state = Transducer._second_brace
            return pos + 1
        self._out.append(self._closers.pop())
        self._ended()
        return pos + 1

    def _open_string(self, quote: str, pos: int, *, key: bool) -> int:
        if quote != '"':
            self._repair("single_quotes" if quote == "'" else "backticks")
        self._out.append('"')
        self._quote = quote
        self._run, self._stops = STRING_RUNS[quote], STRING_STOPS[quote]
        self._is_key = key
        if self._entities:
            if key:
                self._key_text = ""
            elif quote == '"' and self._key_text in PROGRAMS and self._closers[-1:] in _OBJECTS:
                self._run, self._stops = ENTITY_RUN, ENTITY_STOPS
        self._state = Transducer._string
        return pos + 1

    def _open_value(self, text: str, pos: int) -> int:
        """What is at `pos` is neither white space nor a comment nor a closer that may be there."""
        char = text[pos]
        if not self._started:
            if self._only_object and char != "{":
                return self._fail("not an object", pos)
            self._started = True
        self._flush()
        if char in "\"'" or (char == "`" and self._closers):
            return self._open_string(char, pos, key=False)
        if char in "{[":
            if len(self._closers) == MAX_DEPTH:
                return self._fail("too deep", pos)
            self._out.append(char)
            self._closers.append("}" if char == "{" else "]")
            self._state = Transducer._key if char == "{" else Transducer._item
            return pos + 1
        if char in "-.0123456789":
            self._part = "start"
            self._state = Transducer._number
            return pos
        if char == "+":
            self._repair("number")
            self._part = "sign"
            self._state = Transducer._number
            return pos + 1
        if char in LITERALS:
            self._literal, self._literal_json = LITERALS[char]
            self._matched = 0
            self._state = Transducer._word
            return pos
        return self._fail("no value", pos)

    def _gap(self, text: str, pos: int) -> int:
        """One run of white space, or the beginning of a comment."""
        char = text[pos]
        if char == "\\":
            self._behind_comment = self._state
            self._state = Transducer._escaped_gap
            return pos + 1
        if char in "/#":
            self._behind_comment = self._state
            if char == "#":
                self._repair("comment")
            self._state = Transducer._slash if char == "/" else Transducer._line_comment
            return pos + 1
        found = _space.match(text, pos)
        end = found.end() if found is not None else pos
        if self._comma:
            self._comma.append(text[pos:end])
        elif self._started:
            self._out.append(text[pos:end])
        return end

    # --- states between tokens ----------------------------------------------------------------------------------------

    def _value(self, text: str, pos: int) -> int:
        """At the beginning, and after a colon."""
        if text[pos] == ":" and self._started:
            self._repair("doubled_separator")
            return pos + 1
        return self._gap(text, pos) if text[pos] in self._gaps else self._open_value(text, pos)

    def _item(self, text: str, pos: int) -> int:
        """In an array, at its beginning or after a comma."""
        char = text[pos]
        if char in self._gaps:
            return self._gap(text, pos)
        return self._close(pos) if char == "]" else self._open_value(text, pos)

    def _key(self, text: str, pos: int) -> int:
        """In an object, at its beginning or after a comma."""
        char = text[pos]
        if char in self._gaps:
            return self._gap(text, pos)
        if char == "," and self._comma:  # in an object nothing can be left out between the two
            self._repair("doubled_separator")
            return pos + 1
        if char == "}":
            return self._close(pos)
        if char == "{" and self._closers[-1] == "}" and not self._comma:
            self._repair("doubled_braces")
            self._closers[-1] = DOUBLED
            return pos + 1
        if char in "\"'":
            self._flush()
            return self._open_string(char, pos, key=True)
        if char in "\\&" and self._is_escaped(text, pos):
            return pos
        if self._bare_keys and char != "." and _bare.fullmatch(char):
            self._key_is_bare = True
            self._flush()
            self._out.append('"')
            self._state = Transducer._bare_key
            return pos
        return self._fail("no key", pos)

    def _colon(self, text: str, pos: int) -> int:
        char = text[pos]
        if char in self._gaps:
            return self._gap(text, pos)
        if char != ":":
            return self._fail("no colon", pos)
        if self._key_is_bare:
            self._repair("bare_key")
            self._key_is_bare = False
        self._out.append(":")
        self._state = Transducer._value
        return pos + 1

    def _behind(self, text: str, pos: int) -> int:
        """After a value that is in a container."""
        char = text[pos]
        if char in self._gaps:
            return self._gap(text, pos)
        closer = self._closers[-1]
        if char == ",":
            self._comma = [","]
            self._state = Transducer._item if closer == "]" else Transducer._key
            return pos + 1
        return self._close(pos) if char == closer[0] else self._fail(f"neither a comma nor {closer}", pos)

    def _second_brace(self, text: str, pos: int) -> int:
        """After the first of the two braces that close an object."""
        if text[pos] in self._gaps:
            return self._gap(text, pos)
        return self._close(pos) if text[pos] == "}" else self._fail("no second brace", pos)

    # --- states inside a token ----------------------------------------------------------------------------------------

    def _string(self, text: str, pos: int) -> int:
        found = self._run(text, pos)
        end = found.end() if found is not None else pos
        if end > pos:
            self._content(text[pos:end])
        if end == len(text):
            return end
        char = text[end]
        if char in "&<>" and self._run is ENTITY_RUN:
            if char == "&":
                self._entity = ""
                self._state = Transducer._in_entity
                return end
            self._not_escaped()
            return end
        if char == self._quote:
            if self._is_text(text, end):
                return end if self._waits else end + 1
            self._decode()
            self._out.append('"')
            if self._is_key:
                self._state = Transducer._colon
            else:
                self._ended()
        elif char == "\\":
            self._escaped = char
            self._state = Transducer._escape
        else:  # a double quote in single quotes, a control character or a surrogate
            if char < " ":
                self._repair("raw_newline")
            self._content(escape(char))
        return end + 1

    def _is_text(self, text: str, at: int) -> bool:  # noqa: ARG002 - for `damaged_json`
        """Whether the quote at `at` does not end the string."""
        return False

    def _is_escaped(self, text: str, at: int) -> bool:  # noqa: ARG002 - for `damaged_json`
        """Whether the backslash or entity in the place of a key says that the whole object is escaped."""
        return False

    def _content(self, made: str) -> None:
        """The string goes on."""
        if self._escaped_text is not None:
            self._escaped_text.append(made)
            self._held += len(made)
            if self._held > _MAX_HELD:
                self._not_escaped()
            return
        if self._is_key and self._entities and len(self._key_text) < _LONGEST_PROGRAM:
            self._key_text += made
        self._out.append(made)

    def _not_escaped(self) -> None:
        """The string was written as it is: nothing in it is decoded."""
        self._run, self._stops = STRING_RUNS['"'], STRING_STOPS['"']
        if self._escaped_text is not None:
            self._out += self._escaped_text
            self._escaped_text = None

    def _decode(self) -> None:
        """The string ends: what was held of it was escaped."""
        if self._escaped_text is not None:
            self._repair("entities")
            self._out += [ENTITIES.get(part, part) for part in self._escaped_text]
            self._escaped_text = None

    def _in_entity(self, text: str, pos: int) -> int:
        self._entity += text[pos]
        if self._entity in ENTITIES:
            if self._escaped_text is None:
                self._escaped_text, self._held = [], 0
            self._escaped_text.append(self._entity)
            self._state = Transducer._string
        elif not any(entity.startswith(self._entity) for entity in ENTITIES):
            kept, self._entity = self._entity[:-1], ""
            self._not_escaped()
            self._out.append(kept)
            self._state = Transducer._string
            return pos
        return pos + 1

    def _escape(self, text: str, pos: int) -> int:
        char = text[pos]
        if len(self._escaped) == 1:
            if char in ESCAPE_DIGITS:
                self._escaped += char
                return pos + 1
            self._state = Transducer._string
            if char in '"\\/bfnrt':
                self._content("\\" + char)
                return pos + 1
            if char == "'" or (char in "`$" and self._quote == "`"):
                if self._quote == '"':
                    self._repair("invalid_escape")
                self._content(char)
                return pos + 1
        elif char in HEX_DIGITS:
            self._escaped += char
            if len(self._escaped) == 2 + ESCAPE_DIGITS[self._escaped[1]]:
                self._content(self._whole_escape(self._escaped))
                self._state = Transducer._string
            return pos + 1
        # No escape that anybody knows: the backslash is one, as in `C:\Users` and `\d`, and `char` is read as content.
        self._repair("invalid_escape")
        self._content("\\" + self._escaped)
        self._state = Transducer._string
        return pos

    def _whole_escape(self, escaped: str) -> str:
        """The JSON of an escape that has all its digits."""
        kind, digits = escaped[1], escaped[2:]
        if kind == "u":
            return escaped
        self._repair("invalid_escape")
        if kind == "x":
            return "\\u00" + digits
        code = int(digits, base=16)
        return escape(chr(code)) if code <= sys.maxunicode else "\\" + escaped

    def _bare_key(self, text: str, pos: int) -> int:
        found = _bare.match(text, pos)
        end = found.end() if found is not None else pos
        self._out.append(text[pos:end])
        if end < len(text):
            self._out.append('"')
            self._state = Transducer._colon
        return end

    def _number(self, text: str, pos: int) -> int:
        begin, end, part = pos, len(text), self._part
        while pos < end and (following := NUMBER[part].get(text[pos])):
            part = following
            pos += 1
        self._out.append(text[begin:pos])
        self._part = part
        if pos == end:
            return pos
        if part in WHOLE_NUMBER and text[pos] not in DIGITS:
            self._ended()
            return pos
        if part in ("start", "sign") and text[pos] == ".":
            self._repair("number")
            self._out.append("0.")
            self._part = "point"
            return pos + 1
        return self._fail("no number", pos)

    def _word(self, text: str, pos: int) -> int:
        if text[pos] != self._literal[self._matched]:
            return self._fail("no value", pos)
        self._matched += 1
        if self._matched == len(self._literal):
            if self._literal != self._literal_json:
                self._repair("python_literal")
            self._out.append(self._literal_json)
            self._ended()
        return pos + 1

    # --- comments -----------------------------------------------------------------------------------------------------

    def _slash(self, text: str, pos: int) -> int:
        char = text[pos]
        if char not in "/*":
            return self._fail("no comment", pos)
        self._repair("comment")
        self._state = Transducer._line_comment if char == "/" else Transducer._block_comment
        return pos + 1

    def _escaped_gap(self, text: str, pos: int) -> int:
        """After a backslash between values."""
        if text[pos] not in "nrt":
            return self._fail("no line end", pos)
        self._repair("escaped_line_end")
        self._state = self._behind_comment
        return pos + 1

    def _line_comment(self, text: str, pos: int) -> int:
        found = _line_end.search(text, pos)
        if found is None:
            return len(text)
        self._state = self._behind_comment
        return found.start()

    def _block_comment(self, text: str, pos: int) -> int:
        star = text.find("*", pos)
        if star < 0:
            return len(text)
        self._state = Transducer._star
        return star + 1

    def _star(self, text: str, pos: int) -> int:
        """After an asterisk in a comment."""
        if text[pos] == "/":
            self._state = self._behind_comment
        elif text[pos] != "*":
            self._state = Transducer._block_comment
        return pos + 1


_SUSPECT = frozenset({Transducer._slash, Transducer._escaped_gap})
_TOKENS = frozenset(
    {
        Transducer._string,
        Transducer._escape,
        Transducer._in_entity,
        Transducer._slash,
        Transducer._line_comment,
        Transducer._block_comment,
        Transducer._star,
    }
)
