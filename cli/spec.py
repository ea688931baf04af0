"""What a command accepts, as data, and the parser that reads it.

The parser is ours because ``argparse`` imports ``re`` and ``gettext``, a quarter of the time ``ask`` may take. Help is
argparse's, built from the same table (``cli.help``).
"""

from __future__ import annotations

from core.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class Option:
    """One option: ``flags`` as typed, ``metavar`` empty for a switch, ``many`` where it may be repeated.

    ``convert`` turns the text into its value and raises ValueError with what was expected; without one, a value is text
    in UTF-8 that is not blank.
    """

    __slots__ = ("choices", "convert", "default", "dest", "flags", "help", "many", "metavar")

    def __init__(
        self,
        *flags: str,
        help: str,
        metavar: str = "",
        default: object = None,
        many: bool = False,
        choices: tuple[str, ...] = (),
        convert: Callable[[str], object] | None = None,
    ) -> None:
        self.flags = flags
        self.dest = max(flags, key=len).lstrip("-").replace("-", "_")
        self.help = help
        self.metavar = metavar
        self.default = default
        self.many = many
        self.choices = choices
        self.convert = convert or text


class Command:
    """One command: its options, its positional arguments (``words``: name and help, empty for none), its examples.

    Words name things and are refused if they are blank, except those of a command that takes ``prose``.
    ``raw`` leaves every argument to the command itself, as words, except a single ``--help``. ``commands`` makes it a
    group: its first argument names one of them, whose own name is written whole (``queue list`` in ``queue``). A group
    with ``words`` takes whatever names none of them itself; with ``default``, no first argument means that subcommand.
    """

    __slots__ = (
        "commands", "default", "description", "examples", "name", "options", "prose", "raw", "summary",
        "words", "words_help",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        description: str = "",
        words: str = "",
        words_help: str = "",
        options: Sequence[Option] = (),
        examples: Sequence[str] = (),
        prose: bool = False,
        raw: bool = False,
        commands: Sequence[Command] = (),
        default: str = "",
    ) -> None:
        self.name = name
        self.default = default
        self.commands = tuple(commands)
        self.prose = prose
        self.raw = raw
        self.summary = summary
        self.description = description
        self.words = words
        self.words_help = words_help
        self.options = (*options, JSON, HELP)
        self.examples: tuple[str, ...] = tuple(examples) or tuple(
            line for command in commands for line in command.examples
        )

    @property
    def verb(self) -> str:
        """What the command is called within its group."""
        return self.name.rpartition(" ")[2]

    def all_options(self) -> tuple[Option, ...]:
        """Its options and those of its subcommands."""
        return self.options + tuple(option for command in self.commands for option in command.all_options())


class Args:
    """Parsed arguments: options as attributes, positional ones in ``words``, in order.

    ``dashes`` is how many of ``words`` stood before a ``--`` (all of them where there was none), ``literal`` whether
    there was one. ``command`` is what they were parsed for: of a group, the subcommand (its ``verb`` says which).
    """

    command: Command
    words: list[str]
    dashes: int
    literal: bool
    json: bool
    help: bool

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


_MOST = 10_000
_PATH_BYTES = 4096
_NAME_BYTES = 255


def text(given: str) -> str:
    """Return ``given``, which is text in UTF-8, not blank and of a length that SQLite takes as a pattern.

    Raises ValueError otherwise.
    """
    if not given.strip():
        raise ValueError("a value that is not empty")
    if len(given) > _MOST:
        raise ValueError(f"at most {_MOST:,} characters")
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError:
            raise ValueError("text in UTF-8") from None
    return given


def file_path(given: str) -> str:
    """Return ``given``, a path that a system may have, of any bytes. Raises ValueError otherwise."""
    if not given.strip():
        raise ValueError("a path")
    longest = max(map(len, given.encode("utf-8", "surrogateescape").split(b"/")))
    if len(given) > _PATH_BYTES or longest > _NAME_BYTES:
        raise ValueError(f"a path of at most {_PATH_BYTES} bytes, and {_NAME_BYTES} a name")
    return given


def text_path(given: str) -> str:
    """Return ``given``, a path that can be recorded. Raises ValueError otherwise."""
    return text(file_path(given))


def whole(given: str) -> int:
    """A positive whole number, of at most nine digits. Raises ValueError otherwise."""
    if not given.isascii() or not given.isdigit() or len(given) > 9 or int(given) < 1:
        raise ValueError("a whole number above 0")
    return int(given)


def seconds(given: str) -> float:
    """A positive number of seconds. Raises ValueError otherwise."""
    try:
        value = float(given)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise ValueError("a number of seconds above 0")
    return value


JSON = Option("--json", help="print one JSON object on stdout, and nothing else")
HELP = Option("-h", "--help", help="show this help")


def parse(command: Command, argv: Sequence[str]) -> Args:
    """The arguments of ``command``; options and words may stand in any order, ``--`` ends the options.

    Of a group, the first argument chooses the subcommand; the rest is that one's.
    Raises BadInput on an unknown option, a missing or wrong value, or words where none are taken, and where a group is
    given no subcommand of its own.
    """
    if command.default and (not argv or (argv[0].startswith("-") and argv[0] not in HELP.flags)):
        argv = [command.default, *argv]
    if command.commands and not (argv and argv[0] in HELP.flags):
        below = _chosen(command, argv)
        if below is not None:
            return parse(below, argv[1:])
    args = Args()
    args.command = command
    for given in argv:
        if "\0" in given:
            raise BadInput("an argument has a NUL byte in it", _usage(command))
    by_flag: dict[str, Option] = {}
    for option in command.options:
        setattr(args, option.dest, [] if option.many else option.default if option.metavar else False)
        for flag in option.flags:
            by_flag[flag] = option
    words: list[str] = []
    args.words = words
    args.literal = False
    args.dashes = -1
    index = 0
    if command.raw:
        args.help = list(argv) in (["--help"], ["-h"])
        words.extend(argv)
        return args
    while index < len(argv):
        given = argv[index]
        index += 1
        if given == "--":
            args.literal = True
            args.dashes = len(words)
            words.extend(argv[index:])
            break
        if given == "-" or not given.startswith("-"):
            words.append(given)
            continue
        if given.startswith("--"):
            flag, equals, value = given.partition("=")
        else:
            flag, equals, value = given[:2], given[2:], given[2:].removeprefix("=")
        found = by_flag.get(flag)
        if found is None:
            raise BadInput(f"unknown option {flag}", _hint(command, flag, by_flag))
        if not found.metavar:
            if equals:
                raise BadInput(f"{flag} takes no value", _usage(command))
            setattr(args, found.dest, True)
            continue
        if not equals:
            # A value may begin with a dash, but an option is not the value of another: that one's was forgotten.
            if index >= len(argv) or argv[index] == "--" or argv[index].partition("=")[0] in by_flag:
                raise BadInput(f"{flag} needs a value ({found.metavar})", _usage(command))
            value = argv[index]
            index += 1
        _store(args, command, found, flag, value)
    if args.dashes < 0:
        args.dashes = len(words)
    if words and not command.words and not args.help:
        raise BadInput(f"`brain {command.name}` takes no arguments: {words[0]!r}", _usage(command))
    if not (command.prose or all(word.strip() for word in words)):
        raise BadInput(f"`brain {command.name}` was given an empty argument for {command.words}", _usage(command))
    return args


def _chosen(group: Command, argv: Sequence[str]) -> Command | None:
    """The subcommand meant, None where a group that takes words of its own is given those."""
    for command in group.commands:
        if argv and argv[0] == command.verb:
            return command
    if group.words:
        return None
    verbs = [command.verb for command in group.commands]
    if not argv or argv[0].startswith("-"):
        raise BadInput(f"`brain {group.name}` needs a subcommand first: {', '.join(verbs)}", _usage(group))
    import difflib

    near = difflib.get_close_matches(argv[0], verbs, n=1)
    fix = f"did you mean `brain {group.name} {near[0]}`?" if near else _usage(group)
    raise BadInput(f"`brain {group.name}` has no subcommand {argv[0]!r}: {', '.join(verbs)}", fix)


def _store(args: Args, command: Command, option: Option, flag: str, given: str) -> None:
    if option.choices and given not in option.choices:
        raise BadInput(f"{flag}: {given!r} is not one of {', '.join(option.choices)}", _usage(command))
    try:
        value = option.convert(given)
    except ValueError as error:
        raise BadInput(f"{flag}: expected {error}, got {given!r}", _usage(command)) from None
    if option.many:
        getattr(args, option.dest).append(value)
    else:
        setattr(args, option.dest, value)


def _usage(command: Command) -> str:
    return f"brain {command.name} --help"


def _hint(command: Command, flag: str, known: dict[str, Option]) -> str:
    import difflib

    near = difflib.get_close_matches(flag, known, n=1)
    if near:
        return f"did you mean {near[0]}? (words that begin with a dash go after --)"
    return f"{_usage(command)} (words that begin with a dash go after --)"
