// A small client of beliefd for node, Deno, Bun and browsers: fetch, and nothing else.

import { ROUTES } from "./routes.mjs";

/** An error answer: `code` never changes its meaning, `details.path` points at the bad field. */
export class BeliefdError extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? `unexpected answer with status ${status}`);
    this.name = "BeliefdError";
    this.status = status;
    this.code = body?.error?.code ?? "INTERNAL";
    this.details = body?.error?.details ?? null;
  }
}

export class Client {
  #url;
  #token;

  constructor(url = "http://127.0.0.1:8642", { token } = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#token = token;
  }

  /** The answer of an operation: its JSON, or its text where it answers with something else. */
  async call(name, { path = {}, query = {}, headers = {}, body, signal } = {}) {
    const response = await this.#send(name, { path, query, headers, body, signal });
    const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json");
    return isJson ? response.json() : response.text();
  }

  /** What a live feed tells, as it comes: `event`, `id` and `data` of each message. */
  async *follow(name, given = {}) {
    const response = await this.#send(name, given);
    let rest = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const messages = (rest + chunk).split("\n\n");
      rest = messages.pop();
      for (const message of messages) {
        const told = {};
        for (const line of message.split("\n")) {
          const [, field, value] = /^(event|id|data): (.*)$/s.exec(line) ?? [];
          if (field !== undefined) told[field] = field === "data" ? JSON.parse(value) : value;
        }
        if ("data" in told) yield told;
      }
    }
  }

  async #send(name, { path = {}, query = {}, headers = {}, body, signal }) {
    const [method, template, media] = ROUTES[name];
    // A path of dots would be taken for a step upwards on its way; encoded, it is just an id.
    const place = template.replace(/\{(\w+)\}/g, (_, key) =>
      encodeURIComponent(path[key]).replaceAll(".", "%2E"),
    );
    const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined));
    const response = await fetch(`${this.#url}${place}${asked.size ? `?${asked}` : ""}`, {
      method,
      signal,
      headers: {
        ...(this.#token ? { Authorization: `Bearer ${this.#token}` } : {}),
        ...(body === undefined ? {} : { "Content-Type": media }),
        ...headers,
      },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    });
    if (!response.ok) throw new BeliefdError(response.status, await response.json().catch(() => null));
    return response;
  }
}
