// The node's HTTP interface, and what goes wrong with it.

export class ApiError extends Error {
  constructor(status, detail, errors = []) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }
}

/** path`/v1/projects/${name}`: the parts put in are encoded. */
export function path(words, ...parts) {
  // A browser takes these, encoded too, for steps in the address.
  if (parts.some((p) => p === "." || p === ".."))
    throw new ApiError(400, "an address cannot have . or .. for a name");
  return words.reduce((all, w, i) => all + encodeURIComponent(parts[i - 1]) + w);
}

export async function call(method, target, body, signal) {
  let answer;
  try {
    answer = await fetch(target, {
      method,
      signal,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "the node does not answer");
  }
  const text = await answer.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    value = null;
  }
  if (!answer.ok)
    throw new ApiError(answer.status, value?.detail ?? `HTTP ${answer.status}`, value?.errors);
  return value;
}

/** Shows an error at the fields it names, `named[i].key`; returns what is said of no field. */
export function place(error, named) {
  const faults = error.errors?.length ? error.errors : [{ field: "", reason: error.message }];
  const rest = [];
  for (const { field, reason } of faults) {
    const f = named.find(({ key }) => field ? field === key || field.startsWith(`${key}[`)
      : reason.startsWith(`${key}: `));
    if (f) f.fail(field ? reason : reason.slice(f.key.length + 2));
    else rest.push(field ? `${field}: ${reason}` : reason);
  }
  named.find((f) => f.input.hasAttribute("aria-invalid"))?.input.focus();
  return rest.join("; ");
}

export const get = (target, signal) => call("GET", target, undefined, signal);
export const put = (target, body) => call("PUT", target, body);
export const post = (target, body) => call("POST", target, body);
export const patch = (target, body) => call("PATCH", target, body);
export const remove = (target) => call("DELETE", target);

export const project = (name) => path`/v1/projects/${name}`;
export const task = (name, id) => path`/v1/projects/${name}/tasks/${id}`;
export const job = (id) => path`/v1/jobs/${id}`;
