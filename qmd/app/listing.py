"""``qmd ls``: the collections, or the files of one."""

from __future__ import annotations

from qmd.app import figures
from qmd.index import retrieve, virtual

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.app.session import Session


def ls(session: Session) -> None:
    """Print a listing. Raises Exit for a collection that is not configured."""
    out = session.out
    connection = session.index
    given = session.arguments.words[0] if session.arguments.words else ""
    if not given:
        _collections(session)
        return
    name, prefix = _split(session, given)
    if name not in session.config.collections:
        raise session.fail(f"Collection not found: {name}", "Run 'qmd ls' to see available collections.")
    files = retrieve.list_files(connection, name, prefix)
    if not files:
        where = f"under {virtual.SCHEME}{name}/{prefix}" if prefix else f"in collection: {name}"
        out.line(f"No files found {where}")
        return
    sizes = [figures.size(file.size) for file in files]
    width = max(map(len, sizes))
    head = out.paint("dim", f"{virtual.SCHEME}{name}/")
    for file, size in zip(files, sizes, strict=True):
        path = out.paint("cyan", virtual.on_one_line(file.path))
        out.line(f"{size:>{width}}  {figures.listed_date(file.modified_at)}  {head}{path}")


def _collections(session: Session) -> None:
    out = session.out
    names = list(session.config.collections)
    if not names:
        out.line("No collections found. Run 'qmd collection add .' to index files.")
        return
    out.line(f"{out.paint('bold', 'Collections:')}\n")
    for name in names:
        count = session.index.execute("SELECT count(*) FROM documents WHERE collection = ? AND active = 1", (name,)).get
        address = f"{out.paint('dim', virtual.SCHEME)}{out.paint('cyan', f'{name}/')}"
        out.line(f"  {address}  {out.paint('dim', f'({count} files)')}")


def _split(session: Session, given: str) -> tuple[str, str]:
    """(collection, path below it) of an address, of ``name/path``, or of an absolute path that begins with a name."""
    rest = given.removeprefix(virtual.SCHEME)
    addressed = rest != given
    if rest.startswith("/"):
        # Collections may be named by an absolute path; the longest such name wins.
        whole = rest.removesuffix("/")
        names = [name for name in session.config.collections if f"{whole}/".startswith(f"{name}/")]
        if names:
            name = max(names, key=len)
            return name, whole[len(name) :].removeprefix("/")
        if not addressed:
            return whole, ""
    if addressed:
        address = virtual.parse(given)
        if address is None:
            raise session.fail(f"Invalid virtual path: {given}")
        return address.collection, address.path
    name, _, path = given.partition("/")
    return name, path
