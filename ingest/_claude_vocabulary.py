"""The words of Claude Code's transcripts that are known: whatever is not listed here is counted and reported.

Names seen in transcripts of 1.0.24 to 2.1.237 and in the vendor's own program.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Record types that are read.
READ = _words("user assistant system summary attachment queue-operation ai-title custom-title pr-link")

# Record types of no use to a reader; ``progress`` repeats what the subagent's own file holds.
DROPPED = _words(
    """
    progress file-history-snapshot file-history-delta permission-mode mode last-prompt agent-name bridge-session
    atis-latch
    """
)

# ``system`` subtypes of no use to a reader; ``away_summary`` and ``local_command`` are read.
DROPPED_SYSTEM = _words(
    """
    stop_hook_summary turn_duration compact_boundary api_error microcompact_boundary informational
    scheduled_task_fire bridge_status
    """
)

# ``attachment`` kinds of no use to a reader; ``queued_command`` is read.
DROPPED_ATTACHMENTS = _words(
    """
    agent_listing_delta agent_mention async_hook_response auto_mode command_permissions compact_file_reference
    critical_system_reminder date_change deferred_tools_delta diagnostics directory edited_image_file edited_text_file
    file hook_additional_context hook_blocking_error hook_cancelled hook_error_during_execution
    hook_non_blocking_error hook_stopped_continuation hook_success hook_system_message image invoked_skills
    mcp_instructions_delta mcp_resource nested_memory new_directory opened_file_in_ide output_style
    plan_file_reference plan_mode plan_mode_exit plan_mode_reentry pdf_reference relevant_memories
    selected_lines_in_ide skill_listing task_reminder task_status todo todo_reminder ultrathink_effort
    """
)

# Content blocks that are passed over: images, documents, and results that servers ran.
DROPPED_USER_BLOCKS = _words("image document search_result container_upload")
DROPPED_ASSISTANT_BLOCKS = _words(
    """
    redacted_thinking image document tool_result fallback web_search_tool_result web_fetch_tool_result
    mcp_tool_result code_execution_tool_result
    """
)
