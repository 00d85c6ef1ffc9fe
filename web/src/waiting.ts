// Keys that wait for the page: which may, and for how long.

export interface WaitingKey {
  key: string;
  /** When it was pressed, in milliseconds since the page was opened. */
  at: number;
  /** The path that was open: a key is not meant for a view that was opened later. */
  path: string;
}

declare global {
  interface Window {
    takeEarlyKeys?: () => WaitingKey[];
  }
}

export const MAX_WAIT_MS = 15_000;
const MAX_WAITING = 200;
const NAMED_KEYS = new Set(["ArrowLeft", "ArrowRight", "Backspace", "Escape"]);
/** Keys after which a text is written. */
const OPENING_KEYS = new Set(["/", "i"]);

/** Whether keys belong to what has the focus: in a form a letter is never a shortcut, whatever part of it has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.closest("input,textarea,select,dialog,form") !== null || target.isContentEditable);
}

/** Whether a text may follow: then all that is written belongs to it. */
export function hasOpening(waiting: readonly WaitingKey[]): boolean {
  return waiting.some(({ key }) => OPENING_KEYS.has(key));
}

/** A space or Backspace without a text before it is the browser's. */
export function canWait(event: KeyboardEvent, waiting: readonly WaitingKey[]): boolean {
  if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing || waiting.length >= MAX_WAITING) return false;
  if (event.key === " " || event.key === "Backspace") return hasOpening(waiting);
  return event.key.length === 1 || NAMED_KEYS.has(event.key);
}
