// Calls to the server.
import { parseClean } from "./clean";
import { signal } from "@preact/signals";
import { buildGrantHeaders, describeRefusal, readReason } from "./grants";
import { say } from "./language";
import type { Answers, LoginConflict, Me } from "./wire";

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

/** Why it refused, in words; empty where nobody was signed in. */
export const refusal = signal("");

/** A login that takes something away: the person is asked first. */
export class LoginQuestion extends Error {
  constructor(
    message: string,
    readonly conflict: LoginConflict,
  ) {
    super(message);
  }
}

export class CallError extends Error {
  constructor(
    message: string,
    readonly kind: string,
  ) {
    super(message);
  }
}

let lastId = 0;

async function send(path: string, body?: unknown, about: object = {}): Promise<Response> {
  const grant = buildGrantHeaders(about);
  const options: RequestInit =
    body === undefined ? { headers: grant } : { method: "POST", headers: { ...grant, "Content-Type": "application/json" }, body: JSON.stringify(body) };
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
  const response = await send("/rpc", { jsonrpc: "2.0", id: ++lastId, method, params }, params);
  noteRefusal(response);
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
    throw new CallError(session ? say("there_is_no_such_session", { session }) : explainRefusal(response, params) || answer.error.message, kind);
  }
  return answer.result as Answers[M];
}

function noteRefusal(response: Response): void {
  if (response.status !== 401) return;
  refusal.value = readReason(response) ? describeRefusal(readReason(response), 401) : "";
  // Nothing of what this browser could do is left: it is nobody until it signs in again.
  me.value = null;
  needsLogin.value = true;
}

/** The words for a person whose link opens another meeting, or none any more; empty for any other refusal. */
function explainRefusal(response: Response, params: object): string {
  if (!response.ok && readReason(response)) return describeRefusal(readReason(response), response.status);
  const session = "sessionId" in params ? String(params.sessionId) : "";
  const isOther = session !== "" && !!me.peek()?.session && me.peek()?.grants.every((each) => each.session !== session);
  return isOther ? describeRefusal("other_meeting", 403) : "";
}

async function readMe(session = ""): Promise<Me | null> {
  let response = await send("/me", undefined, session ? { sessionId: session } : {});
  // The link of this meeting has ended, and the browser holds others: who it is by those.
  if (response.status === 403 && readReason(response)) response = await fetch("/me", { credentials: "same-origin" });
  noteRefusal(response);
  return response.ok ? ((await response.json()) as Me) : null;
}

export async function loadMe(): Promise<void> {
  const found = await readMe();
  if (!found) return;
  me.value = found;
  needsLogin.value = false;
}

/** What a link or a pasted token gives. */
export type LoginSecret = { ticket: string } | { token: string };

/** Add the rights of a link to those of this browser; raises LoginQuestion where it would take some away. */
export async function logIn(by: LoginSecret, isAgreed = false): Promise<Me | null> {
  const response = await send("/login", isAgreed ? { ...by, isAgreed } : by);
  if (!response.ok) {
    const answer = (await response.json().catch(() => null)) as { error?: string; conflict?: LoginConflict } | null;
    if (answer?.conflict) throw new LoginQuestion(answer.error ?? "", answer.conflict);
    const reason = readReason(response);
    if (reason === "revoked" || reason === "expired") throw new CallError(describeRefusal(reason, response.status), "NotAllowed");
    // The server's words for what it does not know name commands: those of the page are for people.
    const isUnknown = reason === "unknown" || !answer?.error;
    throw new CallError(isUnknown ? say("that_ticket_or_token_is_not") : (answer?.error ?? ""), "NotAllowed");
  }
  return readMe(response.headers.get("Moot-Session") ?? "");
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
