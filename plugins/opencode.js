export const Brain = async ({ directory }) => {
  const started = new Set();
  const lines = new Map();
  return {
    event: async ({ event }) => {
      if (event.type === "session.idle") {
        await ask("stop", { session_id: event.properties.sessionID, cwd: directory }, ["--source", SOURCE]);
      }
    },
    "chat.message": async (input, output) => {
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic);
      const prompt = texts.map((part) => part.text).join("\n");
      const about = { session_id: input.sessionID, cwd: directory, prompt };
      const found = [];
      if (!started.has(input.sessionID)) {
        started.add(input.sessionID);
        found.push(await ask("session-start", { ...about, source: "startup" }));
      }
      found.push(await ask("prompt", about));
      const text = found.filter(Boolean).join("\n");
      if (text && texts.length) {
        output.parts.push({ ...texts[0], id: `${texts[0].id}b`, text, synthetic: true });
      }
    },
    // Only a result can carry text to the model, so the line waits for it.
    "tool.execute.before": async (input, output) => {
      const line = await guard(input.sessionID, directory, input.tool, output.args);
      if (line) lines.set(input.callID, line);
    },
    "tool.execute.after": async (input, output) => {
      const line = lines.get(input.callID);
      lines.delete(input.callID);
      if (line && typeof output.output === "string") output.output += `\n\n${line}`;
    },
  };
};
