// SIGN
// Every tool goes through beliefd: what is refused is thrown, and so is whatever goes wrong.
import { spawn } from "node:child_process";

const command = "COMMAND";
const environment = "ENVIRONMENT";

function ask(event) {
  return new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), { env: { ...process.env, ...environment } });
    let errors = "";
    child.on("error", (error) => reject(new Error(`beliefd: ${error.message}`)));
    child.stdin.on("error", () => {});
    child.stderr.on("data", (part) => { errors += part; });
    child.stdout.resume();
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(new Error(errors.trim() || `beliefd: the hook ended with ${code}`));
    });
    child.stdin.end(JSON.stringify(event));
  });
}

export const Beliefd = async ({ directory }) => ({
  "chat.message": async (input, output) => {
    const text = output.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
    if (text) await ask({ event: "chat.message", sessionID: input.sessionID, cwd: directory, text });
  },
  "tool.execute.before": async (input, output) => {
    const { tool, sessionID, callID } = input;
    await ask({ event: "tool.execute.before", sessionID, callID, cwd: directory, tool, args: output.args ?? {} });
  },
  "tool.execute.after": async (input, output) => {
    const { tool, sessionID, callID, args } = input;
    const event = { event: "tool.execute.after", sessionID, callID, cwd: directory, tool, args: args ?? {} };
    await ask({ ...event, output: output.output ?? null });
  },
});
