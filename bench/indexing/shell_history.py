"""Invented shell histories of a person with years of work in shells.

Known: three quarters of submitted lines were submitted before, mostly just before (Greenberg, The Computer User as
Toolsmith, 1993: 168 users of csh). Assumed: 150 commands a working day, in bursts; lines of 20 characters, sometimes
200; one line in a hundred has several lines; one new line in 400 has a secret. Zsh writes its lines when a terminal
closes, in that order. Fish was used every fourth day. Atuin has a copy of the last year, with folders.
"""

from __future__ import annotations

import random
import string
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

_AT = 1_640_995_200  # 2022-01-01
_DAY = 86_400
_DAYS = 1_300
_COMMANDS = 150
_RECURS = 0.75
# How far back a line is taken from that recurs: half of them are among the last ten.
_BACK = (3, 30, 2000)
_TERMINALS = 4
_FORMS = (
    "git {verb} {path}",
    "git commit -m '{text}'",
    "git checkout -b {word}/{word}-{number}",
    "git log --oneline -{number}",
    "cd {path}",
    "ls -la {path}",
    "vim {path}",
    "{tool} run {word}",
    "{tool} install {word}-{word}@{number}",
    "pytest -x {path} -k {word}",
    "rg -n '{word} {word}' {path}",
    "docker run --rm -it -v $PWD:/{word} {word}/{word}:{number} {tool} {word}",
    "kubectl -n {word} logs deploy/{word} --since={number}m | grep {word}",
    "ssh {word}@{word}.example.com 'tail -n {number} {path}'",
    "curl -s https://{word}.example.com/{path} | jq '.{word}[] | .{word}'",
    'psql {word} -c "select {word}, count(*) from {word} where {word} > {number} group by 1"',
    "make {word}",
    "python {path}.py --{word} {number} --{word} {path}",
    "for each in {path}/*; do\n  {tool} {word} $each\ndone",
)
_SECRETS = (
    "export {name}_TOKEN={secret}",
    "curl -H 'Authorization: Bearer {secret}' https://{word}.example.com/{path}",
    "psql postgres://{word}:{secret}@{word}.example.com/{word}",
)
_VERBS = ("add", "diff", "show", "restore", "blame", "rebase", "push", "pull", "status", "stash")
_TOOLS = ("npm", "cargo", "uv", "go", "pnpm", "brew")


class _Command(NamedTuple):
    at: int
    line: str
    folder: str


def write(folder: Path, dice: random.Random, words: list[str]) -> None:
    """Write ``.zsh_history``, ``fish_history`` and Atuin's ``history.db`` into ``folder``; ``words``: to speak with."""
    plain = sorted({word.lower() for word in words if word.isascii() and word.isalpha() and 2 < len(word) < 12})
    zsh: list[str] = []
    fish: list[str] = []
    atuin: list[_Command] = []
    before: list[str] = []
    for day in range(_DAYS):
        if day % 7 < 5:
            for terminal in _day(dice, day, before, plain):
                if day % 4:
                    zsh += [_zsh(each, dice) for each in terminal]
                else:
                    fish += [_fish(each) for each in terminal]
                if day > _DAYS - 365:
                    atuin += terminal
    (folder / ".zsh_history").write_text("".join(zsh), encoding="utf-8")
    (folder / "fish_history").write_text("".join(fish), encoding="utf-8")
    _atuin(folder / "history.db", atuin, dice)


def _day(dice: random.Random, day: int, before: list[str], words: list[str]) -> Iterator[list[_Command]]:
    """Return the lines of each terminal on one day, in the order in which the terminals were closed."""
    at = _AT + day * _DAY + 8 * 3600 + dice.randrange(3600)
    terminals: list[list[_Command]] = [[] for _ in range(_TERMINALS)]
    folders = [f"/home/me/{dice.choice(words)}" for _ in terminals]
    for _ in range(dice.randrange(_COMMANDS // 2, 3 * _COMMANDS // 2)):
        at += 1 + int(dice.expovariate(1 / 20)) if dice.random() < 0.9 else dice.randrange(60, 3000)
        number = min(int(dice.expovariate(1)), _TERMINALS - 1)
        line = _line(dice, before, words)
        before.append(line)
        terminals[number].append(_Command(at, line, folders[number]))
    dice.shuffle(terminals)
    yield from terminals


def _line(dice: random.Random, before: list[str], words: list[str]) -> str:
    if before and dice.random() < _RECURS:
        return before[-min(len(before), 1 + int(dice.expovariate(1 / dice.choice(_BACK))))]
    form = dice.choice(_SECRETS if dice.random() < 1 / 400 else _FORMS)
    while "{" in form:
        form = form.replace("{word}", dice.choice(words), 1)
        form = form.replace("{number}", str(dice.randrange(1, 300)), 1)
        form = form.replace("{path}", "/".join(dice.choices(words, k=dice.randrange(1, 4))), 1)
        form = form.replace("{text}", " ".join(dice.choices(words, k=dice.randrange(3, 30))), 1)
        form = form.replace("{verb}", dice.choice(_VERBS), 1).replace("{tool}", dice.choice(_TOOLS), 1)
        form = form.replace("{name}", dice.choice(words).upper(), 1)
        form = form.replace("{secret}", "".join(dice.choices(string.ascii_letters + string.digits, k=32)), 1)
    return form


def _zsh(command: _Command, dice: random.Random) -> str:
    return f": {command.at}:{dice.randrange(9)};{command.line}".replace("\n", "\\\n") + "\n"


def _fish(command: _Command) -> str:
    line = command.line.replace("\\", "\\\\").replace("\n", "\\n")
    return f"- cmd: {line}\n  when: {command.at}\n"


def _atuin(path: Path, commands: list[_Command], dice: random.Random) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(
        "create table history(id text primary key, timestamp integer not null, duration integer not null, exit integer"
        " not null, command text not null, cwd text not null, session text not null, hostname text not null)"
    )
    with connection:
        for each in commands:
            name = uuid.UUID(int=dice.getrandbits(128), version=4).hex
            row = (name, each.at * 1_000_000_000, 10**9, int(dice.random() < 0.1), each.line, each.folder)
            connection.execute("insert into history values(?, ?, ?, ?, ?, ?, 's', 'host:me')", row)
    connection.close()
