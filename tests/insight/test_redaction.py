"""Secrets stay out: what is kept of headers, URLs, text and bodies, and that nothing else is."""

import base64
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support import anthropicclient, converseclient, invokeclient
from support.growth import grows_with_its_input
from support.repository import REPO, shared_path
from toolcalls.insight.body_redaction import redacted_body
from toolcalls.insight.redaction import (
    KEPT_HEADERS,
    REDACTED,
    _replaced,
    redacted_headers,
    redacted_text,
    redacted_url,
    redacted_value,
)
from toolcalls.insight.secret_patterns import SECRET

# Made of pieces, so that nobody who searches this repository for secrets finds these.
SECRETS = {
    "openai": "sk-" + "proj-CANARYaaaaaaaaaaaaaaaaaaaa",
    "anthropic": "sk-" + "ant-api03-CANARYaaaaaaaaaaaaa",
    "google": "AIza" + "CANARYaaaaaaaaaaaaaaaaaaaaaaaaa",
    "github": "ghp_" + "CANARYaaaaaaaaaaaaaaaaaaaa",
    "aws": "AKIA" + "CANARY012345",
    "slack": "xoxb-" + "12345-CANARY-aaa",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJDQU5BUlkiOjF9.CANARYaaaaaaaa",
    "hugging-face": "hf_" + "CANARYaaaaaaaaaaaaaaaaaa",
    "slack-cookie": "xoxd-" + "CANARY-aaaaaaaa",
    "docker": "dckr_" + "pat_CANARYaaaaaaaaaaaaaaaaaaaa",
    "shopify": "shp" + "at_CANARYaaaaaaaaaaaaaaaaaaaa",
    "vault": "hvs" + ".CANARYaaaaaaaaaaaaaaaaaaaaaaa",
    "sendgrid": "SG" + ".CANARYaaaaaaaaaaaaaaa.CANARYaaaaaaaaaaaaaaaaaaaaaaa",
    "age": "AGE-SECRET-" + "KEY-1CANARYAAAAAAAAAAAAAAAA",
    "pgp-key": "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\n\nCANARY\n=abc\n-----END PGP PRIVATE " + "KEY BLOCK-----",
    "private-key": "-----BEGIN RSA PRIVATE " + "KEY-----\nCANARY\nabc+/=\n-----END RSA PRIVATE " + "KEY-----",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_in_text_goes_and_what_surrounds_it_stays(secret: str) -> None:
    assert redacted_text(f"use {secret} for it") == f"use {REDACTED} for it"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer CANARY0001", f"Authorization: Bearer {REDACTED}"),
        ("Authorization: token CANARY0001", f"Authorization: token {REDACTED}"),
        ("-H 'X-Auth-Key: CANARY01'", f"-H 'X-Auth-Key: {REDACTED}'"),
        ("AccountName=a;AccountKey=CANARY01==;x=y", f"AccountName=a;AccountKey={REDACTED};x=y"),
        ("SharedAccessKeyName=me;SharedAccessKey=CANARY01", f"SharedAccessKeyName=me;SharedAccessKey={REDACTED}"),
        ("-b 'Cookie: a=CANARY1; b=CANARY2'", f"-b 'Cookie: {REDACTED}'"),
        ("Set-Cookie: sid=CANARY1; Path=/\r\nVia: x", f"Set-Cookie: {REDACTED}\r\nVia: x"),
        ("to https://hooks.slack.com/services/T1/B1/CANARY now", f"to https://hooks.slack.com/services/{REDACTED} now"),
        ("https://discord.com/api/webhooks/123/CANARY_1", f"https://discord.com/api/webhooks/{REDACTED}"),
        ("refresh_token=CANARY0012&x=1", f"refresh_token={REDACTED}&x=1"),
        ('{"api_key": "CANARY01"}', f'{{"api_key": "{REDACTED}"}}'),
        (r'{"arguments":"{\"password\":\"CANARY01\"}"}', rf'{{"arguments":"{{\"password\":\"{REDACTED}\"}}"}}'),
        ("export OPENAI_API_KEY='CANARY01'", f"export OPENAI_API_KEY='{REDACTED}'"),
        (r'{"command":"echo\nsk-CANARY01"}', rf'{{"command":"echo\n{REDACTED}"}}'),
        (r'{"command":"echo\u000ask-CANARY01"}', rf'{{"command":"echo\u000a{REDACTED}"}}'),
        ("https://me:CANARY01@example.org/x", f"https://{REDACTED}@example.org/x"),
        ("AWS4-HMAC-SHA256 Credential=CANARY01/x, Signature=CANARY02",
         f"AWS4-HMAC-SHA256 Credential={REDACTED}, Signature={REDACTED}"),
    ],
    ids=[
        "bearer", "another scheme", "a header of a vendor", "a connection", "shared access", "cookies",
        "a cookie that is set", "slack hook", "discord hook", "form", "json", "json-in-json", "shell", "escape",
        "unicode-escape", "url", "sigv4",
    ],
)  # fmt: skip
def test_a_secret_behind_its_name_goes(text: str, clean: str) -> None:
    assert redacted_text(text) == clean


KEY = "abc123CANARY"
SERVICE = "-----BEGIN PRIVATE " + r"KEY-----\nCANARY\n-----END PRIVATE " + "KEY-----"
# What comes before a secret, the secret, and what comes after it, as people and models write them.
WRITTEN = {
    "shell variable": ("export TOKEN=", KEY, " && make"),
    "shell variable of a vendor": ("STRIPE_KEY='", KEY, "'"),
    "shell password": ("PGPASSWORD=", "CANARY", " psql"),
    "option": ("gh auth login --token ", "CANARY", " --x"),
    "option of several words": ("tool --db-password=", "CANARY", ""),
    "option in quotes": ("tool --api-key '", "CANARY", "' --x"),
    "curl": ("curl -u ", "alice:CANARY", " https://x.y/"),
    "curl in full": ("curl --user '", "alice:CANARY", "' https://x.y/"),
    "bearer without digits": ("Authorization: Bearer ", "canarycanarycanary", ""),
    "basic": ("Authorization: Basic ", "Q0FOQVJZOmFiYw==", ""),
    "vendor's header": ("-H 'PRIVATE-TOKEN: ", KEY, "'"),
    "subscription": ("-H 'Ocp-Apim-Subscription-Key: ", KEY, "'"),
    "quoted, with blanks": ('password = "', "CANARY of mine, (really)", '"'),
    "json with signs": ('{"password": "', "p(CANARY)w;rd", '"}'),
    "json in json with signs": (r'{\"password\": \"', "p(CANARY)w;rd", r'\"}'),
    "python": ("token = '", KEY, "'"),
    "ruby": ("'password' => '", "CANARY", "'"),
    "xml": ("<password>", "CANARY", "</password>"),
    "an argument of a call": ('<parameter name="password">', "CANARY", "</parameter>"),
    "an argument of a function tag": ("<parameter=api_key>", "CANARY", "</parameter>"),
    "an argument in two elements": ("<arg_key>password</arg_key>\n<arg_value>", "CANARY", "</arg_value>"),
    "yaml": ("    token: ", KEY, "\n"),
    "rails": ("secret_key_base: ", KEY, "\n"),
    "docker": ('"auth": "', "Q0FOQVJZOmFiYw==", '"'),
    "kubernetes": ("client-key-data: ", "LS0tLS1CQUNBTkFSWQ==", "\n"),
    "a service account": ('"private_key": "', SERVICE, r'\n"'),
    "connection": ("postgres://", "u:CANARY", "@h/db"),
    "connection without a user": ("redis://", ":CANARY", "@h:6379"),
    "twilio": ("sid ", "AC" + "0123456789abcdef" * 2, " ok"),
    "telegram": ("https://api.telegram.org/", "bot" + "123456789:AA" + "CANARYaaa" * 4, "/getMe"),
    "gitlab runner": ("use ", "glrt" + "-CANARYaaaaaaaaaaaaaaa", " now"),
    "notion": ("use ", "ntn" + "_CANARYaaaaaaaaaaaaaaaaaaaaa", " now"),
    "mysql": ("mysql -u root -p", "CANARY", " -h db app < dump.sql"),
    "mysqldump": ("mysqldump -uroot -p", "S3!CANARY", " x > y"),
    "mariadb, in quotes": ("mariadb -u a -p'", "CANARY of mine", "' x"),
    "a program in JSON": (r'{"command":"cd x\nmysql -p', "CANARY", r' db\nls"}'),
    "sshpass": ("sshpass -p ", "CANARY", " ssh me@h"),
    "docker login": ("docker login -u me -p ", "CANARY", " registry.io"),
    "mongo": ("mongosh -u a -p ", "CANARY", " --host h"),
    "redis-cli": ("redis-cli -h h -a ", "CANARY", " ping"),
    "7z": ("7z x -p", "CANARY", " a.7z"),
    "unzip": ("unzip -P ", "CANARY", " a.zip"),
    "ldapsearch": ("ldapsearch -x -w ", "CANARY", " -b dc=x"),
    "openssl": ("openssl rsa -in k.pem -passin pass:", "CANARY", " -out x"),
    "smbclient": ("smbclient //h/s -U me%", "CANARY", " -c ls"),
    "aws configure": ("aws configure set aws_secret_access_key ", "CANARY/aaa", "\n"),
    "a .netrc": ("machine example.org login me password ", "CANARY", "\n"),
    "a .netrc over lines": ("machine example.org\n  login me\n  password ", "CANARY", "\n"),
    "a .netrc for all": ("default login anonymous password ", "CANARY", "\n"),
    "a .netrc with an account": ("machine h login u account a password ", "CANARY", "\nmachine i"),
    "SQL": ("CREATE USER 'x' IDENTIFIED BY '", "CANARY", "';"),
    "SQL of PostgreSQL": ("ALTER ROLE x WITH PASSWORD '", "CANARY", "';"),
    "a short variable": ("SMTP_PASS=", "CANARY", " ./run"),
    "a short variable in YAML": ("  SMTP_PASS: ", "hunter2", "\n"),
    "a sentence": ("the password is ", "hunter2", " of course"),
    "a sentence in backticks": ("My password is `", "CANARY", "`, ok"),
    "a sentence in quotes": ("the passphrase was '", "correct horse CANARY", "'."),
    "a sentence about a change": ("set the password to ", "CANARY1!", " then"),
    "German": ("Das Passwort lautet ", "hunter2", "\n"),
    "Spanish": ("contrase\u00f1a: ", "hunter2", "\n"),
    "Chinese": ("\u5bc6\u7801\u662f", "hunter2", "\n"),
    "a Dockerfile": ("ENV API_KEY ", "CANARY", "\n"),
    "Windows": ("setx OPENAI_API_KEY \"", "CANARY", '"'),
    "fish": ("set -gx DB_PASSWORD ", "CANARY", "; and ls"),
    "csh": ("setenv GITHUB_TOKEN ", "CANARY", "\n"),
    "a program in JSON that sets": (r'{"command":"setx API_KEY ', "CANARY", r'\nls"}'),
    "a short name": ("connect(user=a, pw=", "CANARY", ")"),
    "a short name in JSON": ('{"pw": "', "CANARY01", '"}'),
    "a code of OAuth": ("http://localhost/cb?code=", "4/0ACANARY-aaa", "&state=1"),
    "a code behind others": ("http://localhost/cb?state=1&code=", "CANARYaaaaaa", " now"),
    "telegram's other form": ("TG=", "6123456789:CANARY" + "a" * 29, " x"),
    "a key in a sentence": ("your API key is ", "CANARY0001", " now"),
}  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_a_secret_as_people_write_it_goes(written: tuple[str, str, str]) -> None:
    before, secret, behind = written
    assert redacted_text(f"Look: {before}{secret}{behind}") == f"Look: {before}{REDACTED}{behind}"
    events = b"".join(
        b'data: {"delta": %s}\n\n' % json.dumps(character).encode() for character in f"Look: {before}{secret}{behind}"
    )
    told = redacted_body(events).decode()
    heard = "".join(json.loads(line[6:])["delta"] for line in told.split("\n") if line)
    assert heard == f"Look: {before}{REDACTED}{behind}"


@pytest.mark.parametrize(
    "text",
    [
        "docker run -u 1000:1000 image; git push -u origin main; sort -u file; sqlmap -u http://example.org/",
        '{"token": " hello", "logprob": -0.5, "next_token": null}',
        "sort_key: created_at, key: value, keys: 1234567890",
        "token = tokens[index]; key = a.b.c; auth: required",
        "Use --auth basic or --token-file x.",
        "<author>Somebody</author> <key>name</key>",
        "The token count is 12, the password field is required.",
        "def login(password: str) -> None: ...",
        "api_key = os.environ['KEY']",
        '{"max_tokens": 4096, "total_tokens": 99, "prompt_tokens": 1}',
        "Basic usage: see the manual. Bearer tokens are explained there.",
        "task-list and disk-usage-reporting-tool",
        "Cookies are stored. The token Example1 is no secret. SG.1 hvs.x",
        "a commit 0b3c3a4f6e1d2c3b4a5968778695a4b3c2d1e0f9",
        "Your password is incorrect; the password is not set. The password to the server is lost.",
        "The password is base64-encoded, the password is utf-8. The password is 12-character long.",
        "Set the password to 8 characters, the 2nd password is 'required'.",
        "login with password authentication; default login page; The machine admin password expired",
        "docker run -p 8080:80 x; docker compose -p name up; mkdir -p a/b1; ssh -p 2222 h; mongo -p --host x",
        "mysql -u root -p; mysql -p db1 < dump.sql; mysql -P 3306 --protocol=tcp app1; zip -r a1.zip dir",
        "redis-cli -p 6379 ping; openssl req -passin env:PW1 -key k.pem; oc login -u me https://x1",
        "FIRST_PASS=true LAST_PASS=$PASS1 PASS=12; test_pass: yes, two_pass: lexing",
        "Das Passwort ist falsch. Le mot de passe est requis. \u5bc6\u7801\u662f\u5fc5\u9700\u7684",
        "The api key is required, the access token is valid for 3600 seconds, and the secret key is utf-8-encoded.",
        "set -x; ENV PATH /usr/local/bin; set -x KEYMAP us; setx PATH C:/x; ENV API_KEY $KEY; env KEY_FILE a1",
        "http://h/?code=404 and ?code=not_found; if pw = get(): PW is read; a pw: str; 12345678:30 and 1234567890:x",
        "7zip is great -pretty1 much, and identified by name1 with password protection",
    ],
)
def test_text_without_secrets_stays(text: str) -> None:
    assert redacted_text(text) == text


@given(st.text(max_size=300))
def test_what_was_redacted_stays_as_it_is(text: str) -> None:
    once = redacted_text(text)
    assert redacted_text(once) == once


def test_headers_are_kept_by_name() -> None:
    given_ = [("Content-Type", "text/event-stream"), ("X-Api-Key", "CANARY"), ("x-vendor-auth-token", "CANARY"),
              ("User-Agent", "claude-cli/2.1"), ("Set-Cookie", "CANARY=1"), ("Set-Cookie", "b=CANARY")]  # fmt: skip
    assert redacted_headers(given_) == [
        ("Content-Type", "text/event-stream"),
        ("X-Api-Key", REDACTED),
        ("x-vendor-auth-token", REDACTED),
        ("User-Agent", "claude-cli/2.1"),
        ("Set-Cookie", REDACTED),
        ("Set-Cookie", REDACTED),
    ]


def test_no_header_that_authorises_is_on_the_list() -> None:
    words = ("auth", "cookie", "key", "secret", "credential", "organization", "account", "user-id")
    assert [name for name in KEPT_HEADERS if any(word in name for word in words)] == []


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("/v1/x?alt=sse&key=CANARY", f"/v1/x?alt=sse&key={REDACTED}"),
        ("/v1/x?alt=CANARY", f"/v1/x?alt={REDACTED}"),
        ("/v1/messages?beta=true", "/v1/messages?beta=true"),
        ("/v1/x?CANARY", f"/v1/x?{REDACTED}"),
        ("https://a:CANARY@h:1/p?api-version=2024-10-21#CANARY", "https://h:1/p?api-version=2024-10-21"),
        (f"/{SECRETS['openai']}/v1/chat/completions", f"/{REDACTED}/v1/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
    ],
)
def test_urls(url: str, clean: str) -> None:
    assert redacted_url(url) == clean


def test_the_canaries() -> None:
    """T2 of the threats: nothing of them is left of a header, a path or a body."""
    cases = [json.loads(line) for line in shared_path("suites/threats.jsonl").read_text("utf-8").splitlines()]
    canaries = [case["header"] for case in cases if case["category"] == "secrets"]
    assert len(canaries) == 14
    for header in canaries:
        for name, value in header.items():
            if name == ":path":
                shown = redacted_url(value)
            elif name == "body":
                shown = redacted_body(value.encode()).decode()
            else:
                shown = str(redacted_headers([(name, value)]))
            assert "CANARY" not in shown
            assert "Q0FOQVJZ" not in shown
            assert REDACTED in shown


def _stream(text: str, size: int) -> bytes:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    events = [{"choices": [{"index": 0, "delta": {"content": piece}}], "n": 1e400} for piece in pieces]
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events) + b"data: [DONE]\n\n"


def _said(body: bytes) -> str:
    events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
    return "".join(event["choices"][0]["delta"]["content"] for event in events)


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_that_is_spread_over_a_stream_goes(secret: str, size: int) -> None:
    body = redacted_body(_stream(f"use {secret} and {secret} for it", size))
    assert _said(body) == f"use {REDACTED} and {REDACTED} for it"
    assert body.endswith(b"data: [DONE]\n\n")


BEDROCK = {
    "converse": (converseclient.written, converseclient.received),
    "invoke": (invokeclient.written, invokeclient.received),
}


@pytest.mark.parametrize("size", [1, 5, 100])
@pytest.mark.parametrize(("said", "heard"), BEDROCK.values(), ids=BEDROCK)
def test_a_secret_in_a_stream_of_bedrocks_goes(said: Any, heard: Any, size: int) -> None:
    """What is left is a stream that the client reads, checksums and all."""
    text = f"use {SECRETS['openai']} for it"
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    body = said(anthropicclient.stream([anthropicclient.text(*pieces)]))
    if size > 1:
        assert base64.b64encode(b"CANARY") not in redacted_body(body)
    assert heard(redacted_body(body)).text == f"use {REDACTED} for it"
    sound = said(anthropicclient.stream([anthropicclient.text("nothing ", "secret")]))
    assert redacted_body(sound) == sound
    assert redacted_body(body[:-1]) == REDACTED.encode()
    assert redacted_body(body.replace(b":message-type", b":message-typo")) == REDACTED.encode()


def test_two_choices_do_not_mix() -> None:
    key = SECRETS["openai"]
    events = [
        {"choices": [{"index": n, "delta": {"content": key[m : m + 4]}}]} for m in range(0, len(key), 4) for n in (0, 1)
    ]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events)
    assert b"CANARY" not in redacted_body(body)
    assert redacted_body(body).decode().count(REDACTED) == 2


def test_an_escaped_secret_in_a_document_goes_and_numbers_stay() -> None:
    key = SECRETS["openai"]
    escaped = "".join(f"\\u{ord(one):04x}" for one in key)
    body = f'{{"a": "{escaped}",\n "n": 12345678901234567890.10, "b": [1e400]}}'.encode()
    clean = redacted_body(body)
    assert json.loads(clean)["a"] == REDACTED
    assert b"12345678901234567890.10" in clean
    assert b"1e400" in clean


@pytest.mark.parametrize("body", [b"", b"data: {}\r\n\r\n", b'{"a":1}', b"[" * 100_000, b": hello\n\ndata: x\n\n"])
def test_a_body_without_secrets_stays_byte_for_byte(body: bytes) -> None:
    assert redacted_body(body) == body


def test_bytes_that_are_no_text_go_as_a_whole() -> None:
    assert redacted_body(b"\xff\xfe" + SECRETS["openai"].encode()) == REDACTED.encode()


def test_plain_data() -> None:
    assert redacted_value({"api_key": "x", "a": [SECRETS["aws"], 1, None], "name": "Bash"}) == {
        "api_key": REDACTED,
        "a": [REDACTED, 1, None],
        "name": "Bash",
    }


_NOISE = [
    *(
        "pa\u017f\u017fword: hunter22222 ",
        "\u212aey-",
        "密码：secret1234",
        "contraseña = abcd12345",
        "é",
        "?",
        "&amp;key=abcdefgh",
        "\x85",
    ),
    *(
        "https://user:pass@host/x ",
        "mysql -u root -pSecret ",
        "the quick brown fox ",
        "\\n",
        '"',
        " ",
        "=",
        "token",
        "-",
    ),
    *("curl -u me:secret ", "export API_KEY=", "Authorization: Bearer abcdef123456", "task-", "--password ", "PASS="),
]


@given(st.lists(st.sampled_from([*_NOISE, *SECRETS.values()]) | st.text(max_size=3), max_size=12))
@example(["a" * 70, SECRETS["aws"]])
@example(["x" * 70, "pa\u017f\u017fword: hunter22222 "])
def test_the_quick_search_finds_what_the_pattern_finds(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert redacted_text(text) == SECRET.sub(_replaced, text)


@pytest.mark.parametrize("name", ["README.md", "SECURITY.md", "tests/insight/test_redaction.py", "docs/starting.md"])
def test_the_quick_search_agrees_on_whole_pages(name: str) -> None:
    text = (REPO / name).read_text()
    assert redacted_text(text) == SECRET.sub(_replaced, text)


@pytest.mark.parametrize(
    "unit",
    [
        "sk-",
        "a",
        "eyJ",
        "-",
        "-----BEGIN PRIVATE KEY-----",
        "token=",
        "://",
        "Bearer ",
        "A:",
        "\\",
        "eyJaaaaaaaa.",
        "mysql -u ",
        "machine a login b ",
        "password is a",
        "PASS=",
        "with password ",
        "api key is a",
        "openssl ",
    ],
)
def test_work_is_linear(unit: str) -> None:
    grows_with_its_input(lambda size: partial(redacted_text, unit * (size // len(unit))), 20_000)
