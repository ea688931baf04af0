export const Brain = async ({ directory }) => {
  const started = new Set();
  return {
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
  };
};
