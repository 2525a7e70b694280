/** The server that this page came from. */

export class ApiError extends Error {
  /** `status`: of HTTP, 0 where no answer came; `retryAfter`: seconds, where the server names them. */
  constructor(message, status, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

let key = "";

/** The key that goes with every request from now on; an empty one is none. */
export function useKey(given) { key = given; }

async function ask(path, options) {
  let answer;
  const headers = { ...options.headers, ...(key && { Authorization: `Bearer ${key}` }) };
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(error.message, 0, null);
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  const detail = told.error ?? told.detail ?? answer.statusText;
  const message = typeof detail === "string" ? detail : detail.message ?? JSON.stringify(detail);
  throw new ApiError(message, answer.status, answer.headers.get("Retry-After"));
}

export async function get(path, { signal } = {}) {
  return (await ask(path, { signal })).json();
}

export async function getText(path) {
  return (await ask(path, {})).text();
}

export async function post(path, body, { signal } = {}) {
  const headers = { "Content-Type": "application/json" };
  return (await ask(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

/** The server-sent events of an answer as they come: {name, data}. */
export async function* events(path, body, { signal } = {}) {
  const headers = { "Content-Type": "application/json" };
  const answer = await ask(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      throw error.name === "AbortError" ? error : new ApiError(error.message, 0, null);
    });
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(part);
      yield { name, data: JSON.parse(data) };
    }
  }
}
