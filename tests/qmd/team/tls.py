"""A certificate authority of a test, and a door with TLS in front of a server that has none."""

from __future__ import annotations

import contextlib
import datetime
import select
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

# https://www.postgresql.org/docs/current/protocol-message-formats.html
_TLS_PLEASE = (80877103).to_bytes(4, "big")


def authority(folder: Path, host: str = "localhost") -> tuple[Path, Path]:
    """Make a self-signed certificate of ``host``; returns it, and it with its key."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(exist_ok=True)
    public = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "ca.pem").write_bytes(public)
    (folder / "server.pem").write_bytes(public + private)
    return folder / "ca.pem", folder / "server.pem"


class Door:
    """Takes connections of TLS on ``port`` of loopback, and passes on what is inside; ``heard`` is what clients said.

    Without ``certificate`` it refuses TLS, as a server does that has none.
    """

    def __init__(self, target: Path, certificate: Path | None) -> None:
        self._target = str(target)
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.heard = bytearray()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
            opened.enter_context(client)
            first = client.recv(8)
            while first[4:] != _TLS_PLEASE:
                # Encryption by GSSAPI, which nobody has here.
                client.sendall(b"N")
                first = client.recv(8)
            if self._context is None:
                client.sendall(b"N")
                return
            client.sendall(b"S")
            inside: Any = opened.enter_context(self._context.wrap_socket(client, server_side=True))
            server = opened.enter_context(socket.socket(socket.AF_UNIX))
            server.connect(self._target)
            self._pass(inside, server)

    def _pass(self, inside: Any, server: socket.socket) -> None:
        while True:
            ready, _, _ = select.select([inside, server], [], [])
            if inside in ready:
                data = inside.recv(65536)
                while inside.pending():
                    data += inside.recv(65536)
                if not data:
                    return
                self.heard += data
                server.sendall(data)
            if server in ready:
                data = server.recv(65536)
                if not data:
                    return
                inside.sendall(data)

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()
