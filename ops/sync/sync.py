"""``brain sync``: the corpus as a git repository, and several machines with one memory.

Every machine writes a branch of its own: its documents, its tombstones, its telemetry. So no two machines conflict, and
nothing is merged. Documents of other machines go below ``machines/NAME`` of each collection. The bare repository is
``BRAIN_HOME/sync.git``; it holds nothing derived.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import time
from os.path import isabs, isdir, join
from typing import TYPE_CHECKING, Any

from core import clock, telemetry
from core.config import MACHINES
from core.counting import counted
from core.errors import BadInput, BrainError, Refused
from core.files import FileLock, read_or_none
from core.home import make_private
from core.tombstones import FILE as TOMBSTONES
from core.tombstones import Tombstones
from ops import snapshot
from ops.sync import pull
from ops.sync.git import ABANDONED_S, Blob, Damaged, Repository, local, masked, oid
from ops.sync.pull import LARGEST
from ops.sync.state import State, is_address, valid
from runtime.capture.indexing import index
from runtime.forgetting.verify_erasure import holds as found_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from core.config import Config
    from core.home import Home

FOLDER = "sync.git"
_LOCK = "sync.lock"
_WAIT_S = 60.0
BRANCHES = "refs/heads/"
OTHERS = "refs/machines/"
# Where ``--ssh HOST`` has the repository, below the user's folder there; what a host and another path may be.
SSH_PATH = "brain-sync.git"
_HOST = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PATH = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./~-]*")


def sync(
    home: Home,
    config: Config,
    environ: Mapping[str, str],
    *,
    remote: str = "",
    folder: str = "",
    ssh: str = "",
    name: str = "",
) -> dict[str, Any]:
    """Pull other machines' documents, commit and push this machine's; return the envelope of ``brain sync --json``.

    ``remote``, ``folder`` or ``ssh`` (HOST or HOST:PATH; a bare repository there, made where it is missing) are
    remembered, as is ``name``. Without any, now or before, it only commits. Raises BadInput, Refused, EngineMissing if
    there is no git, EngineTimeout, LockContention.
    """
    started = time.perf_counter()
    home.make()
    with FileLock(join(home.state, _LOCK), _WAIT_S):
        Tombstones(home)  # unreadable tombstones must not be sent
        state = State(home)
        host, path = _of_ssh(ssh)
        _settle(state, [remote, folder, f"{host}:{path}" if host else ""], name)
        with _noting(state):
            make_private(home.path(FOLDER))
            repository, unlocked = _own(home, environ)
            if host:
                repository.make_there(host, path)
            if folder:
                make_private(state.remote)
                Repository(state.remote, environ).make()
            if there := local(state.remote):
                unlocked += Repository(there, environ).release(ABANDONED_S)
            pulled = pull.Pulled()
            branch = BRANCHES + state.name
            if state.remote:
                repository.fetch(state.remote, OTHERS)
                heard = repository.times(OTHERS)
                _prove(home, config, repository, state)
                for other, commit in sorted(repository.refs(OTHERS).items()):
                    if other != state.name and valid(other):
                        pull.lay_down(home, config, repository, state, other, commit, pulled)
                        state.machines[other]["heard"] = heard.get(other, 0)
                _drop_gone(home, config, repository, state, pulled)
            committed, files = _commit(home, config, repository, state, branch)
            pushed = False
            if state.remote:
                pushed = _push(repository, state, branch)
            beyond = _purge(repository, state, environ) if state.purge or pulled.rewritten else []
            repository.tidy()
    indexed = bool(pulled.changed)
    if indexed:
        index(home, config, markdown_only=True, trust_stat=True)
    return {
        "schema": 1,
        "ok": True,
        "machine": state.name,
        "remote": masked(state.remote),
        "documents": files,
        "committed": committed,
        "pushed": pushed,
        "machines": {other: len(held.get("files") or {}) for other, held in sorted(state.machines.items())},
        "added": pulled.added,
        "removed": pulled.removed,
        "forgotten": pulled.forgotten,
        "kept": pulled.kept,
        "skipped": pulled.skipped,
        "redacted": pulled.redacted,
        "unlocked": unlocked,
        "beyond": beyond,
        "indexed": indexed,
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
    }


def forget(home: Home, config: Config, environ: Mapping[str, str], documents: list[tuple[str, str]]) -> list[str]:
    """Remove forgotten documents from this home's history at once; the next ``sync`` removes them from the others.

    The history restarts with the present documents. Return sentences on who holds the text until then, [] if this home
    is not synchronised. Raises LockContention, Internal, EngineMissing.
    """
    if not configured(home):
        return []
    with FileLock(join(home.state, _LOCK), _WAIT_S):
        state = State(home)
        repository, _ = _own(home, environ)
        if repository.fault():
            repository = _restart(home, environ)
        unknown = not state.name
        if unknown:
            # Only this machine writes its branch, so the branch gives the name that was lost with the settings.
            ours = sorted(filter(valid, repository.refs(BRANCHES)))
            _settle(state, ["", "", ""], ours[0] if len(ours) == 1 else "")
        for collection, path in documents:
            parts = path.split("/", 2)
            if len(parts) == 3 and parts[0] == MACHINES:
                state.removed.append([parts[1], collection, parts[2]])
        state.purge = True
        state.save()
        try:
            _begin_history(home, config, repository, state)
        except Damaged:
            _begin_history(home, config, _restart(home, environ), state)
        if not state.remote:
            state.purge = unknown
            state.save()
            lost = (
                "the repository that this home was synchronised with is not known any more and may hold it: brain sync"
            )
            return [f"{lost} --remote URL"] if unknown else []
    said = f"{masked(state.remote)} and the other machines hold it until they and this one have run `brain sync`"
    return [said, *_former(state, state.former)]


def _begin_history(home: Home, config: Config, repository: Repository, state: State) -> None:
    """Commit what there is now as the only commit, and remove every object that it does not need."""
    _commit(home, config, repository, state, BRANCHES + state.name)
    repository.drop(OTHERS)
    repository.drop(BRANCHES, keep=state.name)
    repository.purge()


def unlock(home: Home, environ: Mapping[str, str]) -> list[str]:
    """Remove the locks that killed gits have left; returns them. Raises LockContention while a sync runs."""
    with FileLock(join(home.state, _LOCK), _WAIT_S):
        return _own(home, environ)[1]


def restart(home: Home, environ: Mapping[str, str]) -> str:
    """Replace a damaged repository by an empty one; the next ``sync`` fills it from the documents and the remote.

    Raises LockContention, Internal, EngineMissing.
    """
    with FileLock(join(home.state, _LOCK), _WAIT_S):
        state = State(home)
        # The branch on the remote is replaced as after a forget: it has no commit in common with the new one.
        state.purge = True
        state.save()
        _restart(home, environ)
    return "the repository is empty; brain sync fills it from the documents"


def _restart(home: Home, environ: Mapping[str, str]) -> Repository:
    shutil.rmtree(home.path(FOLDER))
    make_private(home.path(FOLDER))
    return _own(home, environ)[0]


def _own(home: Home, environ: Mapping[str, str]) -> tuple[Repository, list[str]]:
    """Return this home's repository, ready for use, and the locks of killed gits that were removed from it."""
    repository = Repository(home.path(FOLDER), environ)
    unlocked = repository.release()
    repository.reset_settings()
    return repository, unlocked


def holds(home: Home, environ: Mapping[str, str], probes: list[bytes]) -> bool:
    """Return True if a document in the home's repository, of a branch or of none, holds one of ``probes`` (lower case).

    A blob above ``LARGEST`` is no document. A damaged repository may hold anything.
    Raises Internal, EngineMissing.
    """
    if not probes or not configured(home):
        return False
    repository = Repository(home.path(FOLDER), environ)

    try:
        documents = (blob for blob in repository.blobs() if blob.size <= LARGEST)
        return any(found_in(data.lower(), probes) for _, data in repository.contents(documents))
    except Damaged:
        return True


def own_files(home: Home, config: Config) -> dict[str, str]:
    """Path in the tree (collection/…) → file, of every document that this machine has itself."""
    found: dict[str, str] = {}
    inside, _ = snapshot.parts(home, config)
    folders = set(inside.values())
    for name, folder in config.collections.items():
        if folder.path not in folders:
            continue
        for place, below, names in os.walk(folder.path):
            below[:] = sorted(
                each for each in below if not each.startswith(".") and not (place == folder.path and each == MACHINES)
            )
            for each in sorted(names):
                path = join(place, each)
                if each.startswith(".") or "\n" in path or os.path.islink(path) or not os.path.isfile(path):
                    continue
                if os.path.getsize(path) <= LARGEST:
                    found[f"{name}/{os.path.relpath(path, folder.path)}"] = path
    return found


@contextlib.contextmanager
def _noting(state: State) -> Iterator[None]:
    """Note in ``state`` when a run began that reached the remote, or failed."""
    began = clock.now()
    try:
        yield
    except (BrainError, OSError):
        state.failed = began
        state.save()
        raise
    state.synced, state.failed = began if state.remote else 0, 0
    state.save()


def _of_ssh(given: str) -> tuple[str, str]:
    """Return (host, path of the repository there, relative to the user's folder) of ``--ssh``. Raises BadInput."""
    host, _, path = given.partition(":")
    path = path or SSH_PATH
    if given and not (_HOST.fullmatch(host) and _PATH.fullmatch(path)):
        raise BadInput(
            f"not a host that ssh can reach: {given!r}", "brain sync --ssh me@host, or --ssh host:memory.git"
        )
    return host, path


def _settle(state: State, places: list[str], name: str) -> None:
    """Take the new remote, the only one of ``places`` (an address, a folder, a place by ssh), and the new name."""
    given = [place for place in places if place]
    remote, folder, _ = places
    if len(given) > 1:
        raise BadInput("--remote, --dir and --ssh exclude each other", "brain sync --dir /media/disk/brain.git")
    if not is_address(remote):
        raise BadInput(f"not an address of a repository: {remote!r}", "brain sync --remote git@host:me/brain.git")
    if folder and not isabs(folder):
        raise BadInput(f"not an absolute folder: {folder}", "brain sync --dir /media/disk/brain.git")
    state.remote = given[0] if given else state.remote
    if name and not valid(name):
        raise BadInput(f"not a name for a machine: {name!r}", "small letters, digits and -: brain sync --as laptop")
    if name and name != state.name:
        state.rename(name)
    if not state.name:
        host = "".join(each if valid(each) else "-" for each in socket.gethostname().lower().split(".")[0]).strip("-")
        state.rename(f"{host[:40] or 'machine'}-{secrets.token_hex(2)}")
    state.save()


def _prove(home: Home, config: Config, repository: Repository, state: State) -> None:
    """Raise Refused if a restored or renamed home lacks a document that its branch on the remote has.

    A commit of such a home would remove the document from all other machines.
    """
    if not state.unproven:
        return
    commit = repository.commit_of(OTHERS + state.name)
    sent = repository.tree(commit) if commit else {}
    here = own_files(home, config)
    lacking = [
        path
        for path, blob in sent.items()
        if not path.startswith(pull.META) and (path not in here or _oid_of(here[path]) != blob.oid)
    ]
    if lacking:
        documents = counted(len(lacking), "document")
        raise Refused(
            f"{masked(state.remote)} has {documents} of {state.name} that this home lacks or has in another form:"
            " it was restored from a backup, or renamed",
            "brain sync --as NEWNAME, which brings them in as another machine's",
        )
    state.unproven = False


def _oid_of(path: str) -> str:
    data = read_or_none(path)
    return "" if data is None else oid(data)


def _commit(home: Home, config: Config, repository: Repository, state: State, branch: str) -> tuple[bool, int]:
    """Return (whether there was anything to commit, how many documents there are)."""
    last = repository.commit_of(branch)
    known = repository.tree(last) if last else {}
    files: dict[str, Blob | bytes] = {}
    changed = False
    for path, place in own_files(home, config).items():
        with contextlib.suppress(FileNotFoundError):
            with open(place, "rb") as stream:
                data = stream.read()
            same = known.get(path)
            if same is not None and same.oid == oid(data):
                files[path] = same
            else:
                files[path] = data
                changed = True
    documents = len(files)
    meta = {TOMBSTONES: read_or_none(join(home.state, TOMBSTONES)), "usage.jsonl": _usage(home)}
    meta["removed.json"] = json.dumps(state.removed).encode("utf-8", "surrogateescape") if state.removed else None
    for name, content in meta.items():
        if content is not None:
            files[f"{pull.META}{name}"] = content
            # New telemetry alone is no reason to commit.
            same = known.get(f"{pull.META}{name}")
            changed |= name != "usage.jsonl" and (same is None or same.oid != oid(content))
    changed |= bool(known.keys() - files.keys())
    now = clock.now()
    # A machine that writes nothing is heard once a day all the same.
    changed |= bool(state.remote) and now - repository.times(branch).get("", now) > clock.DAY
    if not changed and last and not state.purge:
        return False, documents
    repository.commit(
        branch,
        files,
        f"{counted(documents, 'document')} of {state.name}, {clock.iso(now)}\n",
        now,
        "" if state.purge else last,
    )
    return True, documents


def _usage(home: Home) -> bytes | None:
    """Return the ledger and what was rotated out of it, oldest first, as much as may travel; None if there is none."""
    parts: list[bytes] = []
    for path in reversed(telemetry.ledgers(home)):
        data = read_or_none(path) or b""
        if sum(map(len, parts)) + len(data) >= LARGEST:
            break
        parts.append(data if not data or data.endswith(b"\n") else data + b"\n")
    return b"".join(reversed(parts)) or None


def _push(repository: Repository, state: State, branch: str) -> bool:
    """Push this machine's branch; False if the remote has it already."""
    ours, theirs = repository.commit_of(branch), repository.commit_of(OTHERS + state.name)
    if ours == theirs:
        return False
    # Only a purged history may replace the remote's branch, and only if this machine has seen its head.
    repository.push(state.remote, branch, theirs, rewritten=state.purge and bool(theirs))
    return True


def _drop_gone(home: Home, config: Config, repository: Repository, state: State, pulled: pull.Pulled) -> None:
    """Remove the copies of machines that have left."""
    there = repository.refs(OTHERS)
    for other in [name for name in state.machines if name not in there and name != state.name]:
        pull.lay_down(home, config, repository, state, other, "", pulled)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(join(home.logs, MACHINES, f"{other}.jsonl"))
        del state.machines[other]


def _purge(repository: Repository, state: State, environ: Mapping[str, str]) -> list[str]:
    """Remove forgotten text from every reachable history; return sentences on the unreachable ones."""
    if state.remote:
        repository.fetch(state.remote, OTHERS)
    repository.drop(BRANCHES, keep=state.name)
    repository.purge()
    said = _former(state, [each for each in state.former if repository.commit_of(OTHERS + each)])
    if there := local(state.remote):
        try:
            Repository(there, environ).purge()
        except BrainError as error:
            said.append(f"{state.remote} may still hold it: {error.message}")
    elif state.remote and state.purge:
        said.append(
            f"{masked(state.remote)} no longer names what was forgotten, but may hold it until it collects its garbage:"
            " git gc --prune=now there, or ask who runs it"
        )
    state.purge = False
    return said


def _former(state: State, names: list[str]) -> list[str]:
    """Return sentences on the branches of former names. The user removes them: one may be the only copy after a
    restore.
    """
    return [
        f"branch {each} of {masked(state.remote)}, from when this machine was called so, may still hold it:"
        f" git push {masked(state.remote)} --delete {each}"
        for each in names
    ]


def configured(home: Home) -> bool:
    """Return True if ``brain sync`` has run in this home."""
    return isdir(home.path(FOLDER))
