"""The kinds of tools that agents have, by the tools' names in lower case, and how their arguments name a file.

The writer of a session's document and its readers share this table: a tool that only one of them knows would be written
as a command and read as nothing.
"""

from __future__ import annotations

RUNS = frozenset(
    """bash shell exec_command shell_command local_shell container.exec run_shell_command run_terminal_cmd
    run_terminal_command run_terminal_command_v2 run_terminal run_command execute_command execute powershell terminal
    exec shell_exec""".split()
)
CREATES = frozenset("write write_file create_file create write_to_file writefile create_new_file".split())
CHANGES = CREATES | frozenset(
    """edit multiedit multi_edit notebookedit apply_patch edit_file edit_file_v2 replace search_replace str_replace
    str_replace_editor apply_diff delete_file insert_edit_into_file edit_notebook replace_in_file
    insert_content search_and_replace strreplacefile replace_file_content multi_replace_file_content applypatch
    single_find_and_replace edit_existing_file text_editor replace_string_in_file
    multi_replace_string_in_file""".split()
)
READS = frozenset("read read_file read_file_v2 view notebookread read_many_files".split())
# Arguments that name the one file of a call, in the order in which they are looked for.
FILE_ARGUMENTS = tuple(
    """file_path filePath path filepath absolute_path target_file targetFile relative_workspace_path
    relativeWorkspacePath""".split()
)
