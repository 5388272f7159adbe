"""A route: what one kind of traffic speaks on either side, and how its text is to be read. Frozen data, no behaviour.

`config` builds routes from YAML; tests and the command line build them directly.
docs/configuration.md takes what it says of the keys of rules, reactors and filters from the docstrings here.
"""

from dataclasses import dataclass, field
from typing import Literal

from toolcalls.request import Tool

Side = Literal["auto", "native", "text"]
PolicyName = Literal["standard", "strict", "lenient"]
# Conditions that a policy may drop, each by the reason that it gives (`events.Reason`), and what one may ask beyond.
Taken = Literal[
    "undeclared",
    "escaped",
    "inline",
    "fenced",
    "indented_code",
    "inline_code",
    "block_quote",
    "html_comment",
    "reasoning",
    "echo",
    "duplicate",
    "undeclared_arguments",
    "no_arguments",
    "weak_sign",
]
Required = Literal["complete", "arguments", "terminal", "line_start"]
# What is mended of a reply that arrives damaged.
Mended = Literal["protocol", "json", "types", "names", "reasoning", "errors"]


@dataclass(frozen=True, slots=True)
class Match:
    """Which traffic a route is for. Every field that is set must match; patterns match the whole value (glob).

    host    a pattern for the host name without port; upper and lower case are the same
    path    a pattern for the path without its query; `*` also matches `/`
    model   a pattern for the request's `model`
    wire    the API: one of the names in docs/apis.md
    """

    host: str | None = None
    path: str | None = None
    model: str | None = None
    wire: str | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """What the value of one argument must be. A string is looked at as itself, any other value as its JSON text.

    argument   the name of a top-level argument; "*" is any of them
    matches    a regular expression: found anywhere in the value for a rule that blocks, the whole value for one that
               allows, so that neither lets more through than it says
    outside    paths: the value is a path that lies in none of them, judged by its letters (no link is followed)
    inside     paths: the value is a path that lies in one of them
    """

    argument: str
    matches: str | None = None
    outside: tuple[str, ...] | None = None
    inside: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One rule about calls. Everything that is set must hold; of the rules that hold, the first one decides.

    name       for verdicts and the flow list
    action     what happens to a call that the rule is about
    tools      regular expressions, each matched against the whole name; a rule that blocks ignores upper and lower case
    model, agent   globs for the request's model and for the client's User-Agent
    arguments  all must hold
    priority   a higher one comes first; equal ones are in the configuration's order
    message    the text that the client gets in the place of a blocked call; none: the one of `access`
    """

    name: str
    action: Literal["allow", "block"]
    tools: tuple[str, ...] = (".*",)
    model: str | None = None
    agent: str | None = None
    arguments: tuple[Condition, ...] = ()
    priority: int = 0
    message: str | None = None

    @property
    def decides_all(self) -> bool:
        """Whether it is about every call."""
        return ".*" in self.tools and not self.arguments and {self.model, self.agent} <= {None, "*"}


@dataclass(frozen=True, slots=True)
class Access:
    """Which calls a client may get.

    rules     the first one that holds decides
    default   decides where no rule does
    message   what the client gets in the place of a blocked call, where its rule has no message; `{tool}` and `{rule}`
              are filled in
    """

    rules: tuple[AccessRule, ...] = ()
    default: Literal["allow", "deny"] = "allow"
    message: str = "The call of {tool} was blocked by the rule {rule}."

    @property
    def blocks(self) -> bool:
        """Whether a rule was written to block."""
        return self.default == "deny" or any(rule.action == "block" for rule in self.rules)


LoopAction = Literal["observe", "warn", "replace", "stop"]


@dataclass(frozen=True, slots=True)
class Loops:
    """When a model repeats itself in a loop, and what is done then. A number is how often is too often; 0 is never.

    action       `observe` notes it in the flow, `warn` also in the flow list, `replace` puts `text` in the place of the
                 call, `stop` ends the reply
    same_call    the same call with the same arguments; with `progress`, those before a new call that was answered do
                 not count, as a test that is run after each edit is no loop
    same_result  the same call, and every time the same result
    cycle        rounds of two or three different calls that repeat
    message      how often a passage of text may follow itself in one reply
    tools        calls of other tools are not counted: regular expressions as in `AccessRule`
    progress     whether a new call that was answered starts the count of `same_call` again
    text         what the client gets where the reply is changed

    A guard that only observes calls does not delay a reply: it looks at them when the reply has ended.
    """

    action: LoopAction = "observe"
    same_call: int = 7
    same_result: int = 7
    cycle: int = 4
    message: int = 8
    tools: tuple[str, ...] = (".*",)
    progress: bool = True
    text: str = "This is a loop: {what}. Stop, say what you know by now, and try another way."

    @property
    def acts(self) -> bool:
        """Whether it changes the reply."""
        return self.action in {"replace", "stop"}

    @property
    def takes_part(self) -> bool:
        """Whether it must see a reply while it passes."""
        return self.acts or self.message > 0


@dataclass(frozen=True, slots=True)
class Reactor:
    """A function of the user's on complete calls.

    file         the Python file; its path counts from the configuration file
    function     its name in that file
    tools        regular expressions, each matched against the whole name: the calls that it is for
    time_limit   seconds that one call of it may take
    """

    file: str
    function: str
    tools: tuple[str, ...] = (".*",)
    time_limit: float = 1.0


@dataclass(frozen=True, slots=True)
class Filter:
    """A replacement in text. Either `literal` or `pattern`, a regular expression, is set.

    name         for verdicts and notes
    literal      text that is replaced
    pattern      a regular expression for text that is replaced
    replace      what is put there instead; with `pattern` it may hold groups (`\\1`, `\\g<name>`)
    max_length   how many characters one place may have: what may still become one is held until it is known
    calls        also in the string values of calls, which are then held until they are whole
    """

    name: str
    literal: str | None = None
    pattern: str | None = None
    replace: str = ""
    max_length: int = 200
    calls: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """What a configuration says about one kind of traffic.

    client, upstream   what each side speaks; "auto" is decided per request from evidence
    client_dialect     the dialect that a text client is written to; None: what its prompt or history shows (`evidence`)
    dialects           the dialects that are read from an upstream's text; None: all of the package, and `own`
    own                dialects of the configuration that are read where `dialects` is None
    policy             when text is a call (`policy.py`)
    take               the conditions that do not count here; None: those that the policy drops
    require            what is asked of a call beyond them; None: what the policy asks
    allowed_tools      None: all; (): nothing; else regular expressions, each matched against the whole name
    tools              tools declared here in addition to the request's own
    mend               the kinds of damage that are mended: `protocol` is what a native call or the reply's end says
                       otherwise than the API says it, where that has one reading; `types` are values of another type
                       than the schema declares, `names` tools that are named otherwise than declared, `json`
                       arguments that are no JSON; `reasoning` that is all of a reply and ends with a call, or is in
                       tags where the text begins; `errors` that quote a call
    multiple_calls     False: a client is given only the first call of a reply; None: all, but for a text client that is
                       known to take one call a message
    drop_invented_results   a tool result that the model wrote itself after its call is not shown
    starts_in_reasoning   the chat template opens the model's reasoning, and the server leaves it in the text: a reply's
                       text is reasoning up to the first closer, unless reasoning comes in a field of its own
    infer_types        values without a schema are typed by the dialect's own rule
    escaped_values     values between tags are escaped, as in XML; None: as calls in the request show
    max_buffer_bytes   how much text of one candidate may be held back, in UTF-8 bytes
    max_held_call_bytes   the same for a call that counts only when it is complete, while it still is one
    max_call_chars     how many characters the argument JSON of one call may have; what goes past it stays open
    max_depth          how deep the argument JSON of one call may nest, the object itself being the first level
    max_calls          how many calls of one lane are lifted
    max_candidates     how many candidates of one lane are looked at; after them all is text
    max_frame_bytes    how many bytes of a stream may come without an end of a frame, past it all is forwarded
                       unparsed; and how many frames may hold that wait for undecided text, past it that is text
    max_decoded_bytes  how many bytes one piece of a coded body may decode to; past it all passes as it comes
    marker             the words that the dialect `marker` looks for
    max_payload_chars  how many characters the JSON of one of its calls may have, 0 for any number
    rewrite_request    the request is rewritten to what the upstream speaks (`requests/rewriting`), else left alone
    refuse_websocket   a request to speak WebSocket is answered with 426, so that the client uses SSE
    access, loops, reactors, filters   what may happen to calls and text on the way (`processors`), in this order; calls
                       in circles are noted where nothing is said of `loops`, with None not even that
    steering           where the text for a blocked call goes: into the reply, in its place, or into the next request
    prepend_newlines, newline_count   a call written as text stands this many newlines below the text before it
    """

    name: str = "default"
    match: Match = field(default_factory=Match)
    client: Side = "auto"
    upstream: Side = "auto"
    client_dialect: str | None = None
    dialects: tuple[str, ...] | None = None
    own: tuple[str, ...] = ()
    policy: PolicyName = "standard"
    take: tuple[Taken, ...] | None = None
    require: tuple[Required, ...] | None = None
    allowed_tools: tuple[str, ...] | None = None
    tools: tuple[Tool, ...] = ()
    mend: tuple[Mended, ...] = ("protocol",)
    multiple_calls: bool | None = None
    drop_invented_results: bool = False
    starts_in_reasoning: bool = False
    infer_types: bool = True
    escaped_values: bool | None = None
    max_buffer_bytes: int = 64 * 1024
    max_held_call_bytes: int = 8 * 1024 * 1024
    max_call_chars: int = 16 * 1024 * 1024
    max_depth: int = 512
    max_calls: int = 1000
    max_candidates: int = 2000
    max_frame_bytes: int = 8 * 1024 * 1024
    max_decoded_bytes: int = 16 * 1024 * 1024
    marker: tuple[str, ...] = ("TOOL_CALL",)
    max_payload_chars: int = 8000
    rewrite_request: bool = False
    refuse_websocket: bool = False
    prepend_newlines: bool = True
    newline_count: int = 2
    access: Access | None = None
    loops: Loops | None = Loops(message=0)
    reactors: tuple[Reactor, ...] = ()
    filters: tuple[Filter, ...] = ()
    steering: Literal["reply", "request"] = "reply"

    @property
    def named(self) -> tuple[str, ...]:
        """The dialects that it names, which need show no more than their form."""
        return self.own if self.dialects is None else self.dialects

    @property
    def processes(self) -> bool:
        """Whether anything may happen to a call or a text between the two sides."""
        guarded = self.loops is not None and self.loops.takes_part
        return bool(self.access or guarded or self.reactors or self.filters)


VTC_CLIENT_PATTERNS = ("cline", "kilo", "roo")


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in any currency. `model` is a glob for the model's name.

    model      a pattern for the request's `model`
    input      for tokens of the request
    output     for tokens of the reply
    cached     for input that came from a cache; none: the same as other input
    currency   as people write it after an amount, "" where nobody said
    """

    model: str
    input: float
    output: float
    cached: float | None = None
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """All routes in order (the first that matches wins; `default` when none does) and what is not a route's own.

    warnings   what has no effect in it, a line each with its place
    """

    routes: tuple[Route, ...] = ()
    default: Route = field(default_factory=Route)
    vtc_client_patterns: tuple[str, ...] = VTC_CLIENT_PATTERNS
    prices: tuple[Price, ...] = ()
    warnings: tuple[str, ...] = ()
