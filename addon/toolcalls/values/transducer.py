"""One JSON value that arrives in pieces and leaves as strict JSON (RFC 8259).

Strategy. An automaton reads each token once and decides as early as the grammar allows. What is strict JSON passes
character for character, so big numbers, key order, duplicate keys and inner white space survive; what people and Python
write instead is respelt where its meaning is certain, and each such repair is named once. Nothing is ever supplied for
what was cut off, and what has two meanings fails: `007`, `5.`, `[1,,2]`, NaN, a missing comma or colon.

In an object a comma or a colon that comes twice has one meaning.

Held back is only what is undecided: a comma, with the white space after it, until an item follows; a literal until its
last letter; an escape until it is whole. The rest of the state is a closer and a key for each open container, at most
MAX_DEPTH, so there is no recursion. Every step depends on the state and the characters alone, never on where a piece
ends: any split gives the same output, repairs, offset and verdict.

A state is a method that reads from `pos` and returns how far it came. Strings are the hot path: one regular expression
takes the longest run that can stay as it is, and a piece that lies wholly inside a string leaves as it came.
"""

import re
from collections.abc import Callable

from toolcalls.values.json_strings import JsonStrings
from toolcalls.values.json_tokenizer import decoded
from toolcalls.values.json_tokens import (
    DIGITS,
    LITERALS,
    NUMBER,
    WHOLE_NUMBER,
)

MAX_DEPTH = 1024  # more than a route may allow (`Route.max_depth`), so that it is the route's limit that is met
DOUBLED = "}}"  # what closes an object that two braces opened
_GAP = " \t\n\r/#"  # white space, and what begins a comment
_SUSPECT = frozenset("/\\TFN")  # what begins no token of strict JSON
_space = re.compile(r"[ \t\n\r]*+")
_bare = re.compile(r"[\w$.-]*+")
_line_end = re.compile(r"[\r\n]")

# The way to a value as `Toolbox.types` takes it: a key for each object, None for the items of an array.
type Path = tuple[str | None, ...]


class Transducer(JsonStrings):
    r"""One JSON value that arrives in pieces and leaves as strict JSON.

    bare_keys    keys without quotes become strings: letters, digits, `_`, `$`, `-` and `.`
    only_object  a value that is no object fails at its first character
    escaped_gaps a line end or tab between values may be written as its escape
    watch        is told of each value in a container, as long as all is strict JSON, when its first character comes:
                 the way to it, that character, and its offset

    done     the value is complete
    failed   why no JSON can come of it, with the character offset from the beginning of the first piece; else None
    repairs  what was not strict JSON, each name once, in the order of appearance. This is all that is tolerated:

             single_quotes      'a'                  → "a"
             backticks          `a`                  → "a", after a colon or in an array
             raw_newline        control characters that are raw in a string, of any kind → their escapes
             invalid_escape     `\'` in double quotes → '; `\x41`, `\U0001f600` → the character; any other → a
                                backslash that was meant as such, and so are those of `\b` and `\f` in the same
                                string, and all in a path with a drive (`backslashes`), unless not `literal`
             trailing_comma     [1,]                 → [1]
             doubled_separator  {"a":: 1,, "b": 2}   → {"a": 1, "b": 2}
             doubled_braces     {{"a": 1}}           → {"a": 1}, as templates of Python's `format` write them
             python_literal     None, True, False    → null, true, false
             number             +1, .5               → 1, 0.5
             comment            // and # to the end of the line, /* */ → nothing
             bare_key           {a: 1}               → {"a": 1}, with `bare_keys`
             escaped_line_end   a backslash and an n between two values → nothing, with `escaped_gaps`

             In a model's text also, by `damaged_json`:

             nested_quotes      {"a": "say "b""}     → {"a": "say \"b\""}, by `lost_escapes`
             escaped_quotes     {\"a\": 1}           → {"a": 1}
             entities           {&quot;a&quot;: 1}   → {"a": 1}
    read     how many characters were consumed

    White space and comments before the value are dropped. A raw surrogate leaves as its escape, without a name.
    """

    def __init__(
        self,
        *,
        bare_keys: bool = False,
        only_object: bool = False,
        escaped_gaps: bool = False,
        watch: Callable[[Path, str, int], None] | None = None,
        literal: bool = True,
    ) -> None:
        super().__init__(literal=literal)
        self.done = False
        self.failed: str | None = None
        self.read = 0
        self._bare_keys = bare_keys
        self._only_object = only_object
        self._gaps = _GAP + "\\" if escaped_gaps else _GAP
        self._watch = watch
        self._plain = False  # the last piece ended in the string of a value, between two characters of it
        self._state: Callable[[Transducer, str, int], int] = Transducer._value
        self._closers: list[str] = []
        self._started = False
        self._comma: list[str] = []  # a comma that may be trailing, and the white space after it
        self._behind_comment: Callable[[Transducer, str, int], int] = Transducer._value
        self._key_is_bare = False
        self._part = "start"

    def feed(self, text: str, start: int = 0) -> tuple[str, int]:
        """Read `text[start:]`: the strict JSON that is decided by it, and the offset after what was consumed.

        Everything is consumed unless the value ends or fails: then the offset is after the value's last character, or
        at the character that cannot be. After the end nothing is consumed any more.
        """
        if self._plain:
            found = self._run(text, start)
            if found is not None and found.end() == len(text):
                self.read += len(text) - start
                return (text[start:] if start else text), len(text)
        pos, moved = start, 0
        if self._begun:
            pos, moved = 0, start - len(self._begun)
            text, self._begun = self._begun + text[start:], ""
        end = len(text)
        self._out = []
        self._origin = self.read - start + moved
        while pos < end and not (self.done or self._waits) and self.failed is None:
            pos = self._state(self, text, pos)
        if pos + moved < start:  # what waits was consumed before
            pos, self._begun = end, text[pos:]
        self.read += pos + moved - start
        if self._state is Transducer._string:
            self._plain = not (self._is_key or self._begun) and self._held is None and self._drive is None
        else:
            self._plain = False
        return "".join(self._out), pos + moved

    @property
    def wake_on(self) -> Callable[[str], object] | None:
        """Finds what must be looked at in the piece that comes next; None where that is any piece.

        A piece without it is the content of a string as it is, and need not be fed (`skip`).
        """
        return self._stops if self._plain else None

    def skip(self, size: int) -> None:
        """So many characters came that need not be fed."""
        self.read += size

    @property
    def path(self) -> Path:
        """The way to the value that is read, or was read last."""
        return tuple(
            None if closer == "]" else decoded(key) for closer, key in zip(self._closers, self._keys, strict=True)
        )

    @property
    def unclosed(self) -> tuple[str, ...]:
        """What closes each bracket that is open, outermost first."""
        return tuple("".join(self._closers))

    @property
    def is_strict(self) -> bool:
        """Whether all that was read may be the beginning of strict JSON."""
        if self.repairs or self._key_is_bare or self.failed is not None:
            return False
        return self._state in _STRINGS or self._begun[:1] not in _SUSPECT

    @property
    def comma_waits(self) -> bool:
        """Whether what was read ends after a comma that may be trailing."""
        return bool(self._comma)

    @property
    def in_token(self) -> bool:
        """Whether what was read ends inside a string or a comment."""
        return self._state in _TOKENS or self._begun.startswith("/")

    def finish(self) -> None:
        """The text has ended: a number that nothing surrounds is `done` now; anything else stays as it is."""
        if self._state is Transducer._number and not self._closers and self._part in WHOLE_NUMBER:
            self.done = self.failed is None

    # --- what several states do ---------------------------------------------------------------------------------------

    def _fail(self, reason: str, pos: int) -> int:
        self.failed = f"{reason} at offset {self._origin + pos}"
        return pos

    def _wait(self, text: str, pos: int) -> int:
        self._begun = text[pos:]
        return len(text)

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
        self._keys.pop()
        self._ended()
        return pos + 1

    def _open_string(self, quote: str, pos: int, *, key: bool) -> int:
        if quote != '"':
            self._repair("single_quotes" if quote == "'" else "backticks")
        self._begin_string(quote, key=key)
        return pos + 1

    def _open_value(self, text: str, pos: int) -> int:
        """What is at `pos` is neither white space nor a comment nor a closer that may be there."""
        char = text[pos]
        if not self._started:
            if self._only_object and char != "{":
                return self._fail("not an object", pos)
            self._started = True
        self._flush()
        if self._watch is not None and self._closers and not self.repairs:
            self._watch(self.path, char, self._origin + pos)
        if char in "\"'" or (char == "`" and self._closers):
            return self._open_string(char, pos, key=False)
        if char in "{[":
            if len(self._closers) == MAX_DEPTH:
                return self._fail("too deep", pos)
            self._out.append(char)
            self._closers.append("}" if char == "{" else "]")
            self._keys.append("")
            self._state = Transducer._key if char == "{" else Transducer._item
            return pos + 1
        if char in "+-.0123456789":
            self._state, self._part = Transducer._number, "start"
            if char == "+":
                self._repair("number")
                self._part = "sign"
                return pos + 1
            return pos
        return self._word(text, pos) if char in LITERALS else self._fail("no value", pos)

    def _gap(self, text: str, pos: int) -> int:
        """One run of white space, an escaped line end, or the beginning of a comment."""
        char = text[pos]
        if char in "\\/#":
            return self._comment(char, text, pos)
        found = _space.match(text, pos)
        end = found.end() if found is not None else pos
        if self._comma:
            self._comma.append(text[pos:end])
        elif self._started:
            self._out.append(text[pos:end])
        return end

    def _comment(self, char: str, text: str, pos: int) -> int:
        second = text[pos + 1 : pos + 2]
        if not second and char != "#":
            return self._wait(text, pos)
        if char == "\\":
            if second not in "nrt":
                return self._fail("no line end", pos + 1)
            self._repair("escaped_line_end")
            return pos + 2
        if char == "/" and second not in "/*":
            return self._fail("no comment", pos + 1)
        self._repair("comment")
        self._behind_comment = self._state
        self._state = Transducer._block_comment if char + second == "/*" else Transducer._line_comment
        return pos + (1 if char == "#" else 2)

    def _word(self, text: str, pos: int) -> int:
        literal, meant = LITERALS[text[pos]]
        if not text.startswith(literal, pos):
            end = pos + 1
            while text.startswith(literal[: end + 1 - pos], pos):
                end += 1
            self._state = Transducer._word
            return self._wait(text, pos) if end == len(text) else self._fail("no value", end)
        if literal != meant:
            self._repair("python_literal")
        self._out.append(meant)
        self._ended()
        return pos + len(literal)

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
        return self._other_key(text, pos)

    def _other_key(self, text: str, pos: int) -> int:
        """What stands where a key should, and has no quotes."""
        char = text[pos]
        if self._bare_keys and char != "." and _bare.fullmatch(char):
            self._key_is_bare = True
            self._keys[-1] = ""
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

    def _string_ended(self) -> None:
        if self._is_key:
            self._state = Transducer._colon
        else:
            self._ended()

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

    def _line_comment(self, text: str, pos: int) -> int:
        found = _line_end.search(text, pos)
        if found is None:
            return len(text)
        self._state = self._behind_comment
        return found.start()

    def _block_comment(self, text: str, pos: int) -> int:
        end = text.find("*/", pos)
        if end < 0:
            return self._wait(text, len(text) - 1) if text.endswith("*") else len(text)
        self._state = self._behind_comment
        return end + 2


_STRINGS = frozenset({Transducer._string, Transducer._path})
_TOKENS = _STRINGS | {Transducer._line_comment, Transducer._block_comment}
