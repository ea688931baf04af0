"""The names of agents' tools whose calls say that something was run or changed."""

from __future__ import annotations

import re

_SHELL = """bash shell exec_command shell_command local_shell container.exec run_shell_command run_terminal_cmd
run_terminal_command run_command execute_command powershell terminal exec shell_exec"""
_CHANGE = """edit multiedit multi_edit write write_file notebookedit apply_patch edit_file replace search_replace
str_replace str_replace_editor apply_diff create_file create delete_file insert_edit_into_file"""
_OTHER = """read grep glob ls websearch webfetch task agent skill lsp toolsearch taskcreate taskupdate sendmessage
todowrite update_plan askuserquestion exitplanmode bashoutput killbash killshell taskoutput taskget read_file
list_directory grep_search file_search web_search web_fetch"""

# Name, in lower case → what a call of it is: ``shell``, ``change`` or ``other``.
KINDS = {
    **dict.fromkeys(_OTHER.split(), "other"),
    **dict.fromkeys(_SHELL.split(), "shell"),
    **dict.fromkeys(_CHANGE.split(), "change"),
}

# A line of text that would read as the call of a tool that runs or changes something.
_DEEDS = "|".join(re.escape(name) for name in sorted(KINDS, key=len, reverse=True) if KINDS[name] != "other")
AS_CALL = re.compile(rf"(?m)^(?=- (?:(?i:{_DEEDS})(?: \([^)\n]*\))?: .|(?:Edit|Write)$))")
