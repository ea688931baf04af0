export default function (pi) {
  let isNew = true;
  pi.on("session_start", () => {
    isNew = true;
  });
  pi.on("before_agent_start", async (event, context) => {
    const session = context.sessionManager?.getSessionId?.() ?? "";
    const about = { session_id: session, cwd: context.cwd, prompt: event.prompt };
    const found = [];
    if (isNew) {
      isNew = false;
      found.push(await ask("session-start", { ...about, source: "startup" }));
    }
    found.push(await ask("prompt", about));
    const content = found.filter(Boolean).join("\n");
    return content ? { message: { customType: "brain", content, display: true } } : undefined;
  });
  // Only a result can carry text to the model, so the line waits for it.
  const lines = new Map();
  pi.on("tool_call", async (event, context) => {
    const session = context.sessionManager?.getSessionId?.() ?? "";
    const line = await guard(session, context.cwd, event.toolName, event.input);
    if (line) lines.set(event.toolCallId, line);
  });
  pi.on("tool_result", (event) => {
    const text = lines.get(event.toolCallId);
    lines.delete(event.toolCallId);
    return text ? { content: [...event.content, { type: "text", text }] } : undefined;
  });
  pi.on("agent_end", async (event, context) => {
    const file = context.sessionManager?.getSessionFile?.();
    if (file) {
      const session = context.sessionManager?.getSessionId?.() ?? "";
      const about = { session_id: session, cwd: context.cwd, transcript_path: file };
      await ask("stop", about, ["--source", SOURCE]);
    }
  });
}
