"""The certificate authorities that an agent and what it starts must trust after a forward proxy.

Most variables for this replace the authorities that a program trusts (`SSL_CERT_FILE`), so the file that they name
holds those of the system and mitmproxy's. `NODE_EXTRA_CA_CERTS` adds, and gets mitmproxy's and those that it named
before. Java reads no variable for this but its own options, and a key store.
"""

import ssl
import warnings
from collections.abc import Mapping
from pathlib import Path

import certifi
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

# Whose value is a file of authorities: Python, Go, Rust, curl, git, cargo, pip, Deno, AWS, Codex, goose, gRPC.
REPLACING = (
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "PIP_CERT"),
    *("DENO_CERT", "AWS_CA_BUNDLE", "CODEX_CA_CERTIFICATE", "GOOSE_CA_CERT_PATH", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"),
)
ADDING = "NODE_EXTRA_CA_CERTS"

# Where systems keep theirs, beside where OpenSSL looks: Debian, Fedora, macOS and Alpine.
_SYSTEM = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_PASSWORD = "changeit"  # Java's own; the store holds nothing that is secret


def is_written(own: Path) -> bool:
    """Whether an authority is there, and whole."""
    try:
        return own.read_bytes().rstrip().endswith(b"-----END CERTIFICATE-----")
    except FileNotFoundError:
        return False


def trusting(own: Path, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables, with their files made in `folder`.

    own           mitmproxy's authority, PEM. Raises OSError where it, or the authorities of the system, cannot be read
    environment   the user's, whose own files are kept in
    """
    mine = own.read_text("ascii")
    everybody = folder / "authorities.pem"
    everybody.write_text(f"{system_authorities(environment).rstrip()}\n{mine}", "utf-8")
    added = folder / "authority.pem"
    before = environment.get(ADDING, "")
    added.write_text(mine + (_text(Path(before)) if before and Path(before).is_file() else ""), "utf-8")
    return dict.fromkeys(REPLACING, str(everybody)) | {ADDING: str(added)}


def system_authorities(environment: Mapping[str, str]) -> str:
    """The authorities that programs trust by themselves, PEM: the user's file, the system's, else certifi's."""
    for path in (environment.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *_SYSTEM):
        if path and Path(path).is_file():
            return _text(Path(path))
    return _text(Path(certifi.where()))


def java_options(own: Path, folder: Path, environment: Mapping[str, str], host: str, port: int) -> str:
    """What `JAVA_TOOL_OPTIONS` must hold; each Java program names it on standard error. "" where the installed
    `cryptography` cannot write Java's key stores (before 44.0).
    """
    serialize = getattr(pkcs12, "serialize_java_truststore", None)
    if serialize is None:
        return ""
    texts = (system_authorities(environment), own.read_text("ascii"))
    found = [one for text in texts for one in certificates(text)]
    store = folder / "authorities.p12"
    entries = [pkcs12.PKCS12Certificate(one, str(number).encode()) for number, one in enumerate(found)]
    store.write_bytes(serialize(entries, serialization.BestAvailableEncryption(_PASSWORD.encode())))
    options = [
        f"-D{scheme}.proxy{key}={value}"
        for scheme in ("http", "https")
        for key, value in (("Host", host), ("Port", port))
    ]
    trust = {"": store, "Type": "PKCS12", "Password": _PASSWORD}
    options += [f"-Djavax.net.ssl.trustStore{key}={value}" for key, value in trust.items()]
    return " ".join([*filter(None, [environment.get("JAVA_TOOL_OPTIONS", "")]), *options])


def certificates(text: str) -> list[x509.Certificate]:
    """Those of a PEM text that can be read: system stores hold some that newer rules refuse."""
    found = []
    for part in text.split("-----BEGIN CERTIFICATE-----")[1:]:
        pem = "-----BEGIN CERTIFICATE-----" + part.partition("-----END CERTIFICATE-----")[0]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of certificates that a later version will refuse, too
                found.append(x509.load_pem_x509_certificate(f"{pem}-----END CERTIFICATE-----\n".encode()))
        except ValueError:
            continue
    return found


def _text(path: Path) -> str:
    """A file of certificates; what is said around them may be in any coding."""
    return path.read_text("utf-8", "replace")
