"""Secrets taken out: the one place that says what may be kept of headers, URLs, text and bodies.

Strategy: headers and query values are kept by name, from a list of those that are known to hold no secret; everything
else becomes `<redacted>`. Text is searched for what keys and tokens look like (by their makers' prefixes, by the words
in front of them, and private keys), so a secret of no known form in free text is not found: who passes on what people
and models wrote must know that. Nothing is shown in part; what is redacted says nothing but that it was there.

A stream spreads a secret over several events, so `redacted_body` joins the strings that stand in the same place of
successive events, searches the joined text and takes it out of each piece. A body that nothing was found in stays byte
for byte. Work is linear in the input: every pattern begins with a literal and has bounded or possessive repeats.

A little over 300 lines, of which the lists of headers and of what secrets look like are a third.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

REDACTED = "<redacted>"

# Header names whose values are kept. Names of agents and of their sessions are what flows are grouped by; the rest
# describes bodies, connections, limits and servers. No header that authorises, names an account or sets a cookie.
KEPT_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "accept-language", "access-control-allow-origin", "age", "allow"),
        *("cache-control", "connection", "content-encoding", "content-language", "content-length", "content-type"),
        *("date", "expect", "host", "keep-alive", "last-modified", "pragma", "retry-after", "server", "te", "trailer"),
        *("transfer-encoding", "upgrade", "user-agent", "vary", "via", "x-accel-buffering"),
        # agents, their sessions and their libraries
        *("agent-session-id", "originator", "session-id", "session_id", "thread-id", "x-claude-code-session-id"),
        *("x-claude-code-request-class", "x-app", "x-initiator", "x-session-affinity", "x-session-id", "x-title"),
        *("x-stainless-arch", "x-stainless-async", "x-stainless-helper-method", "x-stainless-lang", "x-stainless-os"),
        *("x-stainless-package-version", "x-stainless-retry-count", "x-stainless-runtime"),
        *("x-stainless-runtime-version", "x-stainless-timeout", "x-goog-api-client"),
        # APIs
        *("anthropic-beta", "anthropic-version", "openai-beta", "openai-model", "openai-processing-ms"),
        *("openai-version", "request-id", "x-request-id", "x-client-request-id", "x-envoy-upstream-service-time"),
        *("x-ratelimit-limit-requests", "x-ratelimit-limit-tokens", "x-ratelimit-remaining-requests"),
        *("x-ratelimit-remaining-tokens", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"),
    }
)

# Query parameters that say how a reply shall be made, each with the values that are known for it.
_KEPT_QUERY = {
    "alt": re.compile("sse|json|proto|media"),
    "beta": re.compile("true|false"),
    "stream": re.compile("true|false"),
    "api-version": re.compile(r"\d{4}-\d{2}-\d{2}(?:-preview)?"),
}

# What stands in front of a secret and makes it one. The value behind it goes, up to what ends a value. In a body the
# quotes around a key may be escaped once more (JSON in JSON).
_NAMED = (
    r"(?:api[_-]?key|apikey|a(?:ccess|ccount|uth)[_-]?key(?:[_-]?id)?|sharedaccesskey|secret[_-]?(?:access[_-]?)?key|private[_-]?key|client[_-]?secret"
    r"|(?:access|refresh|id|auth|session|security|bearer|oauth|api|bot|github|gitlab|npm|hf)[_-]?token"
    r"|password|passwd|passphrase|pwd|authorization|cookie|credential|signature|secret)"
)
# What is often no secret, and so is one only where the value looks like one: letters and digits, and not few.
_WEAK = r"(?:token|auth|secret[_-]key[_-]base|(?<=[_-])(?:key(?:[_-](?:id|data))?|pass))"
_KEYLIKE = r"[A-Za-z0-9+/=_.~-]"
# Between a name and its value: as in code, JSON, headers and forms; as in XML; and as in pairs of elements, in which
# some dialects write arguments.
_IS = r"\\{0,3}[\"']?(?:\s{0,4}(?:=>|[:=])\s{0,4}|>|</[a-z_]{1,20}>\s{0,4}<[a-z_]{1,20}>)\\{0,3}[\"']?"
_OPTION = r"(?:token|pass(?:word|wd|phrase)?|secret|auth|credentials?|(?:api-?|access-?|secret-?)key)"
_FLAG = rf"--(?:[a-z0-9]{{1,20}}-){{0,3}}{_OPTION}"
# Programs with an option for a password that is no word: `mysql -pX`, `sshpass -p X`. Other options may stand between.
_ARGUMENTS = r"(?:[^\n\r;|&\\]|\\(?!n)){0,200}?\s"
_PROGRAMS = "|".join(
    rf"{program}\b{_ARGUMENTS}{option}"
    for program, option in (
        (r"(?:mysql[a-z]{0,9}|mariadb(?:-[a-z]{1,9})?|(?:7z[a-z]{0,2}|(?:un)?rar)\s{1,4}[a-z])", r"-p(?=\S)"),
        (r"(?:docker|podman|nerdctl|buildah|skopeo|helm|oc|az|cf)\s{1,4}(?:[a-z]{1,10}\s{1,4})?login", r"-p\s{1,4}"),
        (r"mongo(?:sh|dump|restore|export|import|stat|top)?", r"-p\s{1,4}"),
        (r"sshpass", r"-p\s{0,4}"),
        (r"redis-cli", r"-a\s{1,4}"),
        (r"(?:un)?zip", r"-P\s{0,4}"),
        (r"ldap[a-z]{3,7}", r"-w\s{0,4}"),
        (r"openssl", r"-pass(?:in|out)?\s{1,4}pass:"),
        (r"(?:smb|rpc)client", r"-U\s{0,4}[\"']?[^\s%\"'\\]{1,60}%"),
        (r"aws", r"aws_(?:secret_access_key|session_token)\s{1,4}"),
    )
)
# A line of .netrc (a line end may be an escape in JSON), and what SQL has in front of a password.
_BLANK = r"(?:\s|\\[nrt]){1,8}"
_NETRC = (
    rf"(?:machine{_BLANK}[^\s\\]{{1,200}}|default)(?:{_BLANK}(?:login|account){_BLANK}[^\s\\]{{1,200}}){{1,2}}"
    rf"{_BLANK}password{_BLANK}"
)
_SQL = (
    r"(?:identified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by|(?:with|encrypted|login|(?:role|user)\s{1,4}\S{1,60})\s{1,4}password)"
    r"\s{1,4}\\?(?=')"
)
# In a sentence: what a password is said to be, where it is quoted, or letters and digits that are no method's name.
_PASSWORD = (
    r"(?:(?<=_)pass|(?-i:\bPASS(?==))|password|passwd|passphrase|passcode|passwort|kennwort|wachtwoord"
    r"|contrase\u00f1a|senha|mot de passe|has\u0142o"
    r"|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6[\u7801\u78bc]|\u30d1\u30b9\u30ef\u30fc\u30c9)"
)
_SAID = r"(?:\s{1,2}(?:is|was|to|ist|lautet|es|est)\s{1,2}|\s{0,2}[:=\uff1a]\s{0,2}|\s{0,2}[\u662f\u4e3a\u306f]\s{0,2})"
_QUOTES = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb\u300c\u300d"
_WORD = rf"[^\s\\,;<>(){{}}\[\]{_QUOTES}]"
_METHOD = (
    r"(?i:base\d+|utf-?\d+|sha-?\d+|md\d|argon2[a-z]*|pbkdf\d|oauth\d?|\d+(?:st|nd|rd|th)"
    r"|\d+[- ]?(?:char|byte|bit|digit|letter|word)[a-z]*)(?![A-Za-z0-9])"
)
_QUOTED_SAID = rf"(?<=[{_QUOTES}])[^\r\n<>\\{_QUOTES}]{{4,80}}+(?=\\{{0,3}}[{_QUOTES}])"
_KEY_SAID = r"(?:api|access|secret|auth|refresh|bearer|private|license)[ _-](?:key|token)\s{1,2}(?:is|was|to)\s{1,2}"
# A value behind a name is no secret if it is one of these: declarations of a schema, and code that reads a secret.
_IN_VALUE = r"[^\s\"'\\,;&<>{}\[\]()]"
_END = r"[\s\"'\\,;&<>{}\[\]()]"
_HARMLESS = (
    r"(?i:null|none|true|false|string|number|boolean|object|array|undefined|optional|required|str|bytes|self|your|the"
    r"|bearer|basic|os\.\S*|process\.\S*|\$\S*|getenv\S*|[a-z_]*\.[a-z_.]*)"
)
# The forms of secrets that are known by their first characters.
_FORMS = (
    r"sk-[A-Za-z0-9_-]{8,}+",  # OpenAI, Anthropic, OpenRouter and many that imitate them
    r"(?:gsk|xai|nvapi|pplx|csk|tgp|fw|r8|hf|api_org)[_-][A-Za-z0-9_-]{16,}+",
    r"AIza[A-Za-z0-9_-]{16,}+",
    r"ya29\.[A-Za-z0-9._-]{10,}+",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{8,}+",
    r"(?:gh[oprsu]|github_pat|npm)_[A-Za-z0-9_]{16,}+",
    r"(?:glpat-|pypi-|dop_v1_)[A-Za-z0-9_-]{16,}+",
    r"(?:xox[a-eoprs]|xapp)-[A-Za-z0-9-]{8,}+",
    r"(?:dckr_pat|shp(?:at|ca|pa|ss))_[A-Za-z0-9_-]{16,}+",
    r"hv[bsr]\.[A-Za-z0-9_-]{16,}+",  # Vault
    r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+",  # SendGrid
    r"AGE-SECRET-KEY-1[A-Z0-9]{16,}+",
    r"(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}+",  # Stripe
    r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?",  # JSON Web Tokens (RFC 7519)
    r"org-[A-Za-z0-9]{8,}+",
    r"GOCSPX-[A-Za-z0-9_-]{16,}+",
    r"gl(?:rt|ptt|dt|cbt|soat|ft|agent)-[A-Za-z0-9_-]{16,}+",  # GitLab, beside `glpat-`
    r"(?:lin_api|ntn|secret|figd|sntry[su]|lsv2_(?:pt|sk)|pscale_(?:pw|tkn|oauth)|sbp)_[A-Za-z0-9_-]{20,}+",
    r"dapi[0-9a-f]{32}(?:-\d)?",  # Databricks
    r"dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9]{20,}+",  # Doppler
    r"(?:PMAK|tskey|xkeysib|ATATT3)[A-Za-z0-9_=-]{16,}+",  # Postman, Tailscale, Brevo, Atlassian
    r"sq0[a-z]{3}-[A-Za-z0-9_-]{16,}+",  # Square
    r"key-[0-9a-f]{32}",  # Mailgun
    r"(?:SK|AC)[0-9a-f]{32}",  # Twilio
    r"(?:bot)?\d{8,10}:AA[A-Za-z0-9_-]{30,}+",  # Telegram
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{32,}+",  # Airtable
    r"gAAAAA[A-Za-z0-9_-]{24,}+=*",  # Fernet
)
# In an address these are secrets that elsewhere are words; `&` may be an entity or an escape there.
_IN_QUERY = (
    r"(?:[?&]|\\u0026)(?:amp;)?(?i:key|token|auth|sig|signature|secret|pass|jwt|sas|x-(?:amz|goog)-(?:signature|credential"
    r"|security-token))="
)
# Where a word begins; in JSON within JSON the letter of an escape may stand before it.
_BEGINS = r"(?:\b|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
_SECRETS = re.compile(
    # private keys, armoured (RFC 7468); a line end may be an escape in JSON
    r"-----BEGIN (?:[A-Z]{1,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----END))*+(?:-----END [A-Z ]{1,40}-----)?"
    rf"|(?P<query>{_IN_QUERY})[^\s\"'\\<>&#]{{4,}}+"
    rf"|{_BEGINS}(?:{'|'.join(_FORMS)}"
    r"|(?P<before>(?i:bearer|basic|digest|negotiate)[ \t]{1,4}|https://hooks\.slack\.com/[a-z]{1,20}/"
    r"|https://discord(?:app)?\.com/api/webhooks/)"
    r"(?=[A-Za-z0-9+/=_.~-]*[0-9A-Z=_.~/+])[A-Za-z0-9+/=_.~-]{8,}+"
    r"|(?P<scheme>[a-z][a-z0-9+.-]{1,12}://)[^\s/@\"'\\<>]{1,200}@"
    rf"|(?=[7abcdhlmnoprsuz])(?:(?P<program>(?:{_PROGRAMS})\\{{0,3}}[\"']?)|(?P<netrc>{_NETRC}))"
    rf"(?!-|{_HARMLESS}(?:{_END}|$))(?:(?<=[\"'])[^\"'\\\r\n<>]{{3,}}+|[^\s\"'\\<>|;&]{{3,}}+)"
    rf"|(?=[ielruwIELRUW])(?P<sql>(?i:{_SQL})')[^'\r\n<>]{{3,}}+"
    rf"|(?=[aslrbpASLRBP])(?P<key>(?i:{_KEY_SAID})\\{{0,3}}[{_QUOTES}]?)(?!{_METHOD})"
    rf"(?={_KEYLIKE}{{0,60}}[0-9])(?={_KEYLIKE}{{0,60}}[A-Za-z]){_KEYLIKE}{{10,}}+)"
    # all the cookies of a line, and the value behind a scheme that is none of the above
    r"|(?P<jar>(?i:cookie)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?)"
    r"(?=[^\s=;\"'\\<>]{1,100}=)[^\r\n\"'\\<>]{4,}+"
    # a value behind a name; a quoted one up to its quote. A private key is found by its own mark
    rf"|(?P<name>(?i:{_NAMED}){_IS}(?i:(?:token|apikey|bearer|basic|digest|negotiate)[ \t]{{1,4}})?)"
    rf"(?!-----BEGIN|{_HARMLESS}(?:{_END}|$))(?:(?<=[\"'])[^\"'\\\r\n<>]{{4,}}+|{_IN_VALUE}{{4,}}+)"
    rf"|(?P<weak>(?i:{_WEAK}){_IS})(?=[A-Za-z+/=_.~-]*[0-9])(?=[0-9+/=_.~-]*[A-Za-z]){_KEYLIKE}{{10,}}+"
    # on a command line: an option and its value, and the user and password of curl
    rf"|(?P<flag>{_FLAG}[ =]\\{{0,3}}[\"']?)(?!-|{_HARMLESS}(?:{_END}|$)){_IN_VALUE}{{4,}}+"
    r"|(?P<user>(?:(?<=\s)-u|--(?:proxy-)?user)[ =]?\\{0,3}[\"']?)(?![a-z]{2,8}://|\d+:\d+(?!\S))"
    r"[^\s:\"'\\]{1,100}:[^\s\"'\\]{3,}+"
    rf"|(?P<variable>(?<=[A-Z0-9]_)PASS=[\"']?)(?!{_HARMLESS}(?:{_END}|$)){_IN_VALUE}{{4,}}+"
    rf"|(?=[pkwcsmhPKWCSMH\u0080-\uffff])(?P<said>(?i:{_PASSWORD}){_SAID}\\{{0,3}}[{_QUOTES}]?)(?!{_METHOD}|{_HARMLESS}(?:{_END}|$))"
    rf"(?:{_QUOTED_SAID}|(?={_WORD}{{0,60}}[0-9])(?={_WORD}{{0,60}}[^\W\d_]){_WORD}{{4,}}+)"
)
# What stands in front of a secret, and stays.
_BEFORE = (
    "before",
    "jar",
    "name",
    "query",
    "weak",
    "flag",
    "user",
    "program",
    "netrc",
    "sql",
    "variable",
    "said",
    "key",
)


def redacted_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same headers in the same order; values that are not on the list of kept ones are `<redacted>`.

    Kept values are searched like any text: a User-Agent may hold a key that somebody put there.
    """
    return [(name, redacted_text(value) if name.lower() in KEPT_HEADERS else REDACTED) for name, value in headers]


def redacted_url(url: str) -> str:
    """A URL, or a path with its query: without user and password, fragment, and values of queries that are unknown."""
    rest, _, _ = url.partition("#")
    place, question, query = rest.partition("?")
    scheme, separator, behind = place.partition("://")
    if separator:
        authority, slash, path = behind.partition("/")
        place = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    return redacted_text(place) + (question and "?" + "&".join(_parameter(one) for one in query.split("&")))


def _parameter(one: str) -> str:
    name, equals, value = one.partition("=")
    kept = _KEPT_QUERY.get(name)
    if not equals:
        return one if name in _KEPT_QUERY or not name else REDACTED  # a value without a name
    return one if kept is not None and kept.fullmatch(value) else f"{redacted_text(name)}={REDACTED}"


def redacted_text(text: str) -> str:
    """`text` with everything that looks like a key, a token or a password replaced."""
    if len(text) <= _WINDOW:
        return _SECRETS.sub(_replaced, text)
    made, at = [], 0
    for found in _found(text):
        made += [text[at : found.start()], _replaced(found)]
        at = found.end()
    return "".join([*made, text[at:]])


# One search holds Python's lock until it is over, most of a microsecond for each character: meanwhile all other threads
# stand still, and so does the proxy, which others tell of in a thread beside it.
_WINDOW = 16384  # characters that are searched at a time
_REACH = 2048  # no secret needs more characters than these to be known for one, whatever its length


def _found(text: str) -> Iterable[re.Match[str]]:
    """What `finditer` finds, searched window by window."""
    at = 0
    while at < len(text):
        end = min(at + _WINDOW, len(text))
        found = _SECRETS.search(text, at, end)
        if found is not None and found.end() >= end - _REACH:  # it may be longer than the window shows
            found = _SECRETS.search(text, found.start())
        if found is None:
            at = end if end == len(text) else end - _REACH
        else:
            yield found
            at = found.end()


def _replaced(found: re.Match[str]) -> str:
    if found["scheme"] is not None:
        return f"{found['scheme']}{REDACTED}@"
    return "".join(found[group] or "" for group in _BEFORE) + REDACTED


def _spans(text: str) -> list[tuple[int, int]]:
    """The places of `text` that `redacted_text` replaces."""
    spans = []
    for found in _found(text):
        start = found.start()
        for group in (*_BEFORE, "scheme"):
            start = found.end(group) if found[group] is not None else start
        spans.append((start, found.end() - (found["scheme"] is not None)))
    return spans


def redacted_value(value: Any) -> Any:
    """Plain data (None, bool, numbers, str, list, dict) with its strings searched; one under a secret's name goes."""
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Mapping):
        return {key: _member(key, member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_value(member) for member in value]
    return value


_SECRET_KEY = re.compile(rf"(?i:(?:.*[_-])?{_NAMED})")


def _member(key: Any, member: Any) -> Any:
    if isinstance(key, str) and isinstance(member, str) and member and _SECRET_KEY.fullmatch(key):
        return REDACTED
    return redacted_value(member)


# --- bodies -----------------------------------------------------------------------------------------------------------


def redacted_body(body: bytes) -> bytes:
    """A body without content coding: one JSON document, an event stream, lines of JSON, or any text.

    Bytes that are no UTF-8 are no text and are replaced as a whole, as nobody can say what they hold.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return REDACTED.encode()
    return redacted_text(_joined(text)).encode()


def _joined(text: str) -> str:
    """Secrets that are spread over the events of a stream, or hidden by the escapes of JSON."""
    lines = text.split("\n")
    events: list[tuple[int, str, Any]] = []
    for number, line in enumerate(lines):
        stripped = line.removesuffix("\r")
        prefix = stripped[: len("data:")] if stripped.startswith("data:") else ""
        try:
            events.append((number, prefix, json.loads(stripped[len(prefix) :], parse_int=_Raw, parse_float=_Raw)))
        except (ValueError, RecursionError):
            continue
    if not events and text.lstrip()[:1] in {"{", "["}:
        return _document(text)
    strings: dict[str, list[tuple[int, str]]] = {}
    for place, (_, _, value) in enumerate(events):
        for path, string in _strings(value, ""):
            strings.setdefault(path, []).append((place, string))
    changed: dict[int, dict[str, str]] = {}
    for path, pieces in strings.items():
        for place, replaced in _without(pieces):
            changed.setdefault(place, {})[path] = replaced
    for place, (number, prefix, value) in enumerate(events):
        if place in changed:
            end = "\r" if lines[number].endswith("\r") else ""
            space = " " if lines[number].startswith("data: ") else ""
            lines[number] = f"{prefix}{space}{_dumped(_changed(value, '', changed[place]))}{end}"
    return "\n".join(lines)


def _document(text: str) -> str:
    """One JSON document over several lines."""
    try:
        value = json.loads(text, parse_int=_Raw, parse_float=_Raw)
    except (ValueError, RecursionError):
        return text
    clean = redacted_value(value)
    return text if clean == value else _dumped(clean)


class _Raw(str):
    """A number as it was written."""

    __slots__ = ()


def _dumped(value: Any) -> str:
    if isinstance(value, _Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_dumped(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_dumped, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


# Members that say which of several things an event belongs to: choices, blocks, items, calls.
_NUMBERS = ("index", "output_index", "content_index", "summary_index", "item_id")


def _below(value: dict[str, Any], path: str) -> str:
    return path + "".join(f"[{key}={value[key]}]" for key in _NUMBERS if isinstance(value.get(key), str))


def _strings(value: Any, path: str) -> Iterable[tuple[str, str]]:
    """The strings of a JSON value with their places, which are the same in every event of one row."""
    if isinstance(value, _Raw):
        return
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        path = _below(value, path)
        for key, member in value.items():
            yield from _strings(member, f"{path}.{key}")
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _strings(member, f"{path}.{number}")


def _changed(value: Any, path: str, new: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return new.get(path, value) if not isinstance(value, _Raw) else value
    if isinstance(value, dict):
        path = _below(value, path)
        return {key: _changed(member, f"{path}.{key}", new) for key, member in value.items()}
    if isinstance(value, list):
        return [_changed(member, f"{path}.{number}", new) for number, member in enumerate(value)]
    return value


def _without(pieces: list[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    """The pieces of one text that change when the secrets of the whole go, each with the number of its event."""
    spans = _spans("".join(string for _, string in pieces))
    if not spans:
        return
    start, which = 0, 0
    for place, string in pieces:
        end = start + len(string)
        while which < len(spans) and spans[which][1] <= start:
            which += 1
        made, at, look = [], start, which
        while look < len(spans) and spans[look][0] < end:
            first, last = spans[look]
            made.append(string[at - start : max(first, start) - start])
            if first >= start:
                made.append(REDACTED)
            at = min(last, end)
            look += 1
        if made:
            yield place, "".join(made) + string[at - start :]
        start = end
