"""The dialects: the forms in which a tool call is written as text. One file is one dialect, found by its name.

A file declares the grammar as `DIALECT`, mostly a shape of `shapes/` with its strings filled in, and what is known of
it as `ABOUT`: who writes it, where it is documented, an example. The first paragraph of its docstring says what the
form is. `RESULT` is how the dialect writes a tool's result, where it has a form of its own.

Names come in; `Dialect` objects, which `reading/` and `writing/` use, go out. Read `longcat.py` first, then
`grok_xai.py`; `zeroclaw.py` is one without a shape.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from inspect import getdoc
from pkgutil import iter_modules

from toolcalls.dialects.marker import Marker
from toolcalls.shapes import About, Dialect, Sign

# Tried before all others that share an opener: what they look for, the others would read as something else.
FIRST = ("json_behind_word", "mixed_marks")

# Tried after all others that share an opener. `qwen3_xml` reads the same calls as `openhands_fn`, and `tagged` the
# same as `morph_xml`, and both are likelier. Damaged forms and mixed ones come after the whole ones. DeepSeek's
# tokens in ASCII are usually Kimi's or Step's, and a wrapper of `function_elements` is usually another dialect's. The
# text after `<N>` in `yaml_xml` and `zeroclaw` is rarely markup.
LAST = (
    "deepseek_v3",
    "deepseek_v31",
    "function_elements",
    "morph_xml",
    "openhands_fn",
    "yaml_xml",
    "zeroclaw",
    "invoke_elements",
    "function_tags_stripped",
    "damaged_tags",
    "stripped_tags",
)

# Their markup is escaped for HTML, as quoted markup often is: `reading/policy.py` has a condition for it, `escaped`.
ESCAPED = frozenset({"invoke_escaped"})

# What is left of a tag or a token in them could begin prose: their calls are shown when they are complete, not before.
DAMAGED = frozenset({"damaged_tags", "function_tags_stripped", "gemma4_stripped", "module_calls", "stripped_tags"})

# What they begin with is in any text about data: it is a candidate only where a call comes of it. Where a message
# begins with it, the dialects are asked whose call is a whole message.
TENTATIVE = frozenset({"json_before_closer", "module_calls"})

# Damaged and mixed forms: an opener that begins no call most likely belongs to another dialect that shares it.
UNLIKELY = frozenset({*FIRST, *DAMAGED, "invoke_elements"})

# Dialects that are read together with another one when a route names that one: its damaged forms (special tokens or
# the beginning of a tag are lost), and other forms that the same model writes.
_READ_WITH = {
    "bare_json": ("json_array",),
    "gemma4": ("gemma4_stripped", "module_calls"),
    "glm_xml": ("glm_naked", "stripped_tags", "bare_calls"),
    "harmony": ("harmony_stripped", "module_calls"),
    "hermes": ("json_behind_word", "json_before_closer", "json_in_tag", "json_tags", "stripped_tags", "mixed_marks"),
    "invoke": ("invoke_angleless", "invoke_elements", "invoke_legacy", "damaged_tags"),
    "kimi_k2": ("kimi_k2_stripped",),
    "llama3_json": ("bare_json", "json_array", "functionary_v31"),
    "llama4_pythonic": ("pythonic",),
    "longcat": ("longcat_xml",),
    "mistral": ("header_stripped",),
    "phi4_mini": ("granite3",),
    "pythonic": ("llama4_pythonic",),
    "qwen3_xml": ("function_tags_stripped", "function_elements", "invoke_elements", "damaged_tags"),
    "xlam": ("granite3", "mistral"),
}


@cache
def all_dialects() -> dict[str, Dialect]:
    """Every dialect by name, in the order of their names."""
    found: dict[str, Dialect] = {}
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        dialect: Dialect = import_module(f"{__name__}.{module.name}").DIALECT
        if dialect.name != module.name:
            raise ImportError(f"dialects/{module.name}.py calls its dialect {dialect.name!r}")
        found[dialect.name] = dialect
    return found


@dataclass(frozen=True, slots=True)
class OwnForm:
    """A dialect that a configuration brings, from a file or from an installed package.

    result   how it writes a tool's result; None: in the words that agents use
    """

    grammar: Dialect
    about: About
    result: str | None = None


class OwnName(str):
    """The name of such a dialect, which carries its form: wherever a route's names go, the form is known there only.

    Names are alike where their forms are; any is like the plain name that verdicts have.
    """

    __slots__ = ("form",)

    form: OwnForm

    def __new__(cls, name: str, form: OwnForm) -> "OwnName":
        made = super().__new__(cls, name)
        made.form = form
        return made

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True and (not isinstance(other, OwnName) or self.form == other.form)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[type["OwnName"], tuple[str, OwnForm]]:
        return OwnName, (str(self), self.form)


def is_own(name: str) -> bool:
    """Whether a name is one of a dialect that a configuration brings."""
    return isinstance(name, OwnName)


def grammar(name: str) -> Dialect:
    """The dialect of a name. Raises KeyError for an unknown one."""
    return name.form.grammar if isinstance(name, OwnName) else all_dialects()[name]


def declared(name: str, constant: str) -> object:
    """What the dialect's file declares under another name than `DIALECT` and `ABOUT`; None for nothing.

    Raises KeyError for an unknown dialect.
    """
    if isinstance(name, OwnName):
        return name.form.result if constant == "RESULT" else None
    grammar(name)
    return getattr(import_module(f"{__name__}.{name}"), constant, None)


def about(name: str) -> About:
    """What is known of a dialect: what its file declares as `ABOUT`."""
    if isinstance(name, OwnName):
        return name.form.about
    known: About = import_module(f"{__name__}.{name}").ABOUT
    return known


@cache
def sign_of(name: str) -> Sign:
    """By what a dialect's calls are known: by marks, where no file here says otherwise."""
    try:
        return about(name).sign
    except ModuleNotFoundError:
        return Sign()


def summary(name: str) -> str:
    """What the form is, on one line: the first paragraph of the docstring in the dialect's file, without the name."""
    paragraph = (getdoc(import_module(f"{__name__}.{name}")) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).removeprefix(f"`{name}`: ")


@lru_cache(maxsize=256)
def chosen(names: tuple[str, ...] | None, own: tuple[str, ...] = (), *, alone: bool = False) -> tuple[Dialect, ...]:
    """The dialects named, in that order, each with those that are read with it, unless it is `alone`.

    None is all of the package; in front of them come those of the configuration in `own`. Raises KeyError for an
    unknown name.
    """
    if names is None:
        return (*map(grammar, own), *sorted(all_dialects().values(), key=_turn))
    read = names if alone else [each for name in names for each in (name, *_READ_WITH.get(name, ()))]
    return tuple(map(grammar, dict.fromkeys(read)))


def _turn(dialect: Dialect) -> int:
    """When a dialect is asked among those that share an opener."""
    if dialect.name in FIRST:
        return -1
    return LAST.index(dialect.name) + 1 if dialect.name in LAST else 0


class Dialects(tuple[Dialect, ...]):
    """Dialects in the order in which they are asked. Compared by identity, as a hash of one goes through its fields."""

    __slots__ = ()
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


@lru_cache(maxsize=64)
def configured(
    names: tuple[str, ...] | None,
    markers: tuple[str, ...],
    max_payload_chars: int,
    own: tuple[str, ...] = (),
    *,
    structured: bool,
    alone: bool,
) -> Dialects:
    """The `chosen` dialects with the route's settings for `marker`. The replies of a route share them.

    structured   the client asked for JSON of its own schema, which is no call: `marker` and the dialects whose call is
                 a whole message are left out
    alone        each dialect is read without those that are read with it
    """
    dialects = chosen(names, own, alone=alone)
    if structured:
        dialects = tuple(each for each in dialects if each.place != "message" and not isinstance(each, Marker))
    marker = Marker(markers=markers, max_payload_chars=max_payload_chars)
    return Dialects(marker if isinstance(each, Marker) else each for each in dialects)


def replaces_native(dialect: Dialect) -> bool:
    """Whether its calls count only where a reply has no native ones so far: `marker` takes their place."""
    return isinstance(dialect, Marker)
