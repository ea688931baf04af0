"""The words of Codex CLI's transcripts that are known: whatever is not listed here is counted and reported.

Names seen in transcripts of 0.20 to 0.153 and in the vendor's protocol (codex-rs/protocol, codex-rs/rollout,
codex-rs/history).
"""

from __future__ import annotations

from ingest.session.values import vocabulary

# Records: {timestamp, type, payload}; ``ordinal`` since 0.145, ``metadata`` of an item since 0.149. Those that are not
# read are the harness's accounts, or repeat what was said (``retained_context``).
ENVELOPE = vocabulary("timestamp type payload ordinal metadata")
RECORDS = vocabulary(
    """
    session_meta turn_context response_item event_msg compacted world_state inter_agent_communication
    inter_agent_communication_metadata realtime_item token_usage_record security_risk_score retained_context
    rollout_reference agent_response_observation
    """
)

# What ``realtime_item`` holds: what was said by voice is read.
DROPPED_REALTIME = vocabulary("realtime_session_started realtime_session_closed bem_item_promoted")

# Items of the conversation with the model. Those that are not read have no content of their own.
ITEMS = vocabulary(
    """
    message reasoning function_call function_call_output custom_tool_call custom_tool_call_output local_shell_call
    web_search_call tool_search_call image_generation_call agent_message
    """
)
DROPPED_ITEMS = vocabulary(
    """
    tool_search_output ghost_snapshot compaction compaction_summary context_compaction compaction_trigger
    additional_tools configuration_update other
    """
)

# Events of no use to a reader: repeated by items, or housekeeping. Those of use are named where they are read.
DROPPED_EVENTS = vocabulary(
    """
    error warning guardian_assessment guardian_warning exec_command_begin exec_command_end exec_command_output_delta
    terminal_interaction patch_apply_begin patch_apply_updated patch_apply_end mcp_tool_call_begin mcp_tool_call_end
    mcp_startup_update mcp_startup_complete web_search_begin web_search_end view_image_tool_call image_generation_begin
    image_generation_end dynamic_tool_call_request dynamic_tool_call_response collab_agent_spawn_begin
    collab_agent_interaction_begin collab_agent_interaction_end collab_waiting_begin collab_waiting_end
    collab_close_begin collab_close_end collab_resume_begin collab_resume_end task_started
    task_complete turn_started turn_complete turn_diff plan_update plan_delta context_compacted
    session_configured thread_settings_applied model_reroute model_verification turn_moderation_metadata
    safety_buffering agent_reasoning_section_break agent_message_delta agent_message_content_delta
    agent_reasoning_delta reasoning_content_delta reasoning_raw_content_delta raw_response_item stream_error
    background_event deprecation_notice hook_started hook_completed item_started exec_approval_request
    apply_patch_approval_request request_permissions request_user_input elicitation_request undo_started
    undo_completed shutdown_complete realtime_conversation_started realtime_conversation_sdp
    realtime_conversation_realtime realtime_conversation_closed realtime_conversation_list_voices_response
    get_history_entry_response mcp_list_tools_response list_custom_prompts_response list_skills_response
    conversation_path skills_update_available injected_message add_credits_nudge_email_response plan_completed
    thread_queue_changed auth_recovery_started auth_recovery_completed raw_response_completed environment_connected
    environment_disconnected
    """
)

# Items of a turn (``item_completed``), lower case without underscores. Since 0.146 a "paginated" history has them for
# the older events. Those that are not read repeat a call that stands as an item of the conversation.
DROPPED_TURN_ITEMS = vocabulary(
    """
    hookprompt commandexecution dynamictoolcall websearch imageview sleep imagegeneration filechange mcptoolcall
    contextcompaction functioncalloutput extension
    """
)

# Fields of what is read, by record type, item or event.
_ITEM = "type id metadata internal_chat_message_metadata_passthrough encrypted_content"
FIELDS = {
    "session_meta": vocabulary(
        """
        id session_id timestamp cwd originator cli_version instructions base_instructions source thread_source
        model_provider git forked_from_id parent_thread_id agent_nickname agent_role agent_type agent_path
        dynamic_tools memory_mode history_mode context_window multi_agent_version thread_name history_base
        subagent_history_start_ordinal selected_capability_roots initial_model forked_from_ordinal_exclusive
        runtime_workspace_roots creator_user_id creator_account_id
        """
    ),
    "turn_context": vocabulary(
        """
        turn_id trace_id cwd workspace_roots current_date timezone approval_policy approvals_reviewer sandbox_policy
        permission_profile active_permission_profile file_system_sandbox_policy network model comp_hash personality
        collaboration_mode multi_agent_mode multi_agent_version realtime_active effort summary user_instructions
        developer_instructions base_instructions final_output_json_schema truncation_policy service_tier root_turn_id
        disabled_plugin_ids cyber_access_program
        """
    ),
    "compacted": vocabulary(
        """
        message replacement_history window_id window_number first_window_id previous_window_id phase guardian_history
        replacement_history_metadata replacement_history_entries retained_context mcp_resource_origins
        compaction_response_id latest_token_usage_record resume_metadata
        """
    ),
    "response_item message": vocabulary(f"{_ITEM} role content phase status end_turn"),
    "response_item reasoning": vocabulary(f"{_ITEM} summary content encrypted_content status duration_ms"),
    "response_item function_call": vocabulary(
        f"{_ITEM} name namespace arguments call_id status encrypted_function_args async"
    ),
    "response_item function_call_output": vocabulary(f"{_ITEM} call_id output status name namespace"),
    "response_item custom_tool_call": vocabulary(f"{_ITEM} name namespace input call_id status"),
    "response_item custom_tool_call_output": vocabulary(f"{_ITEM} call_id output status name namespace"),
    "response_item local_shell_call": vocabulary(f"{_ITEM} call_id status action"),
    "response_item web_search_call": vocabulary(f"{_ITEM} call_id status action"),
    "response_item tool_search_call": vocabulary(f"{_ITEM} call_id status execution arguments"),
    "response_item image_generation_call": vocabulary(f"{_ITEM} status revised_prompt result"),
    "response_item agent_message": vocabulary(f"{_ITEM} author recipient content other_recipients"),
    "event_msg user_message": vocabulary(
        """
        type message kind images local_images text_elements client_id image_details local_image_details audio
        local_audio
        """
    ),
    "event_msg agent_message": vocabulary("type message phase memory_citation id delivery questions"),
    "event_msg agent_reasoning": vocabulary("type text"),
    "event_msg turn_aborted": vocabulary("type turn_id reason completed_at duration_ms started_at"),
    "event_msg thread_rolled_back": vocabulary("type num_turns"),
    "event_msg thread_goal_updated": vocabulary("type goal threadId turnId thread_id turn_id"),
}

# Parts of what a message or the reasoning says, by type: what the Responses API has of them.
PARTS = {
    "input_text": vocabulary("type text"),
    "output_text": vocabulary("type text annotations logprobs"),
    "text": vocabulary("type text"),
    "summary_text": vocabulary("type text"),
    "reasoning_text": vocabulary("type text"),
    "input_image": vocabulary("type image_url file_id detail"),
    "input_audio": vocabulary("type input_audio audio_url"),
    "input_file": vocabulary("type file_id file_url file_data filename detail"),
    "encrypted_content": vocabulary("type encrypted_content"),
}

# Blocks that the harness puts into user records: a text may be several of them, one after another.
INJECTED_BLOCKS = (
    "permissions instructions",
    "user_instructions",
    "environment_context",
    "collaboration_mode",
    "multi_agent_mode",
    "skills_instructions",
    "plugins_instructions",
    "apps_instructions",
    "personality_spec",
    "model_switch",
    "realtime_conversation",
    r"token_budget\w{0,40}",
    r"context_window\w{0,40}",
    "rollout_budget",
    "additional_context",
    "extension_context",
    "codex_internal_context",
    "turn_aborted",
    "skill",
    "subagent_notification",
    "user_action",
    "goal_context",
    "hook_prompt",
    "recommended_plugins",
    "INSTRUCTIONS",
    "heartbeat",
    "agent-message",
    "app-context",
    "exec-command-completed",
    "monitor-command-ended",
)

# What it says there in sentences, as far as they are the same each time; the last one of each ends its text
# (codex-rs/core: context/legacy_*_warning.rs, guardian/prompt.rs, templates/compact/summary_prefix.md).
INJECTED_SENTENCES = (
    r"The following is the Codex agent history (?:whose request action you are assessing|added since your last)(?s:.*)",
    r"An MCP app initiated this message\. Read the untrusted_input tool output\.",
    r"Warning: The maximum number of unified exec processes you can keep open is \d+"
    r"(?: and you currently have \d+ processes open\. Reuse older processes or close them [^\n]{0,100}processes)?\.?",
    r"Warning: apply_patch was requested via \S{1,100}\. Use the apply_patch tool instead of \S{1,100}\.",
    r"Warning: Your account was flagged for potentially high-risk cyber activity"
    r"(?: and this request was routed \S[^\n]{0,500})?\.?",
    r"Another language model started to solve this problem and produced a summary of its thinking process\."
    r"[^\n]{0,500}Here is the summary produced by the other language model(?s:.*)",
)
