"""The secrets that a flow's own headers and URL hold, taken out of everything else of the flow.

A server that repeats a key in its error, or a client that writes it into its prompt, shows a secret that no form gives
away. The request says what it is: what is in its headers that authorise, in cookies and in the keys of its query.
"""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from toolcalls.insight.exchange_record import ExchangeRecord, Pieces
from toolcalls.insight.redaction import REDACTED
from toolcalls.insight.secret_patterns import SECRET_KEY

_LEAST = 8  # characters: a shorter value is a word that is elsewhere, too
_HEADERS = re.compile(r"(?i)(?:proxy-)?authorization|(?:set-)?cookie|(?:.*[_-])?(?:api-?key|token|secret|auth|key)")
_QUERY = re.compile(r"(?i)key|auth|sig|code|jwt|sas|pass|token|secret|.*[_-](?:key|token|secret)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]* +(?=\S)")  # of an authorisation header
# Parts of a Set-Cookie header that hold no secret (RFC 6265, section 4.1).
_ATTRIBUTES = re.compile(r"(?i)expires|max-age|domain|path|secure|httponly|samesite|partitioned|priority")


@dataclass(frozen=True)
class OwnSecrets:
    """What is taken out. `values` are the secrets as they are in a header or a query."""

    values: frozenset[str] = frozenset()

    @cached_property
    def _forms(self) -> list[str]:
        return _forms_of(self.values)

    @cached_property
    def _byte_forms(self) -> list[bytes]:
        return [form.encode("utf-8", "surrogateescape") for form in self._forms]

    @cached_property
    def _text(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._forms)))

    @cached_property
    def _bytes(self) -> re.Pattern[bytes]:
        return re.compile(self._text.pattern.encode("utf-8", "surrogateescape"))

    def text(self, text: str) -> str:
        """A text in which each secret is `REDACTED`."""
        # An expression of several texts takes many times as long as a search for each, and hardly a text holds one.
        return self._text.sub(REDACTED, text) if any(form in text for form in self._forms) else text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where they are in a text."""
        return [found.span() for found in self._text.finditer(text)] if self.values else []

    def body(self, body: bytes) -> bytes:
        """A body without those that are in it in one piece."""
        return self._bytes.sub(REDACTED.encode(), body) if any(form in body for form in self._byte_forms) else body

    def value(self, value: Any) -> Any:
        """Plain data (None, bool, numbers, str, list, dict) without them."""
        if not self.values:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(member) for key, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(member) for member in value]
        return value


NO_SECRETS = OwnSecrets()


def own_secrets(headers: Iterable[tuple[str, str]], url: str = "") -> OwnSecrets:
    """The secrets in some headers, of request and reply, and in the query and the user of a URL."""
    found: set[str] = set()
    for name, value in headers:
        if (read := _reader_of(name)) is not None:
            found.update(read(value))
    parts = urlsplit(url)
    found.update(
        value for name, value in parse_qsl(parts.query) if _QUERY.fullmatch(name) or SECRET_KEY.fullmatch(name)
    )
    found.update(unquote(one) for one in parts.netloc.rpartition("@")[0].split(":")[1:])
    # What was redacted before is none: to look for it would find it in each body that was.
    long = {value for value in found if len(value) >= _LEAST and value != REDACTED}
    return OwnSecrets(frozenset(long)) if long else NO_SECRETS


def secrets_of(record: ExchangeRecord) -> OwnSecrets:
    """The secrets in the headers and the URL of an exchange."""
    return own_secrets((*record.request_headers, *record.response_headers), record.url)


def without_own_secrets(record: ExchangeRecord) -> ExchangeRecord:
    """An exchange whose bodies and report do not repeat what its headers and its URL keep secret.

    What a stream spreads over several events stays, until the reply is read or the body redacted.
    """
    own = secrets_of(record)
    if not own.values:
        return record
    upstream, client = _body(own, record.upstream_body), _body(own, record.client_body)
    return replace(
        record,
        request_body=own.body(record.request_body),
        upstream_request_body=_body(own, record.upstream_request_body),
        upstream_body=upstream,
        client_body=client,
        # The sizes of pieces are those of the body as it came.
        upstream_pieces=record.upstream_pieces if upstream == record.upstream_body else Pieces(),
        client_pieces=record.client_pieces if client == record.client_body else Pieces(),
        status_text=own.text(record.status_text),
        report=own.value(record.report),
        error=own.text(record.error),
    )


def _body(own: OwnSecrets, body: bytes | None) -> bytes | None:
    return None if body is None else own.body(body)


@lru_cache(512)  # the names are the same in nearly all exchanges
def _reader_of(name: str) -> Callable[[str], Iterable[str]] | None:
    """What finds the secrets in a header's value; None for a header that has none."""
    if name.lower().endswith("cookie"):
        return _of_cookies
    is_secret = _HEADERS.fullmatch(name) is not None or SECRET_KEY.fullmatch(name) is not None
    return _of_authorization if is_secret else None


def _of_authorization(value: str) -> Iterable[str]:
    bare = _SCHEME.sub("", value.strip(), count=1)
    yield bare
    if value.strip().lower().startswith("basic "):  # RFC 7617
        try:
            yield from b64decode(bare, validate=True).decode("utf-8", "replace").split(":", 1)[1:]
        except (Error, ValueError):
            return


def _of_cookies(value: str) -> Iterable[str]:
    for one in value.split(";"):
        name, _, content = one.strip().partition("=")
        if not _ATTRIBUTES.fullmatch(name):
            yield content.strip('"')


def _forms_of(values: Iterable[str]) -> list[str]:
    """Each value as it stands, as it is in a URL, and in JSON; the longest first."""
    spelt = {form for value in values for form in (value, quote(value, safe=""), *_in_json(value))}
    return sorted(spelt, key=len, reverse=True)


def _in_json(value: str) -> tuple[str, str]:
    """A value inside a string of JSON; some servers escape slashes."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return escaped, escaped.replace("/", "\\/")
