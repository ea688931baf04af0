"""The words of Claude Code's transcripts that are known: whatever is not listed here is counted and reported.

Names seen in transcripts of 1.0.24 to 2.1.295 and in the vendor's own program.
"""

from __future__ import annotations

from ingest.session.values import vocabulary

# Record types that are read.
READ = vocabulary(
    "user assistant system summary attachment queue-operation ai-title custom-title pr-link fork-context-ref"
)

# Record types of no use to a reader; ``progress`` repeats what the subagent's own file holds, and ``marble-origami-…``
# summarise records that stand in the same file.
DROPPED = vocabulary(
    """
    progress file-history-snapshot file-history-delta permission-mode mode last-prompt agent-name bridge-session
    atis-latch tag agent-color agent-setting agent_metadata worktree-state content-replacement attribution-snapshot
    speculation-accept task-summary marble-origami-commit marble-origami-snapshot marble-origami-reset continued-in
    frame-link artifact-comment-monitor artifact-autoreact-ledger ended-by-model relocated history-suppression
    isolation-latch cost-state observer-ref saved_hook_context
    """
)

# ``system`` subtypes of no use to a reader; ``away_summary`` and ``local_command`` are read.
DROPPED_SYSTEM = vocabulary(
    """
    stop_hook_summary turn_duration compact_boundary api_error microcompact_boundary informational
    scheduled_task_fire bridge_status permission_retry memory_saved agents_killed model_fallback model_consent_fallback
    model_refusal_fallback model_refusal_no_fallback api_metrics thinking file_snapshot
    """
)

# Who put a message in, where a record says it (``origin.kind``, 2.1.119 and later): the harness, or another agent. What
# a ``channel`` brings, a person wrote elsewhere.
MACHINES = vocabulary("task-notification auto-continuation observer observer-activity")
AGENTS = vocabulary("peer coordinator scheduled-trigger")
# Who began a turn, where no ``origin`` says it.
OTHER_ORIGINS = vocabulary("scheduled peer task_notification")

# ``attachment`` kinds of no use to a reader; ``queued_command`` and ``teammate_mailbox`` are read.
DROPPED_ATTACHMENTS = vocabulary(
    """
    agent_listing_delta agent_mention async_hook_response auto_mode command_permissions compact_file_reference
    critical_system_reminder date_change deferred_tools_delta diagnostics directory edited_image_file edited_text_file
    file hook_additional_context hook_blocking_error hook_cancelled hook_error_during_execution
    hook_non_blocking_error hook_stopped_continuation hook_success hook_system_message image invoked_skills
    mcp_instructions_delta mcp_resource nested_memory new_directory opened_file_in_ide output_style
    plan_file_reference plan_mode plan_mode_exit plan_mode_reentry pdf_reference relevant_memories
    selected_lines_in_ide skill_listing task_reminder task_status todo todo_reminder ultrathink_effort
    already_read_file auto_mode_exit autocheckpointing background_task_status bash_output_audience_note
    batching_reminder_sent budget_usd companion_intro compaction_reminder context_efficiency context_tip credential_org
    current_session_memory date deferred_tools_record dynamic_skill echo_activities environment goal_status
    hook_deferred_tool hook_permission_decision instructions max_turns_reached memory_update model
    model_refusal_fallback output_style_instructions output_token_usage pen_mode_enter pen_mode_exit prompt_snapshot
    read_truncation_notice remote_session_change session_context silent_turn_reminder skill_discovery
    structured_output task_progress team_context thinking_drop thinking_reminder thinking_stripped token_usage
    tool_search_usage_reminder total_tokens_reminder ultra_effort_enter ultra_effort_exit ultramemory
    ultrawork_request verify_plan_reminder workflow_keyword_request advisor_stripped advisor_tool inlined_image_paths
    skill_activated skill_mention workflow_size_guideline_change
    """
)

# Content blocks that are passed over: images, documents, and results that servers ran.
DROPPED_USER_BLOCKS = vocabulary("image document search_result container_upload")
DROPPED_ASSISTANT_BLOCKS = vocabulary(
    """
    redacted_thinking image document tool_result fallback web_search_tool_result web_fetch_tool_result
    mcp_tool_result code_execution_tool_result bash_code_execution_tool_result
    text_editor_code_execution_tool_result tool_search_tool_result advisor_tool_result container_upload compaction
    """
)

# Fields of every record, whatever its type; those of its type besides. Whatever else stands in it is not known.
RECORD = vocabulary(
    """
    type uuid parentUuid logicalParentUuid sessionId session_id timestamp cwd version gitBranch userType entrypoint
    isSidechain isMeta agentId agentName agentColor teamName slug forkedFrom sessionKind promptId origin parentSessionId
    attributionAgent attributionSkill attributionPlugin attributionMcpServer attributionMcpTool
    """
)
FIELDS = {
    "user": RECORD
    | vocabulary(
        """
        message content toolUseResult sourceToolUseID sourceToolAssistantUUID thinkingMetadata todos permissionMode
        isCompactSummary isVisibleInTranscriptOnly imagePasteIds planContent promptSource mcpMeta isReplay isSynthetic
        summarizeMetadata interruptedMessageId parent_tool_use_id queuePriority queueOrigin queueSkipAttachments
        queueTranscriptOnly turnOrigin turnPosition turnCompanion serverClassifierContext classifierBoundary
        scheduledTaskId scheduledFireId toolDenialKind toolEndsTurn permissionDecision userFeedback usageLimitNote
        projectsUserTurn verifiedSlackHumanTurn classifierMetaLines interruptedByShutdown
        """
    ),
    "assistant": RECORD
    | vocabulary(
        """
        message content requestId isApiErrorMessage apiError apiErrorStatus error errorDetails retryInMs retryAttempt
        maxRetries costUSD durationMs isVirtual advisorModel parent_tool_use_id isReplay effort perTurnEffort
        apiBlockIndex wireToolInputs wireIngestContext serverClassifierRequest thinkingDurationMs requestedModel
        truncatedAfterOutput supersedesUuids quotaLimits isAbortedMidStream
        """
    ),
    "system": RECORD
    | vocabulary(
        """
        content subtype level toolUseID hookCount hookInfos hookErrors hasOutput preventedContinuation stopReason
        durationMs messageCount compactMetadata microcompactMetadata url error cause retryInMs retryAttempt maxRetries
        model tools commands direction trigger originalModel fallbackModel requestId writtenPaths snapshotFiles
        pendingBackgroundAgentCount pendingWorkflowCount budgetTokens budgetLimit budgetNudges isSnapshotUpdate
        hookAdditionalContext hookLabel refusedModel refusedUserMessageUuid retractedMessageUuids apiRefusalCategory
        apiRefusalExplanation taskId taskKind cron cronKind prompt commandRun scope source choice persistedAsDefault
        noOpStreak streakStartedAt foldedUuids
        """
    ),
    "attachment": RECORD | vocabulary("attachment rendered renderedRole renderedInHumanTurn renderedBesideToolResult"),
    "summary": RECORD | vocabulary("summary leafUuid"),
    "queue-operation": RECORD | vocabulary("operation content taskId reason commandUuid deliveryId"),
    "custom-title": RECORD | vocabulary("customTitle title"),
    "ai-title": RECORD | vocabulary("aiTitle title"),
    "pr-link": RECORD | vocabulary("prNumber prUrl prRepository"),
    "fork-context-ref": RECORD | vocabulary("parentLastUuid contextLength"),
}
# Fields of a message and of the blocks that are read.
MESSAGE = vocabulary(
    """
    role content id type model stop_reason stop_sequence stop_details usage context_management container diagnostics
    input_transformations
    """
)
BLOCKS = {
    "text": vocabulary("type text citations cache_control"),
    "thinking": vocabulary("type thinking signature"),
    "tool_use": vocabulary("type id name input caller cache_control"),
    "tool_result": vocabulary("type tool_use_id content is_error cache_control"),
}
