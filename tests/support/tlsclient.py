"""TLS on loopback, for tests: both sides of it with mitmproxy's own authority, which lies in mitmdump's folder."""

import ssl
from ipaddress import ip_address
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509 import IPAddress
from mitmproxy.certs import CertStore


def trusting(folder: Path) -> ssl.SSLContext:
    """A client that trusts this authority, and no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority(folder))
    return context


def authority(folder: Path) -> Path:
    """The certificate of the authority."""
    return folder / "mitmproxy-ca-cert.pem"


def upstream_pair(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that this authority has signed, and its key."""
    entry = CertStore.from_store(folder, "mitmproxy", 2048).get_cert("127.0.0.1", [IPAddress(ip_address("127.0.0.1"))])
    pair = folder / "upstream.pem"
    key = entry.privatekey.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pair.write_bytes(entry.cert.to_pem() + key)
    return pair


def serving(folder: Path) -> ssl.SSLContext:
    """An upstream at 127.0.0.1 with such a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(upstream_pair(folder))
    return context
