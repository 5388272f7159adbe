"""What programs trust after the forward proxy: files of authorities, and what they held before."""

import ssl
import subprocess
from pathlib import Path

import pytest
from mitmproxy.certs import CertStore

from toolcalls.tools.run.authorities import (
    ADDING,
    REPLACING,
    certificates,
    is_written,
    java_options,
    system_authorities,
    trusting,
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority as mitmproxy makes it."""
    folder = tmp_path_factory.mktemp("ca")
    CertStore.create_store(folder, "mitmproxy", 2048)
    return folder / "mitmproxy-ca-cert.pem"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority that the user trusted before."""
    folder = tmp_path_factory.mktemp("other")
    CertStore.create_store(folder, "other", 2048)
    return folder / "other-ca-cert.pem"


def holds(file: str, authority: Path) -> bool:
    (wanted,) = certificates(authority.read_text())
    return wanted in certificates(Path(file).read_text())


def test_files_hold_mitmproxys_authority_and_the_systems(own: Path, tmp_path: Path) -> None:
    made = trusting(own, tmp_path, {})
    assert set(made) == {*REPLACING, ADDING}
    assert all(holds(file, own) for file in made.values())
    assert (
        len(certificates(Path(made["SSL_CERT_FILE"]).read_text())) == len(certificates(system_authorities({}))) + 1 > 10
    )
    assert len(certificates(Path(made[ADDING]).read_text())) == 1
    assert ssl.create_default_context(cafile=made["SSL_CERT_FILE"]).cert_store_stats()["x509_ca"] > 10


def test_what_the_user_trusted_is_still_trusted(own: Path, other: Path, tmp_path: Path) -> None:
    made = trusting(own, tmp_path, {"SSL_CERT_FILE": str(other), ADDING: str(other)})
    assert holds(made["SSL_CERT_FILE"], other)
    assert holds(made[ADDING], other)


def test_without_an_authority_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        trusting(tmp_path / "none.pem", tmp_path, {})


def test_an_authority_is_there_when_it_is_whole(own: Path, tmp_path: Path) -> None:
    written = tmp_path / "ca.pem"
    assert not is_written(written)
    written.write_bytes(own.read_bytes()[:500])
    assert not is_written(written)
    written.write_bytes(own.read_bytes())
    assert is_written(written)


def test_java_is_given_a_store_of_its_own(own: Path, other: Path, tmp_path: Path) -> None:
    environment = {"SSL_CERT_FILE": str(other), "JAVA_TOOL_OPTIONS": "-Dmine=1"}
    options = java_options(own, tmp_path, environment, "127.0.0.1", 8080).split()
    assert options[0] == "-Dmine=1"
    assert {"-Dhttps.proxyHost=127.0.0.1", "-Dhttps.proxyPort=8080", "-Dhttp.proxyPort=8080"} < set(options)
    store = next(word.partition("=")[2] for word in options if word.startswith("-Djavax.net.ssl.trustStore="))
    assert Path(store).is_file()
    listed = subprocess.run(
        ["openssl", "pkcs12", "-in", store, "-passin", "pass:changeit", "-nokeys"], capture_output=True, check=False
    )
    assert listed.returncode == 0, listed.stderr
    assert len(certificates(listed.stdout.decode())) == 2
