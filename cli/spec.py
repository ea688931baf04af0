"""Commands and their options as data, and the parser of their arguments.

``argparse`` imports ``re`` and ``gettext``, a quarter of the time that ``ask`` may take. So this parser reads
arguments, and argparse only writes help, from the same tables (``cli.help``).
"""

from __future__ import annotations

from core.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class Option:
    """One option: ``flags`` as typed; ``metavar`` is "" for a switch; ``many`` if the option may be repeated.

    ``convert`` turns the text into its value and raises ValueError with what was expected. Without one, a value is text
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
        self.flags, self.dest = flags, max(flags, key=len).lstrip("-").replace("-", "_")
        self.help, self.metavar, self.many, self.choices = help, metavar, many, choices
        self.default, self.convert = default if metavar else False, convert or text


class Command:
    """One command: its options, its positional arguments (``words``: name and help, "" for none), its examples.

    A word names a thing and is refused if it is blank, unless the command takes ``prose``. ``raw`` leaves every
    argument to the command, as words, except a single ``--help``.

    ``commands`` makes the command a group. The first argument names one of them by its ``verb``; the name of each is
    written whole (``queue list`` in ``queue``). A group with ``words`` accepts other first arguments, too.
    ``default`` is the subcommand that runs if the first argument is missing. ``page`` gives further lines of the
    command's page of documentation.
    """

    __slots__ = (
        "commands", "default", "description", "examples", "name", "options", "page", "prose", "raw", "summary", "verb",
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
        page: Callable[[], Sequence[str]] | None = None,
    ) -> None:
        self.name, self.verb = name, name.rpartition(" ")[2]
        self.summary, self.description = summary, description
        self.words, self.words_help, self.prose, self.raw = words, words_help, prose, raw
        self.commands, self.default, self.page = tuple(commands), default, page
        self.options = (*options, JSON, HELP)
        self.examples: tuple[str, ...] = tuple(examples) or tuple(
            line for command in commands for line in command.examples
        )

    def all_options(self) -> tuple[Option, ...]:
        """Return its options and those of its subcommands."""
        return self.options + tuple(option for command in self.commands for option in command.all_options())


class Args:
    """Parsed arguments: options as attributes, positional ones in ``words``, in order.

    ``dashes`` is how many of ``words`` came before ``--`` (all of them without one), ``literal`` is True if there was
    one. ``command`` is the command that the arguments are for: of a group, the subcommand.
    """

    if TYPE_CHECKING:
        words: list[str]
        json: bool
        help: bool

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, command: Command) -> None:
        self.command, self.words, self.dashes, self.literal = command, [], 0, False
        vars(self).update({option.dest: [] if option.many else option.default for option in command.options})


_MOST = 10_000
_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
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
    """Return a positive whole number of at most nine digits. Raises ValueError otherwise."""
    if not given.isascii() or not given.isdigit() or len(given) > 9 or int(given) < 1:
        raise ValueError("a whole number above 0")
    return int(given)


def seconds(given: str) -> float:
    """Return a positive number of seconds. Raises ValueError otherwise."""
    try:
        value = float(given)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise ValueError("a number of seconds above 0")
    return value


def duration(text: str) -> float:
    """Return a span of time (45, 60s, 10m, 1.5h) in seconds. Raises ValueError for anything else."""
    number = text.rstrip("smhin")
    unit = _UNITS.get(text[len(number) :])
    try:
        value = float(number) * (unit or 0)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise ValueError("a time such as 45, 60s, 10m or 1h")
    return value


JSON = Option("--json", help="print one JSON object on stdout, and nothing else")
HELP = Option("-h", "--help", help="show this help")


def parse(command: Command, argv: Sequence[str]) -> Args:
    """Return the arguments of ``command``. Options and words may come in any order; ``--`` ends the options.

    The first argument of a group chooses the subcommand, which the rest is for.
    Raises BadInput on an unknown option, a missing or wrong value, words that the command does not take, and a group
    without a subcommand.
    """
    if command.commands:
        command, argv = _subcommand(command, argv)
    args = Args(command)
    if "\0" in "".join(argv):
        raise BadInput("an argument has a NUL byte in it", _usage(command))
    if command.raw:
        args.words.extend(argv)
        args.help = list(argv) in (["--help"], ["-h"])
        return args
    by_flag = {flag: option for option in command.options for flag in option.flags}
    rest = list(argv)
    while rest:
        given = rest.pop(0)
        if given == "--":
            args.literal, args.dashes = True, len(args.words)
            args.words += rest
            break
        if given == "-" or not given.startswith("-"):
            args.words.append(given)
        else:
            _read_option(args, given, rest, by_flag)
    if not args.literal:
        args.dashes = len(args.words)
    if args.words and not command.words and not args.help:
        raise BadInput(f"`brain {command.name}` takes no arguments: {args.words[0]!r}", _usage(command))
    if not command.prose and not all(word.strip() for word in args.words):
        raise BadInput(f"`brain {command.name}` was given an empty argument for {command.words}", _usage(command))
    return args


def _read_option(args: Args, given: str, rest: list[str], by_flag: dict[str, Option]) -> None:
    """Store the option ``given``; its value may be the first of ``rest``, which is removed then."""
    command = args.command
    if given.startswith("--"):
        flag, equals, value = given.partition("=")
    else:
        flag, equals, value = given[:2], given[2:], given[2:].removeprefix("=")
    option = by_flag.get(flag)
    if option is None:
        raise BadInput(f"unknown option {flag}", _hint(command, flag, by_flag))
    if not option.metavar:
        if equals:
            raise BadInput(f"{flag} takes no value", _usage(command))
        setattr(args, option.dest, True)
        return
    if not equals:
        # A value may begin with a dash. A known option is no value, though: its own value was forgotten.
        if not rest or rest[0] == "--" or rest[0].partition("=")[0] in by_flag:
            raise BadInput(f"{flag} needs a value ({option.metavar})", _usage(command))
        value = rest.pop(0)
    if option.choices and value not in option.choices:
        raise BadInput(f"{flag}: {value!r} is not one of {', '.join(option.choices)}", _usage(command))
    try:
        converted = option.convert(value)
    except ValueError as error:
        raise BadInput(f"{flag}: expected {error}, got {value!r}", _usage(command)) from None
    if option.many:
        getattr(args, option.dest).append(converted)
    else:
        setattr(args, option.dest, converted)


def _subcommand(group: Command, argv: Sequence[str]) -> tuple[Command, Sequence[str]]:
    """Return the subcommand that the first argument names, with its arguments; the group itself for its own."""
    first = argv[0] if argv else ""
    if first in HELP.flags:
        return group, argv
    if group.default and (not first or first.startswith("-")):
        first, argv = group.default, [group.default, *argv]
    for command in group.commands:
        if first == command.verb:
            return _subcommand(command, argv[1:]) if command.commands else (command, argv[1:])
    if group.words:
        return group, argv
    verbs = [command.verb for command in group.commands]
    if not first or first.startswith("-"):
        raise BadInput(f"`brain {group.name}` needs a subcommand first: {', '.join(verbs)}", _usage(group))
    import difflib

    near = difflib.get_close_matches(first, verbs, n=1)
    fix = f"did you mean `brain {group.name} {near[0]}`?" if near else _usage(group)
    raise BadInput(f"`brain {group.name}` has no subcommand {first!r}: {', '.join(verbs)}", fix)


def _usage(command: Command) -> str:
    return f"brain {command.name} --help"


def _hint(command: Command, flag: str, known: dict[str, Option]) -> str:
    import difflib

    near = difflib.get_close_matches(flag, known, n=1)
    if near:
        return f"did you mean {near[0]}? (words that begin with a dash go after --)"
    return f"{_usage(command)} (words that begin with a dash go after --)"
