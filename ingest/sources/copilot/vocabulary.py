"""What is known of the events of Copilot CLI's journals: their types, their fields, and who says what they say.

The vendor's published schema (copilot-sdk, the generated session events, to the autumn of 2026), with the names of
before and what journals hold beyond it (``shellExecution``, seen in those of September 2026).
"""

from __future__ import annotations

from ingest.session.values import vocabulary

EVENT = vocabulary("type data id parentId timestamp ephemeral agentId")
# What `copilot -p --output-format json` prints last: a record of its own form.
RESULT = vocabulary("type timestamp sessionId exitCode usage")
SUBAGENT_ENDED = vocabulary("subagent.completed subagent.failed custom_agent.completed custom_agent.failed")
# Events that are read.
READ = SUBAGENT_ENDED | vocabulary(
    """
    session.start session.resume session.model_change session.title_changed session.compaction_complete
    session.context_changed session.import_legacy user.message assistant.message assistant.reasoning
    tool.execution_start tool.execution_complete tool.user_requested subagent.started custom_agent.started
    abort exit_plan_mode.completed session.handoff
    """
)
# Housekeeping, and what other events hold as a whole.
DROPPED = vocabulary(
    """
    session.info session.error session.warning session.idle session.shutdown session.truncation
    session.usage_info session.usage_checkpoint session.auto_mode_resolved session.mode_changed
    session.plan_changed session.workspace_file_changed session.snapshot_rewind session.compaction_start
    session.task_complete session.background_tasks_changed session.tools_updated session.skills_loaded
    session.remote_steerable_changed session.custom_agents_updated session.mcp_servers_loaded
    session.mcp_server_status_changed session.extensions_loaded session.permissions_changed
    assistant.turn_start assistant.turn_end assistant.intent assistant.usage assistant.message_delta
    assistant.message_start assistant.reasoning_delta assistant.streaming_delta tool.execution_partial_result
    tool.execution_progress subagent.selected subagent.deselected
    system.message system.notification hook.start hook.end hook.progress skill.invoked pending_messages.modified
    permission.requested permission.completed user_input.requested user_input.completed elicitation.requested
    elicitation.completed external_tool.requested external_tool.completed command.queued command.execute
    command.completed commands.changed exit_plan_mode.requested capabilities.changed
    session.schedule_created session.schedule_cancelled session.schedule_rearmed session.autopilot_objective_changed
    session.auto_tier_switch_failed session.mode_notice_delivered session.session_limits_changed session.todos_changed
    session.context_cleared session.completion_receipt session.fusion_route_started session.fusion_route_failed
    session.fusion_resolved session.fusion_completed session.fusion_handoff session.fusion_commit_started
    session.binary_asset session.custom_notification
    session.managed_settings_resolved session.managed_settings_enforced session.mcp_server_removed
    session.mcp_server_needs_reconnect session.canvas.opened session.canvas.registry_changed session.canvas.closed
    session.canvas.unavailable session.canvas.recorded session.canvas.removed session.extensions.attachments_pushed
    assistant.fusion_phase_started assistant.fusion_phase_activity assistant.fusion_phase_completed
    assistant.fusion_phase_failed assistant.server_tool_progress assistant.tool_call_delta assistant.idle
    assistant.turn_retry model.call_start model.call_failure model.call_finished tool_search.activated
    subagent.configured sampling.requested sampling.completed mcp.oauth_required mcp.oauth_completed
    mcp.headers_refresh_required mcp.headers_refresh_completed mcp.tools.list_changed mcp.resources.list_changed
    mcp.prompts.list_changed mcp_app.tool_call_complete ui.ephemeral_query auto_mode_switch.requested
    auto_mode_switch.completed session_limits_exhausted.requested session_limits_exhausted.completed
    agent.interrupted prompt_cache_break sandbox.decision
    custom_agent.selected
    factory.run_started factory.run_updated factory.run_settled skill.invoked_ref skill.context_delivered_ref
    session.permission_mode_changed session.reasoning_effort_changed session.reasoning_summary_changed
    session.verbosity_changed session.limits_changed session.model_deselected session.auto_tier_changed
    model.turn_started model.turn_ended model.model_call_started model.model_call_success model.model_call_failure
    model.message model.messages_snapshot model.response model.tool_execution model.captured_assignment_context
    """
)
DATA = {
    "session.start": vocabulary(
        """
        sessionId version producer copilotVersion startTime selectedModel contextTier alreadyInUse remoteSteerable
        context reasoningEffort summary clientName parentSessionId detachedFromSpawningParentSessionId
        providerId reasoningEffortModel reasoningEffortManaged reasoningSummary verbosity contextTierManaged autoTier
        autoTierManaged sessionLimits githubMcpToolConfig
        """
    ),
    "user.message": vocabulary(
        """
        content transformedContent attachments delivery interactionId parentAgentTaskId source agentMode
        supportedNativeDocumentMimeTypes nativeDocumentPathFallbackPaths isAutopilotContinuation turnId messageId
        """
    ),
    "assistant.message": vocabulary(
        """
        messageId content toolRequests interactionId turnId model phase outputTokens requestId clientRequestId
        serviceRequestId apiCallId chunkIndex chunkCount encryptedContent reasoningOpaque reasoningText
        parentToolCallId rte anthropicAdvisorBlocks anthropicAdvisorModel citations fusion reasoningBlocks
        reasoningWireField serverTools originatingMessageId
        """
    ),
    "tool.execution_complete": vocabulary(
        """
        toolCallId success result error interactionId turnId model toolTelemetry parentToolCallId rte isUserRequested
        toolDescription sandboxed fusion mcpMeta mcpServerName mcpToolName shellExecution
        """
    ),
}
# What the harness says in a person's place begins its ``source`` with.
MACHINES = (
    "agent", "autopilot", "command", "extension", "hook", "jit", "mcp", "notification", "schedule", "skill", "sub",
    "system", "thinking", "tool",
)  # fmt: skip
