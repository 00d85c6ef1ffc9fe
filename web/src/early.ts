// Loaded before the page's own script, which is a hundred times as large: keeps the keys that are pressed until that one runs.
import { canWait, isTyping, type WaitingKey } from "./waiting";

const keys: WaitingKey[] = [];

function keep(event: KeyboardEvent): void {
  if (isTyping(event.target) || !canWait(event, keys)) return;
  event.preventDefault();
  keys.push({ key: event.key, at: event.timeStamp, path: location.pathname });
}

addEventListener("keydown", keep);
window.takeEarlyKeys = () => {
  removeEventListener("keydown", keep);
  return keys;
};
