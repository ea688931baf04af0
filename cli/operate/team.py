"""``brain team``: share collections with a team, through PostgreSQL."""

from __future__ import annotations

from cli.context import Context, shown, write_lines
from cli.spec import Args, Command, Option, file_path
from core import config
from core.counting import counted
from core.engine import POSTGRES, VARIABLE, Engine, is_dsn, is_space
from core.errors import OK, BadInput, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


_PLACE = (
    Option("--dsn", metavar="DSN", help="the database: postgresql://NAME@HOST/DATABASE, without a password"),
    Option("--space", metavar="TEAM", help="the team's name: small letters, digits, _ and -"),
)

COMMAND = Command(
    "team",
    "share collections with a team, through PostgreSQL",
    description=(
        "A collection with `share: team`, or a list of members and groups, goes to the team's store by `brain team\n"
        "push`, redacted; all others never leave this machine. Questions are answered from both. Row security in the\n"
        "database decides who sees what, from the next question on. docs/team.md has the set-up."
    ),
    commands=(
        Command(
            "team init",
            "make a team's space in a database, or update it",
            description=(
                "Makes the schema, its roles and its row security, in one transaction. The role that connects needs\n"
                "CREATEROLE and CREATE on the database, and becomes the first admin. Run again as the same\n"
                "role, it brings the space to this version, and requires this version's redaction policy of every\n"
                "later push."
            ),
            options=_PLACE,
            examples=("brain team init --dsn postgresql://ada@db.example.com/brain --space platform",),
        ),
        Command(
            "team join",
            "connect this memory with a team's space",
            description=(
                "Checks that the server knows you as a member, and writes `engine:` into collections.yml. With\n"
                "--password-file, the password goes into the keyring, or without one into the pgpass file."
            ),
            options=(
                *_PLACE,
                Option("--password-file", metavar="FILE", convert=file_path, help="a file with the password alone"),
                Option("--replace", help="take the place of another member or space, where what you shared stays"),
            ),
            examples=("brain team join --dsn postgresql://mira@db.example.com/brain --space platform",),
        ),
        Command(
            "team leave",
            "remove what you shared from the server, and end your membership",
            options=(Option("--yes", help="do it; without this, say what would be removed"),),
            examples=("brain team leave", "brain team leave --yes"),
        ),
        Command(
            "team status",
            "show what the team's store has that you may see, and who may see yours",
            examples=("brain team status", "brain team status --json"),
        ),
        Command(
            "team members",
            "list members and groups, or change them as an admin",
            options=(
                Option(
                    "--add",
                    metavar="NAME",
                    many=True,
                    help="let a role of the server be a member, or a member be in --group",
                ),
                Option(
                    "--remove",
                    metavar="NAME",
                    many=True,
                    help="end a membership with all it shared, or take out of --group",
                ),
                Option("--group", metavar="GROUP", help="change this group; it begins with its first member"),
                Option("--admin", help="the added member may change members and groups"),
                Option(
                    "--pgpass",
                    metavar="FILE",
                    convert=file_path,
                    help="make the role first, and write its new password into this pgpass file, for the member",
                ),
            ),
            examples=(
                "brain team members",
                "brain team members --add mira --pgpass mira.pgpass",
                "brain team members --group ops --add leo",
            ),
        ),
        Command(
            "team grant",
            "let members, groups or the team see collections of yours",
            words="COLLECTION…",
            words_help="collections that were pushed; none: list who may see what",
            options=(Option("--to", metavar="NAME", many=True, help="a member, a group, or team"),),
            examples=("brain team grant notes --to leo", "brain team grant"),
        ),
        Command(
            "team revoke",
            "take collections of yours from members, groups or the team",
            description=(
                "It holds from the next question on, and against `share:`: a denial stays until the name is granted\n"
                "again. A denial for the team leaves the collection to you alone."
            ),
            words="COLLECTION…",
            words_help="collections that were pushed",
            options=(Option("--from", metavar="NAME", many=True, help="a member, a group, or team"),),
            examples=("brain team revoke notes --from leo",),
        ),
        Command(
            "team push",
            "send what is shared and changed, and remove what went",
            description=(
                "Sends only what the server lacks, redacted by this version's policy; the server refuses an older\n"
                "one. It goes on where an earlier push broke off. What was forgotten here is removed there."
            ),
            options=(
                Option("--if-shared", help="do nothing where no team is configured, as a scheduled job does"),
                Option(
                    "--only-machine",
                    help="you have no other machine: remove all of yours there that is not here, whoever pushed it",
                ),
                Option(
                    "--let-in",
                    metavar="URI",
                    many=True,
                    help="push a document again that was forgotten here or on another machine",
                ),
            ),
            examples=("brain team push", "brain team push --json"),
        ),
        Command(
            "team pull-keys",
            "get a new password from the server, and keep it in place of the old one",
            description=(
                "Makes a new password for your role and keeps it where the old one lies: in the keyring, or in the\n"
                "pgpass file. The server gets only what SCRAM derives of it."
            ),
            examples=("brain team pull-keys",),
        ),
    ),
)


def run(args: Args, context: Context) -> int:
    """Do what the subcommand says."""
    verb = args.command.verb
    context.fields["verb"] = verb
    envelope: dict[str, Any] = {"schema": 1, "ok": True, **_ACTIONS[verb](args, context)}
    if args.json:
        context.emit(envelope)
    else:
        write_lines(_lines(verb, shown(envelope)))
    return OK


def _engine(args: Args, context: Context) -> Engine:
    """Return the engine that the options name, else the configured one. Raises BadInput if only one is named."""
    from runtime.team.push import required

    # A message never quotes a DSN: it may have a password.
    if args.dsn and not is_dsn(args.dsn):
        raise BadInput(
            "--dsn is no DSN of PostgreSQL, or has a password in it",
            "--dsn postgresql://NAME@HOST/DATABASE; passwords lie in ~/.pgpass or in the keyring",
        )
    if args.space and not is_space(args.space):
        raise BadInput("--space: a team's name has small letters, digits, _ and -", f"brain {args.command.name} --help")
    if args.dsn and args.space:
        return Engine(POSTGRES, args.dsn, args.space)
    if args.dsn or args.space:
        raise BadInput("--dsn and --space belong together", f"brain {args.command.name} --help")
    return required(config.load(context.home))


def _init(args: Args, context: Context) -> dict[str, Any]:
    from runtime.team import members

    return members.init(_engine(args, context))


def _join(args: Args, context: Context) -> dict[str, Any]:
    from qmd.team import connection
    from runtime.team import passwords, settings, state
    from runtime.team.push import CONNECT_S

    engine, loaded = _engine(args, context), config.load(context.home)
    # Members whose documents never advise stay so.
    engine.evidence = tuple(loaded.section("engine").get("evidence") or ())
    is_written = not context.environ.get(VARIABLE)
    before = settings.replaced(loaded, engine) if is_written else None
    if before is not None and not args.replace:
        raise Refused(
            f"this memory is joined with {settings.described(before)} already",
            "brain team leave --yes removes what you shared there; brain team join --replace … leaves it there",
        )
    kept = ""
    if args.password_file:
        kept = passwords.store(engine, _first_line(args.password_file))
    with connection.closing(connection.open_writer(engine, CONNECT_S)) as server:
        member = connection.me(server)
    context.home.make()
    written = settings.put(context.home, engine) if is_written else ""
    found = {"space": engine.space, "member": member, "configuration": written, "kept": kept}
    if before is None:
        return found
    return {**found, "replaced": settings.described(before), "not_forgotten": state.begin_again(context.home)}


def _first_line(path: str) -> str:
    import os

    from core.errors import from_os

    try:
        with open(os.path.expanduser(path), encoding="utf-8") as stream:
            return stream.readline().rstrip("\r\n")
    except OSError as error:
        raise from_os(error) or BadInput(f"{path}: {error.strerror}", "name a file with the password alone") from None
    except ValueError:
        raise BadInput(f"{path} is no text", "name a file with the password alone") from None


def _leave(args: Args, context: Context) -> dict[str, Any]:
    from runtime.team import members, settings
    from runtime.team.push import required

    engine = required(config.load(context.home))
    found = members.leave(context.home, engine, dry_run=not args.yes)
    if args.yes and not context.environ.get(VARIABLE):
        settings.put(context.home, None)
    return found


def _status(_: Args, context: Context) -> dict[str, Any]:
    from runtime.team import members

    return members.with_server(config.load(context.home), lambda server: members.status(context.home, server))


def _members(args: Args, context: Context) -> dict[str, Any]:
    from runtime.team import members
    from runtime.team.push import required

    loaded = config.load(context.home)
    engine = required(loaded)
    if args.pgpass and (len(args.add) != 1 or args.group):
        raise BadInput("--pgpass is for the password of one added member", "brain team members --help")
    if args.admin and (not args.add or args.group):
        raise BadInput("--admin is for members that are added", "brain team members --add NAME --admin")
    if args.group and not (args.add or args.remove):
        raise BadInput("--group needs --add or --remove", f"brain team members --group {args.group} --add NAME")

    def act(server: Any) -> dict[str, Any]:
        done: dict[str, Any] = {}
        if args.add or args.remove:
            members.require_admin(server)
        if args.group:
            done |= members.change_group(server, args.group, args.add, args.remove)
        else:
            with server.transaction():
                pgpass = args.pgpass or ""
                added = [members.add(engine, server, name, admin=args.admin, pgpass=pgpass) for name in args.add]
            done["changed"] = added + [members.remove(server, name) for name in args.remove]
        return done | members.listed(server)

    return members.with_server(loaded, act)


def _grant(args: Args, context: Context) -> dict[str, Any]:
    from runtime.team import members

    if bool(args.words) != bool(args.to):
        raise BadInput("name collections, and with --to who may see them", "brain team grant --help")
    loaded = config.load(context.home)
    return members.with_server(loaded, lambda server: members.grant(server, args.words, args.to))


def _revoke(args: Args, context: Context) -> dict[str, Any]:
    from runtime.team import members

    names = getattr(args, "from")
    if not args.words or not names:
        raise BadInput("name collections, and with --from who may no longer see them", "brain team revoke --help")
    loaded = config.load(context.home)
    return members.with_server(loaded, lambda server: members.revoke(server, args.words, names))


def _push(args: Args, context: Context) -> dict[str, Any]:
    from cli.progress import Bar
    from runtime.team.push import push

    loaded = config.load(context.home)
    if args.if_shared and loaded.engine is None:
        return {"collections": [], "withdrawn": [], "left": [], "space": "", "member": "", "policy": 0, "first": False}
    with Bar() as bar:
        report = push(
            context.home,
            loaded,
            let_in=[_named(uri) for uri in args.let_in],
            only_machine=args.only_machine,
            progress=bar,
        )
    context.fields["n_sent"] = sum(each["sent"] for each in report["collections"])
    return report


def _named(uri: str) -> tuple[str, str]:
    """Return (collection, path) of a document. Raises BadInput."""
    from runtime.asking.envelope import SCHEME

    collection, _, path = uri.removeprefix(SCHEME).partition("/")
    if not path:
        raise BadInput(f"--let-in: {uri!r} is no document's uri", "brain team push lists them: qmd://COLLECTION/PATH")
    return collection, path


def _pull_keys(_: Args, context: Context) -> dict[str, Any]:
    from runtime.team import members
    from runtime.team.push import required

    return members.renew_password(required(config.load(context.home)))


_ACTIONS = {
    "init": _init,
    "join": _join,
    "leave": _leave,
    "status": _status,
    "members": _members,
    "grant": _grant,
    "revoke": _revoke,
    "push": _push,
    "pull-keys": _pull_keys,
}


# Lines for people.


def _lines(verb: str, done: dict[str, Any]) -> Iterator[str]:
    if verb == "init":
        was = f"was of version {done['before']}" if done["before"] else "is new"
        yield f"{done['space']} {was}, and is of version {done['version']}; {done['member']} is an admin"
    elif verb == "join":
        yield f"{done['member']} is a member of {done['space']}"
        if done["configuration"]:
            yield f"{done['configuration']} names it; `share:` of a collection says who sees it"
        if done["kept"]:
            yield f"the password is in {done['kept']}"
        if "replaced" in done:
            yield f"before, it was {done['replaced']}: what you shared there stays, and is seen as before"
            if done["not_forgotten"]:
                yield f"  with {counted(done['not_forgotten'], 'document')} that you forgot here since"
    elif verb == "leave":
        what = counted(done["documents"], "document")
        yield (
            f"{what} would leave {done['space']}: brain team leave --yes"
            if done["dry_run"]
            else f"{what} left {done['space']}; {done['member']} is no member any more"
        )
    elif verb == "push":
        yield from _pushed(done)
    elif verb == "pull-keys":
        yield f"the new password of {done['member']} is in {done['kept']}"
    elif verb == "members":
        yield from _member_lines(done)
    elif verb == "status":
        yield from _status_lines(done)
    else:
        yield from _grant_lines(done["grants"])


def _pushed(done: dict[str, Any]) -> Iterator[str]:
    if not done["collections"] and not done["withdrawn"]:
        yield "nothing is shared: a collection with `share: team` would be (docs/team.md)"
    for each in done["collections"]:
        counts = (
            ("sent", "sent"),
            ("removed", "removed"),
            ("unchanged", "unchanged"),
            ("embedded", "with new vectors"),
        )
        said = ", ".join(f"{each[key]} {word}" for key, word in counts if each[key] or key == "sent")
        yield f"{each['collection']} → {', '.join(each['share'])}: {said}"
        if each["withheld"]:
            yield f"  {each['withheld']} withheld: a secret is in the name"
        if each["too_large"]:
            yield f"  {each['too_large']} left out: larger than the server takes (32 MB of text, 2,000 bytes of path)"
        if each["unagreed"]:
            yield f"  not seen by {', '.join(each['unagreed'])}: another machine of yours does not name them"
        for path in each["forgotten"]:
            uri = f"qmd://{each['collection']}/{path}"
            yield f"  forgotten, and left out: brain forget {uri}; or: brain team push --let-in {uri}"
    for each in done["withdrawn"]:
        yield f"{each['collection']} is private: {each['removed']} removed"
        if each["elsewhere"]:
            stay = counted(each["elsewhere"], "document")
            fix = f"push there, or: brain team revoke {each['collection']} --from team"
            yield f"  {stay} of your other machines stay, seen as before: {fix}"
    elsewhere = sum(each["elsewhere"] for each in (*done["collections"], *done["withdrawn"]))
    if done["first"] and elsewhere:
        yield f"{counted(elsewhere, 'document')} of yours there came from a machine that is not this one, or was before"
        yield "  its state was lost; if you have no other machine: brain team push --only-machine"
    for left in done["left"]:
        yield f"forgotten, and still there: {left}"


def _member_lines(done: dict[str, Any]) -> Iterator[str]:
    for each in done.get("changed", ()):
        if each.get("pgpass"):
            yield f"{each['added']}: give them {each['pgpass']}, then delete it here"
        if each.get("before") and each["before"] == each["role"]:
            yield f"{each['added']} was {'an' if each['role'] == 'admin' else 'a'} {each['role']} already"
    for each in done["members"]:
        seen = f"seen {each['seen'][:10]}" if each["seen"] else "never seen"
        yield f"{each['name']}  {each['role']}  {seen}"
    for each in done["groups"]:
        yield f"group {each['name']}: {', '.join(each['members'])}"


def _status_lines(done: dict[str, Any]) -> Iterator[str]:
    secure = "encrypted" if done["encrypted"] else "of this machine" if done["local"] else "not encrypted"
    yield f"{done['member']} ({done['role']}) in {done['space']}: PostgreSQL {done['server']}, {secure}"
    yield f"last push from here: {done['pushed'] or 'never'}; redaction policy from {done['policy']} on"
    if done["elsewhere"]:
        yield f"{counted(done['elsewhere'], 'document')} of yours from other machines"
    if done["to_forget"]:
        yield f"{done['to_forget']} forgotten here, and still there: brain team push"
    for each in done["collections"]:
        owner = "you" if each["owner"] == done["member"] else each["owner"]
        what = counted(each["documents"], "document")
        yield f"{owner}: {each['collection']}, {what}, pushed {each['pushed'] or 'never'}"
    yield from _grant_lines(done["grants"])


def _grant_lines(grants: list[dict[str, Any]]) -> Iterator[str]:
    for each in grants:
        verb = "is seen by" if each["allowed"] else "is denied to"
        yield f"your {each['collection']} {verb} {each['to']}"
