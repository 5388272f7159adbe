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


def serving(folder: Path) -> ssl.SSLContext:
    """An upstream at 127.0.0.1 with a certificate that this authority has signed."""
    entry = CertStore.from_store(folder, "mitmproxy", 2048).get_cert("127.0.0.1", [IPAddress(ip_address("127.0.0.1"))])
    pair = folder / "upstream.pem"
    pair.write_bytes(entry.privatekey.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pair.open("ab") as file:
        file.write(entry.cert.to_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    return context
