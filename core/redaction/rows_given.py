"""Rows for arguments of programs, and for what is assigned to a name (``core.redaction.rows``)."""

from __future__ import annotations

from core.redaction.row import QUOTE, SPACE, Row

# Arguments: up to the next one of a command, and its value, which is in quotes or ends with the word.
_ARGUMENTS = r"(?:[^\n|;&]* )?"
_GIVEN = r"\\*[\"']?"
_VALUE = r"[^\s\"'`\\|;<>]{4,200}"
_ECHOED = r"(?:echo|printf)(?: -n| [\"']?%s(?:\\{1,2}n)?[\"']?)? "
COMMANDS = (
    Row(
        "password",
        "htpasswd",
        rf"htpasswd (?:-[a-z]+ )*-[a-zA-Z]*b[a-zA-Z]* {_ARGUMENTS}[\w.@-]{{1,60}} {_GIVEN}",
        _VALUE,
        "is_given",
        tail=rf"{_GIVEN}(?:$|[\s;|&>)\\])",
        is_rare=True,
    ),
    # expect(1): what is sent where a password was waited for, or ends with a return.
    Row(
        "password",
        'send ", send \\\\", send --, send \'',
        r"send (?:-- )?\\*[\"']",
        _VALUE,
        "is_sent",
        tail=r"\\+[rn]\\*[\"']",
    ),
    # Impacket's: `domain/user:password@host`.
    Row(
        "password",
        "impacket-, secretsdump, psexec, wmiexec, smbexec, atexec, dcomexec, getuserspns, getnpusers, gettgt, "
        "getst.py, lookupsid, smbclient.py, rpcdump, samrdump, mssqlclient, ntlmrelayx, getadusers, "
        "addcomputer, smbpasswd.py",
        r"(?:impacket-\w+|[A-Za-z]\w+\.py) " + _ARGUMENTS + r"[\"']?(?:[\w.-]+[/\\]+)?[\w.$-]+:",
        r"[^\s\"'/:]{4,100}",
        "is_impacket",
        is_rare=True,
    ),
    Row(
        "secret",
        "sonar.login, sonar.token",
        r"sonar\.(?:login|token)[= :]{1,3}" + _GIVEN,
        r"[A-Za-z0-9_-]{20,60}",
        "is_random",
        is_word=False,
        is_rare=True,
    ),
    Row(
        "secret",
        "codecov",
        rf"codecov[^\n|;&]* (?:-t|--token)[ =]{_GIVEN}",
        r"[0-9A-Za-z-]{20,60}",
        "is_random",
        is_word=False,
        is_rare=True,
    ),
    Row(
        "secret",
        "snyk auth, doctl auth, glab auth, fly auth, cargo login, az devops",
        rf"(?:(?:snyk|doctl|glab|fly|flyctl) auth|cargo login|az devops login) {_ARGUMENTS}{_GIVEN}",
        r"[A-Za-z0-9_./+=-]{12,400}",
        "is_random",
        is_rare=True,
    ),
    # What a program reads from another one.
    Row(
        "password",
        "az devops, op signin, op account, bw unlock, bw login, | su, |su , cargo login, npm login, keepassxc, restic, "
        "borg, glab auth, doctl auth, heroku, vault, rclone, steghide, | zip, | 7z, | unzip",
        _ECHOED + _GIVEN,
        _VALUE,
        "is_given",
        tail=rf"{_GIVEN} ?\| ?(?:sudo )?(?:az devops|op (?:signin|account)|bw (?:unlock|login)|su(?: |$)"
        r"|cargo login|npm login"
        r"|keepassxc|restic|borg"
        r"|glab auth|doctl auth|heroku|vault|rclone|steghide|zip|7z|unzip)",
        is_word=False,
        is_behind=True,
    ),
    Row(
        "password",
        "password-command, password_command, passcommand, password-file, passwd-command",
        rf"(?:passw(?:or)?d[-_](?:command|file)|passcommand)[ =]{_GIVEN}(?:<\()?{_ECHOED}{_GIVEN}",
        r"[^\s\"'`\\|;<>)]{4,200}",
        "is_given",
        is_word=False,
        is_rare=True,
    ),
    Row(
        "secret",
        "mc alias set, mc config host, mcli alias set",
        rf"mc(?:li)? (?:alias set|config host add|alias import) \S{{1,60}} \S{{8,200}} {_GIVEN}\S{{3,100}} {_GIVEN}",
        _VALUE,
        "is_given",
        is_rare=True,
    ),
    Row(
        "password",
        "bw unlock, bw login, op signin",
        rf"(?:bw unlock|bw login [\w.@+-]{{3,80}}|op signin(?: --?[\w-]{{1,20}}(?:[ =][\w.@-]{{1,40}})?){{0,4}})"
        rf" {_GIVEN}",
        _VALUE,
        "is_given",
        is_rare=True,
    ),
    # One row an option: a command may have all of them.
    *(
        Row(
            "password",
            "snmpwalk, snmpget, snmpset, snmpbulk, snmptable, snmptrap, snmpstatus",
            rf"snmp\w{{2,12}} {_ARGUMENTS}(?-i:-{option}) ?{_GIVEN}",
            _VALUE,
            "is_given",
            is_rare=True,
        )
        for option in "AXc"
    ),
    Row(
        "password",
        "hydra , medusa , crackmapexec, netexec, nxc smb, nxc winrm, nxc ldap, nxc ssh, nxc mssql, "
        "evil-winrm, npm login, helm registry, smbmap, rpcclient",
        rf"(?:hydra|medusa|crackmapexec|netexec|nxc|evil-winrm|npm login|helm registry login|smbmap|rpcclient)"
        rf" {_ARGUMENTS}(?-i:-p) {_GIVEN}",
        _VALUE,
        "is_given",
        is_rare=True,
    ),
    Row(
        "password",
        "rclone config",
        rf"rclone config {_ARGUMENTS}pass(?:word)?[ =]{_GIVEN}",
        _VALUE,
        "is_given",
        is_rare=True,
    ),
    Row(
        "password",
        "vncpasswd, keepassxc-cli, pass insert, op signin, bw unlock",
        rf"(?:vncpasswd|keepassxc-cli|pass insert|op signin|bw unlock)[^\n|;&<]* ?<<< ?{_GIVEN}",
        _VALUE,
        "is_given",
        is_rare=True,
    ),
)

# What is assigned: names that other rules do not know, and values that they cut short.
ASSIGNED = (
    Row(
        "password",
        "_auth",
        rf"(?-i:_AUTH){QUOTE}?{SPACE}?[:=]{SPACE}?{QUOTE}?",
        r"[^\s\"'`\\,;:<>@]{6,200}",
        "is_assigned",
        is_word=False,
    ),
    Row(
        "secret",
        "sending, write, read, ingest, app_key, appkey",
        rf"(?:sending|write|read|ingest(?:ion)?|app)_?key{QUOTE}?{SPACE}?[:=]{SPACE}?{QUOTE}?",
        r"[A-Za-z0-9][A-Za-z0-9_-]{19,120}",
        "is_random",
        is_word=False,
    ),
    # With brackets in it.
    Row(
        "password",
        "pass, pwd, secret",
        rf"(?:passw(?:or)?d|passphrase|_pass|pwd|_secret)(?:=|: ){_GIVEN}",
        r"[^\s\"'`\\|;<>(){}\[\]$]{1,60}[({\[][^\s\"'`\\|;<>(){}\[\]$]{0,40}[)}\]][^\s\"'`\\|;<>]{0,60}",
        "is_bracketed",
        is_word=False,
    ),
    # CloudFormation's parameters.
    Row(
        "password",
        "default",
        rf"(?:passw(?:or)?d|secret|token)\w{{0,20}}{QUOTE}?: ?\{{ ?(?:{QUOTE}(?:Type|NoEcho|Description|MinLength|"
        rf"MaxLength){QUOTE}: ?(?:true|"
        rf"[0-9]{{1,4}}|{QUOTE}[^\"\n\\]{{0,80}}{QUOTE}), ?){{0,5}}{QUOTE}Default{QUOTE}: ?{QUOTE}",
        _VALUE,
        "is_given",
        is_word=False,
    ),
    # Maven's: https://maven.apache.org/guides/mini/guide-encryption.html
    Row(
        "password",
        "<pass, <master",
        r"<(?:password|passphrase|master)>",
        r"\{[A-Za-z0-9+/]{12,200}={0,2}\}",
        "is_kept",
        tail="<",
        is_word=False,
    ),
)
