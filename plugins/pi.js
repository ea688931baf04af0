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
  pi.on("agent_end", async (event, context) => {
    const file = context.sessionManager?.getSessionFile?.();
    if (file) {
      const session = context.sessionManager?.getSessionId?.() ?? "";
      const about = { session_id: session, cwd: context.cwd, transcript_path: file };
      await ask("stop", about, ["--source", "pi"]);
    }
  });
}
