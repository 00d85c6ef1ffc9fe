// The page's one stream of events. It opens anew when other sessions are looked at, and after every break.
import { signal } from "@preact/signals";
import { parseClean } from "./clean";
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
export interface Listener {
  /** The stream has just opened, or what was missed cannot be told: load anew. */
  load?: () => void;
  line?: (line: SessionLine) => void;
  view?: (change: ViewChange) => void;
  text?: (piece: TextPiece) => void;
  asked?: (asked: Asked) => void;
  /** A session can no longer be read. */
  gone?: (gone: { sessionId: string; why: string }) => void;
}

export const connection = signal<"opening" | "live" | "broken">("opening");

const listeners = new Set<Listener>();
const RETRY = [500, 1000, 2000, 4000, 8000];
let source: EventSource | null = null;
let watched = "";
let lastEvent = "";
let failures = 0;
let timer = 0;

export function listen(listener: Listener): () => void {
  listeners.add(listener);
  if (source?.readyState === EventSource.OPEN) listener.load?.();
  return () => listeners.delete(listener);
}

/** Open the stream for these sessions; what was missed since the last event comes first. */
export function watch(sessions: string[]): void {
  const wanted = sessions.map((each) => `session=${encodeURIComponent(each)}`).join("&");
  if (source !== null && wanted === watched) return;
  watched = wanted;
  lastEvent = "";
  open();
}

export function closeStream(): void {
  clearTimeout(timer);
  source?.close();
  source = null;
}

function open(): void {
  closeStream();
  const query = [watched, lastEvent ? `after=${encodeURIComponent(lastEvent)}` : ""].filter(Boolean).join("&");
  const opened = new EventSource(`/events${query ? `?${query}` : ""}`);
  const isResumed = lastEvent !== "";
  source = opened;
  opened.onopen = () => {
    // The browser's own reconnection sends Last-Event-ID: nothing is to be loaded then unless the server says so.
    const isAgain = connection.value === "broken";
    connection.value = "live";
    failures = 0;
    if (!isResumed && !(isAgain && lastEvent)) for (const each of listeners) each.load?.();
  };
  opened.onerror = () => {
    if (source !== opened) return;
    connection.value = "broken";
    // The browser tries again by itself unless the answer was an error.
    if (opened.readyState === EventSource.CLOSED && !needsLogin.value) {
      // A refusal has no words here: the calls say why.
      for (const each of listeners) each.load?.();
      timer = window.setTimeout(open, RETRY[Math.min(failures++, RETRY.length - 1)]);
    }
  };
  const on = <T>(name: string, handle: (data: T) => void): void => {
    opened.addEventListener(name, (event) => {
      const message = event as MessageEvent<string>;
      if (message.lastEventId) lastEvent = message.lastEventId;
      handle(parseClean(message.data || "null") as T);
    });
  };
  on<null>("reset", () => listeners.forEach((each) => each.load?.()));
  on<SessionLine>("line", (data) => listeners.forEach((each) => each.line?.(data)));
  on<ViewChange>("view", (data) => listeners.forEach((each) => each.view?.(data)));
  on<TextPiece>("text", (data) => listeners.forEach((each) => each.text?.(data)));
  on<{ sessionId: string; why: string }>("gone", (data) => listeners.forEach((each) => each.gone?.(data)));
  on<Asked>("asked", (data) => listeners.forEach((each) => each.asked?.(data)));
}
