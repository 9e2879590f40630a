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

// A sub-agent has a session of its own, whose prompt its parent wrote: it belongs to the user's conversation.
function conversations(client) {
  const known = new Map();
  async function of(id, deep = 0) {
    if (known.has(id)) return known.get(id);
    const { data } = await client.session.get({ path: { id } });
    if (data?.id !== id || deep > 20) throw new Error("beliefd: whose session this is cannot be told");
    known.set(id, data.parentID ? await of(data.parentID, deep + 1) : id);
    return known.get(id);
  }
  return of;
}

export const Beliefd = async ({ client, directory }) => {
  const conversation = conversations(client);
  return {
    "chat.message": async (input, output) => {
      const sessionID = await conversation(input.sessionID);
      // What is `synthetic` was put there by the program: contents of files that the user only named.
      const byUser = (part) => sessionID === input.sessionID && !part.synthetic;
      for (const spoken of [true, false]) {
        const parts = output.parts.filter((part) => part.type === "text" && byUser(part) === spoken);
        const text = parts.map((part) => part.text).join("\n");
        if (text) await ask({ event: "chat.message", sessionID, cwd: directory, text, spoken });
      }
    },
    "tool.execute.before": async (input, output) => {
      const { tool, callID } = input;
      const event = { event: "tool.execute.before", callID, cwd: directory, tool, args: output.args ?? {} };
      await ask({ ...event, sessionID: await conversation(input.sessionID) });
    },
    "tool.execute.after": async (input, output) => {
      const { tool, callID, args } = input;
      const event = { event: "tool.execute.after", callID, cwd: directory, tool, args: args ?? {} };
      await ask({ ...event, sessionID: await conversation(input.sessionID), output: output.output ?? null });
    },
  };
};
