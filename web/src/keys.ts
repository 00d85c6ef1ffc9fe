// The keyboard of the page. A key that comes too early waits: for the script (early.ts), for the view that answers it, and for the input
// that the key before it opened.
import { useLayoutEffect, useRef } from "preact/hooks";
import { MAX_WAIT_MS, canWait, hasOpening, isTyping, type WaitingKey } from "./waiting";

/** What a key did; "text" says that an input has the focus now, or will have it after the next render. */
export type KeyResult = "ignored" | "done" | "text";
export type KeyHandler = (key: string) => KeyResult;

const viewHandlers = new Set<KeyHandler>();
const globalHandlers = new Set<KeyHandler>();
let waiting: WaitingKey[] = window.takeEarlyKeys?.() ?? [];
let isTextExpected = false;

addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  dropOldKeys();
  if (waiting.length > 0 || isTextExpected) {
    if (isTextExpected ? event.key.length > 1 && event.key !== "Backspace" : !canWait(event, waiting)) return;
    event.preventDefault();
    waiting.push({ key: event.key, at: event.timeStamp, path: location.pathname });
    replay();
    return;
  }
  const result = perform(event.key);
  if (result === "ignored" && (viewHandlers.size > 0 || !canWait(event, waiting))) return;
  if (result === "ignored") waiting.push({ key: event.key, at: event.timeStamp, path: location.pathname });
  if (result !== "ignored" || event.key === "/") event.preventDefault();
  if (result === "text") expectText();
});

// Who clicks has something newer in mind.
addEventListener("pointerdown", () => forget(), { capture: true });

addEventListener("focusin", () => isTextExpected && typeWaiting());

/** Answer keys as long as the component is shown; before any view does, the keys wait for it. */
export function useKeys(handler: KeyHandler, options: { isGlobal?: boolean } = {}): void {
  const latest = useRef(handler);
  latest.current = handler;
  // Before the browser paints: what can be seen can be used.
  useLayoutEffect(() => {
    const handlers = options.isGlobal ? globalHandlers : viewHandlers;
    const listener: KeyHandler = (key) => latest.current(key);
    handlers.add(listener);
    replay();
    return () => void handlers.delete(listener);
  }, []);
}

function perform(key: string): KeyResult {
  for (const handler of [...viewHandlers, ...globalHandlers]) {
    const result = handler(key);
    if (result !== "ignored") return result;
  }
  return "ignored";
}

/** Do what the waiting keys ask for, in their order, as far as it can be done yet. */
function replay(): void {
  dropOldKeys();
  const unanswered: WaitingKey[] = [];
  while (waiting.length > 0 && !isTextExpected) {
    const next = waiting.shift() as WaitingKey;
    // Behind a key that opens an input everything is its text, which a global key must not interrupt.
    const result = hasOpening(unanswered) ? "ignored" : perform(next.key);
    if (result === "ignored" && viewHandlers.size === 0) unanswered.push(next);
    if (result === "text") expectText();
  }
  waiting = [...unanswered, ...waiting];
}

function expectText(): void {
  isTextExpected = true;
  if (isInput(document.activeElement)) typeWaiting();
  else setTimeout(() => (isTextExpected = false), MAX_WAIT_MS);
}

function typeWaiting(): void {
  const input = document.activeElement;
  if (!isInput(input)) return;
  isTextExpected = false;
  const keys = waiting.map(({ key }) => key);
  waiting = [];
  for (const key of keys) {
    const [start, end] = [input.selectionStart ?? input.value.length, input.selectionEnd ?? input.value.length];
    if (key.length === 1) input.setRangeText(key, start, end, "end");
    else if (key === "Backspace") input.setRangeText("", Math.max(0, start === end ? start - 1 : start), end, "end");
  }
  if (keys.length > 0) input.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

export function isInput(element: Element | null): element is HTMLInputElement | HTMLTextAreaElement {
  return (element instanceof HTMLInputElement && !["radio", "checkbox"].includes(element.type)) || element instanceof HTMLTextAreaElement;
}

function dropOldKeys(): void {
  const now = performance.now();
  waiting = waiting.filter(({ at, path }) => now - at < MAX_WAIT_MS && path === location.pathname);
}

function forget(): void {
  waiting = [];
  isTextExpected = false;
}

/** Ctrl or ⌘ with Enter sends a form from any of its fields. */
export function submitByKey(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  if (event.key !== "Enter" || event.isComposing || !(event.metaKey || event.ctrlKey)) return;
  event.preventDefault();
  event.currentTarget.querySelector<HTMLButtonElement>("button[type=submit]")?.click();
}
