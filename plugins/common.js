// Recall from the memory, written by `brain install` and taken back by `brain uninstall`.
// A prompt goes to `brain hook prompt` as JSON; the answer, one JSON object or nothing, is added to the message.
import { spawn } from "node:child_process";

const COMMAND = [/* COMMAND */];
const ENVIRONMENT = {/* ENVIRONMENT */};
const SOURCE = "/* SOURCE */";
const LIMIT_MS = 5000;

function ask(verb, input, options = ["--form", "camel"]) {
  return new Promise((resolve) => {
    const [program, ...words] = COMMAND;
    const child = spawn(program, [...words, verb, ...options], {
      env: { ...process.env, ...ENVIRONMENT },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const timer = setTimeout(() => child.kill(), LIMIT_MS);
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stdin.on("error", () => {});
    child.on("error", () => resolve(""));
    child.on("close", () => {
      clearTimeout(timer);
      try {
        resolve(JSON.parse(output).additionalContext ?? "");
      } catch {
        resolve("");
      }
    });
    child.stdin.end(JSON.stringify(input));
  });
}

function guard(session, cwd, tool, input) {
  const file = input?.file_path ?? input?.filePath;
  const entered = file === undefined ? input : { ...input, file_path: file };
  const about = { session_id: session, cwd, hook_event_name: "PreToolUse" };
  return ask("guard", { ...about, tool_name: tool, tool_input: entered });
}

