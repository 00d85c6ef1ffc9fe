// One stream of events for all tabs of a browser: a browser allows six connections to a host, and every stream holds one.
// The tab that holds the lock LEADER reads the stream and hands each event on to the others. What the tabs look at is written in the names
// of the locks that they hold, so that a tab that is closed, or crashes, is forgotten by itself. Where a browser has no locks (plain http
// from another machine), every tab has a stream of its own, which it closes while it is hidden.
import { effect, signal } from "@preact/signals";
import { parseClean } from "./clean";
import { describeRefusal, findViewed, isByLink, readReason, type Reason } from "./grants";
import { needsLogin } from "./rpc";
import type { SessionLine, ViewChange } from "./wire";

export interface TextPiece {
  sessionId: string;
  ask: string;
  seat: string;
  text: string;
  /** All that was written so far, not a piece that follows. */
  whole?: boolean;
}
export interface Asked {
  sessionId: string;
  seat: string;
  ask: string;
}
export interface Gone {
  sessionId: string;
  why: string;
  /** Given where it is this browser that may not read it any more. */
  reason?: Reason;
}
interface Events {
  line: SessionLine;
  view: ViewChange;
  text: TextPiece;
  asked: Asked;
  /** A session can no longer be read. */
  gone: Gone;
}
export type Listener = { [Name in keyof Events]?: (data: Events[Name]) => void } & {
  /** The stream has just opened, or what was missed cannot be known: load anew. */
  load?: () => void;
};
/** What the tab that leads tells the others; "hello" is what they tell it. */
type Message =
  | { kind: "hello" }
  | { kind: "opened"; sessions: string[]; isFresh: boolean }
  | { kind: "broken" }
  | { kind: "refused"; reason: Reason; status: number }
  | { kind: "event"; name: string; id: string; data: unknown };

/** "live" is said only while the server is heard: by an event, or its beat every ten seconds. */
export const connection = signal<"opening" | "live" | "broken" | "refused">("opening");

/** Why the server refuses the stream, in words. */
export const refusedBecause = signal("");

const LEADER = "moot.stream";
const WATCH = "moot.watch ";
const NAMES = ["reset", "beat", "line", "view", "text", "gone", "asked"];
const RETRY = [500, 1000, 2000, 4000, 8000];
const MAX_SESSIONS = 60;
const MAX_SILENCE = 25_000;
const MAX_OPENING = 10_000;
const MAX_HIDDEN = 10_000;
const CHECK = 2_000;

const listeners = new Set<Listener>();
const tab = Math.random().toString(36).slice(2);
/** The session that this tab reads by its link, though the browser may do more: its stream is its own. */
const byLink = isByLink(findViewed()) ? findViewed() : "";
const locks: LockManager | undefined = "BroadcastChannel" in window && byLink === "" ? navigator.locks : undefined;
/** What the server answers where it will not answer otherwise however often it is asked. */
const REFUSED = [401, 403, 404, 410];
let channel: BroadcastChannel | null = null;
let isStarted = false;
let isLeader = false;
/** The sessions that this tab looks at, and whether the stream that is open has them. */
let wanted: string[] = [];
let isCovered = false;
/** The sessions of the stream that is open. */
let covered: string[] = [];
let lastEvent = "";
let heardAt = 0;
let release: (() => void) | null = null;

let source: EventSource | null = null;
/** The sessions for which the server refused the stream. */
let refused: string | null = null;
let openedAt = 0;
let failures = 0;
let retryTimer = 0;
let gatherTimer = 0;
let hideTimer = 0;

export function listen(listener: Listener): () => void {
  listeners.add(listener);
  if (connection.value === "live" && isCovered) listener.load?.();
  return () => listeners.delete(listener);
}

/** Hear of all sessions where a view follows none. */
export function followLines(): void {
  if (!isStarted) watch([]);
}

/** Follow these sessions: what happens to them from now on is heard by the listeners of this tab. */
export function watch(sessions: string[]): void {
  if (isStarted && sessions.join() === wanted.join()) return;
  wanted = sessions;
  isCovered = connection.value === "live" && wanted.every((each) => covered.includes(each));
  start();
  holdNames();
}

function start(): void {
  if (isStarted) return;
  isStarted = true;
  heardAt = Date.now();
  if (locks) {
    channel = new BroadcastChannel(LEADER);
    channel.onmessage = (event: MessageEvent<Message>) => {
      if (event.data.kind !== "hello") hear(event.data);
      else if (isLeader) gather();
    };
    void lead(false);
  } else {
    isLeader = true;
  }
  setInterval(check, CHECK);
  // The network has changed, or this machine slept: the line may be dead without having been closed. Whether it is shows at once by opening
  // another; a server on this machine needs no network.
  for (const name of ["online", "offline"]) addEventListener(name, () => renew());
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hideTimer);
    holdNames();
    if (document.visibilityState === "visible") check();
    else if (!locks) hideTimer = window.setTimeout(closeSource, MAX_HIDDEN);
  });
  let hadToLogIn = needsLogin.peek();
  effect(() => {
    if (hadToLogIn && !needsLogin.value) renew();
    hadToLogIn = needsLogin.value;
  });
}

/** Hold a lock that says what this tab looks at; those in front come first when the names are sorted. */
function holdNames(): void {
  if (!locks) return gather();
  release?.();
  let isOver = false;
  release = () => (isOver = true);
  const name = `${WATCH}${document.visibilityState === "visible" ? 0 : 1} ${tab} ${wanted.join(" ")}`;
  void locks.request(name, { mode: "shared" }, () => {
    tell({ kind: "hello" });
    if (isLeader) gather();
    return isOver ? undefined : new Promise<void>((resolve) => (release = resolve));
  });
}

async function lead(isStolen: boolean): Promise<void> {
  while (true) {
    try {
      await locks?.request(LEADER, { steal: isStolen }, () => {
        isLeader = true;
        gather();
        return new Promise<void>(() => undefined);
      });
    } catch {
      // A tab in front has heard nothing from this one, which the browser may have put to sleep.
    }
    isLeader = false;
    closeSource();
    // The first request of this tab still waits for its turn.
    if (isStolen) return;
  }
}

/** Open the stream for what all tabs look at, unless it is open for that already. */
function gather(): void {
  clearTimeout(gatherTimer);
  gatherTimer = window.setTimeout(async () => {
    const held = ((await locks?.query())?.held ?? []).map((each) => each.name ?? "").filter((name) => name.startsWith(WATCH));
    const names = held.sort().flatMap((name) => name.slice(WATCH.length).split(" ").slice(2));
    const sessions = [...new Set(locks ? names : wanted)].filter(Boolean).slice(0, MAX_SESSIONS).sort();
    if (!isLeader || needsLogin.peek() || sessions.join() === refused) return;
    if (source === null || sessions.join() !== covered.join()) open(sessions);
    else if (source.readyState === EventSource.OPEN) tellAll({ kind: "opened", sessions, isFresh: false });
  }, 20);
}

function open(sessions: string[]): void {
  closeSource();
  refused = null;
  covered = sessions;
  const query = sessions.map((each) => `session=${encodeURIComponent(each)}`);
  if (lastEvent) query.push(`after=${encodeURIComponent(lastEvent)}`);
  if (byLink) query.push(`as=${encodeURIComponent(byLink)}`);
  const isFresh = lastEvent === "";
  const address = `/events${query.length > 0 ? `?${query.join("&")}` : ""}`;
  const opened = new EventSource(address);
  source = opened;
  openedAt = Date.now();
  opened.onopen = () => {
    failures = 0;
    tellAll({ kind: "opened", sessions, isFresh });
  };
  opened.onerror = () => {
    if (source !== opened) return;
    if (opened.readyState === EventSource.CLOSED) void askWhy(address);
    else fail();
  };
  for (const name of NAMES) {
    opened.addEventListener(name, (event) => {
      const message = event as MessageEvent<string>;
      tellAll({ kind: "event", name, id: message.lastEventId, data: parseClean(message.data) });
    });
  }
}

function closeSource(): void {
  clearTimeout(retryTimer);
  source?.close();
  source = null;
}

/** The server has answered, and not with a stream: a browser does not tell with what, so it is asked once more. */
async function askWhy(address: string): Promise<void> {
  closeSource();
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), MAX_OPENING);
  try {
    const response = await fetch(address, { credentials: "same-origin", signal: limit.signal });
    if (!isLeader || source !== null) return;
    if (REFUSED.includes(response.status)) refuse(response.status, readReason(response));
    else fail();
  } catch {
    if (isLeader && source === null) fail();
  } finally {
    clearTimeout(timer);
    // Should it answer with a stream after all, this is not the one to read it.
    limit.abort();
  }
}

/** The server will not answer otherwise: it is asked again where something has changed, and not before. */
function refuse(status: number, reason: Reason): void {
  refused = covered.join();
  tellAll({ kind: "refused", reason, status });
}

/** The line is dead. */
function fail(): void {
  closeSource();
  tellAll({ kind: "broken" });
  if (!needsLogin.peek()) retryTimer = window.setTimeout(() => open(covered), RETRY[Math.min(failures++, RETRY.length - 1)]);
}

function renew(): void {
  if (!isLeader) return;
  failures = 0;
  refused = null;
  if (source) open(covered);
  else gather();
}

function check(): void {
  const isAsleep = !locks && document.visibilityState !== "visible";
  if (needsLogin.peek() || isAsleep || connection.peek() === "refused") return;
  const now = Date.now();
  if (isLeader) {
    if (source?.readyState === EventSource.CONNECTING && now - openedAt > MAX_OPENING) fail();
    else if (source?.readyState === EventSource.OPEN && now - Math.max(heardAt, openedAt) > MAX_SILENCE) fail();
    else if (source === null && now - heardAt > MAX_SILENCE) gather();
  } else if (now - heardAt > MAX_SILENCE) {
    connection.value = "broken";
    heardAt = now;
    if (document.visibilityState === "visible") void lead(true);
  }
}

function tell(message: Message): void {
  channel?.postMessage(message);
}

function tellAll(message: Message): void {
  tell(message);
  hear(message);
}

function loadAll(): void {
  for (const each of listeners) each.load?.();
}

function hear(message: Message): void {
  heardAt = Date.now();
  if (message.kind === "opened") {
    connection.value = "live";
    covered = message.sessions;
    const wasCovered = isCovered;
    isCovered = wanted.every((each) => covered.includes(each));
    if (isCovered && (message.isFresh || !wasCovered)) loadAll();
  } else if (message.kind === "broken") {
    connection.value = "broken";
  } else if (message.kind === "refused") {
    refusedBecause.value = describeRefusal(message.reason, message.status);
    connection.value = "refused";
    loadAll();
  } else if (message.kind === "event") {
    connection.value = "live";
    lastEvent = message.id || lastEvent;
    receive(message.name, message.data);
  }
}

function receive(name: string, data: unknown): void {
  if (name === "reset") {
    // Without names: nothing is known any more of what was missed.
    const sessions = (data as { sessions?: string[] } | null)?.sessions;
    if (!sessions || sessions.some((each) => wanted.includes(each))) loadAll();
  } else if (name !== "beat") {
    for (const each of listeners) (each[name as keyof Events] as ((data: unknown) => void) | undefined)?.(data);
  }
}
