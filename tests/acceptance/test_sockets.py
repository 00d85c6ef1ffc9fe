"""`moot serve` on a Unix socket, and with TLS: real processes, and clients that are not ours."""

import http.client
import socket
import ssl
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.acceptance.doors import Cli, until
from tests.acceptance.server import first_line

DEADLINE = 60.0


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=DEADLINE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(str(self._path))


def ask(link: http.client.HTTPConnection, path: str, token: str = "") -> tuple[int, str]:
    link.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    answer = link.getresponse()
    return answer.status, answer.read().decode()


@contextmanager
def serving(cli: Cli, *words: str) -> Iterator[str]:
    """A server that ends with the test; what its first line says."""
    with (cli.cwd / "serve.log").open("ab") as log:
        process = cli.spawn(["serve", *words], log)
    try:
        yield first_line(process)
    finally:
        process.kill()
        process.wait(DEADLINE)


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody but this test trusts, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "moot test")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    files = folder / "server.pem", folder / "server.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    return files


def test_a_server_on_a_unix_socket_answers_those_who_may_open_it(tmp_path: Path) -> None:
    """N-7: with a token alone; a socket that a killed server left is taken over, one in use and a file are not."""
    cli, path = Cli(tmp_path / "home", tmp_path), tmp_path / "moot.sock"
    for _ in range(2):
        with serving(cli, "--unix", str(path)) as line:
            assert f"unix:{path}" in line
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
            until(lambda: ask(UnixConnection(path), "/livez")[0] == 200)
            assert ask(UnixConnection(path), "/me")[0] == 401
            status, body = ask(UnixConnection(path), "/me", cli.key)
            assert (status, '"role":"local"' in body) == (200, True)
            refused = cli("serve", "--unix", str(path), code=1)
            assert "another server listens there" in refused.err
    assert path.is_socket()
    note = tmp_path / "note.txt"
    note.write_text("mine")
    cli("serve", "--unix", str(note), code=1)
    assert note.read_text() == "mine"


def test_a_server_with_a_certificate_speaks_tls_alone(tmp_path: Path) -> None:
    """N-7: the cookie of a login is for https alone; a wrong file is one sentence, and nothing is started."""
    cli, (certificate, key) = Cli(tmp_path / "home", tmp_path), write_certificate(tmp_path)
    given = ("--port", "0", "--certificate", str(certificate), "--certificate-key", str(key))
    with serving(cli, *given) as line:
        port = int(line.split("https://127.0.0.1:")[1].split(" ")[0])
        trusting = ssl.create_default_context(cafile=str(certificate))

        def connect() -> http.client.HTTPSConnection:
            return http.client.HTTPSConnection(
                "127.0.0.1", port, context=trusting, timeout=DEADLINE
            )

        until(lambda: ask(connect(), "/livez")[0] == 200)
        assert ask(connect(), "/me", cli.key)[0] == 200
        link = connect()
        origin = {"Origin": f"https://127.0.0.1:{port}", "Content-Type": "application/json"}
        link.request("POST", "/login", f'{{"token": "{cli.key}"}}', origin)
        cookie = link.getresponse().headers["set-cookie"]
        assert "Secure" in cookie
        curl = ["curl", "-sS", "--cacert", str(certificate), f"https://127.0.0.1:{port}/livez"]
        assert (
            "ok"
            in subprocess.run(
                curl, capture_output=True, text=True, timeout=DEADLINE, check=True
            ).stdout
        )
        plain = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        try:
            plain.request("GET", "/livez")
            answered = plain.getresponse().status
        except (OSError, http.client.HTTPException):
            answered = 0
        assert answered == 0
    other = tmp_path / "other.pem"
    other.write_text("not a certificate")
    for words in (
        ("--certificate", str(other)),
        ("--certificate", str(tmp_path / "none.pem")),
        ("--certificate-key", str(key)),
    ):
        assert len(cli("serve", *words, code=2).err.strip().splitlines()) == 1
