// Calls to the server.
import { parseClean } from "./clean";
import { signal } from "@preact/signals";
import { say } from "./language";
import type { Answers, Me } from "./wire";

export const me = signal<Me | null>(null);

/** Whether the server lets this caller do such a thing; until it has said so, everything is offered. */
export function mayDo(what: Me["may"][number]): boolean {
  return me.value === null || me.value.may.includes(what);
}

/** Whether this caller may open sessions: not with a token for one of them. */
export function mayOpen(): boolean {
  return mayDo("run") && !me.value?.session;
}

/** Whether the server refused us for want of a login. */
export const needsLogin = signal(false);

export class CallError extends Error {
  constructor(
    message: string,
    readonly kind: string,
  ) {
    super(message);
  }
}

let lastId = 0;

async function send(path: string, body?: unknown): Promise<Response> {
  const options: RequestInit =
    body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  try {
    return await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new CallError(
      say("the_server_does_not_answer_is"),
      "Offline",
    );
  }
}

export async function call<M extends keyof Answers>(method: M, params: object = {}): Promise<Answers[M]> {
  const response = await send("/rpc", { jsonrpc: "2.0", id: ++lastId, method, params });
  if (response.status === 401) needsLogin.value = true;
  let answer: { result?: Answers[M]; error?: { message: string; data?: { kind?: string } } };
  try {
    // A file to save stays as it is, byte for byte.
    answer = method === "moot.exportSession" ? await response.json() : (parseClean(await response.text()) as typeof answer);
  } catch {
    throw new CallError(`${response.status} ${response.statusText}`, response.status === 401 ? "NotAllowed" : "World");
  }
  if (answer.error) {
    const kind = answer.error.data?.kind ?? "";
    // The server's words name other sessions, for programs that guessed; a person is led to all of them.
    const session = kind === "UnknownSession" && "sessionId" in params && String(params.sessionId);
    throw new CallError(session ? say("there_is_no_such_session", { session }) : answer.error.message, kind);
  }
  return answer.result as Answers[M];
}

async function readMe(): Promise<Me | null> {
  const response = await send("/me");
  if (response.status === 401) needsLogin.value = true;
  return response.ok ? ((await response.json()) as Me) : null;
}

export async function loadMe(): Promise<void> {
  const found = await readMe();
  if (!found) return;
  me.value = found;
  needsLogin.value = false;
}

export async function logIn(by: { ticket: string } | { token: string }): Promise<Me | null> {
  const response = await send("/login", by);
  if (!response.ok) {
    const answer = (await response.json().catch(() => null)) as { error?: string } | null;
    throw new CallError(answer?.error ?? say("that_ticket_or_token_is_not"), "NotAllowed");
  }
  return readMe();
}

export async function logOut(): Promise<void> {
  const response = await send("/logout", {});
  // The cookie is still there then: whoever comes next would be signed in.
  if (!response.ok) {
    const answer = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
    throw new CallError(answer?.error?.message ?? `${response.status} ${response.statusText}`, "World");
  }
  me.value = null;
  needsLogin.value = true;
}

/** A key under which a repeated request is the same request. */
export function newKey(): string {
  return `page-${Array.from(crypto.getRandomValues(new Uint32Array(3)), (each) => each.toString(36)).join("")}`;
}

/** The keys of a form: what is sent again because no answer came has the same one, other words and the next request have another. */
export class FormKeys {
  private sent = "";
  private key = "";

  find(content: unknown): string {
    const sent = JSON.stringify(content);
    if (sent !== this.sent) this.key = newKey();
    this.sent = sent;
    return this.key;
  }

  forget(): void {
    this.sent = "";
  }
}

export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
