// My turn, in all sessions: which of them wait for the seat of my token, or for a seat at which this browser has sat. It is said on every
// view: in the header, the title, the icon of the tab, and by a notification while another tab is in front.
import { computed, effect, signal } from "@preact/signals";
import { shortenText } from "./format";
import { say } from "./language";
import { exported, route } from "./route";
import { call, mayDo, me } from "./rpc";
import { listStored, readStored, writeStored } from "./storage";
import { listen } from "./stream";

export interface Turn {
  sessionId: string;
  seat: string;
  ask: string;
  topic: string;
}

/** More seats than these are not asked for: the newest count. */
const MAX_SEATS = 20;
const turns = signal<ReadonlyMap<string, Turn>>(new Map());
export const myTurns = computed(() => [...turns.value.values()]);
/** Those that the view in front does not show by itself. */
export const otherTurns = computed(() => myTurns.value.filter((each) => !["s", "seat"].includes(route.value.path[0] ?? "") || each.sessionId !== route.value.path[1]));
const title = signal("Moot");
const told = new Set<string>();

export function setTitle(text: string): void {
  title.value = text;
}

/** Remember that somebody sits here, so that this browser says when it is their turn. */
export function rememberSeat(sessionId: string, seat: string, topic: string): void {
  writeStored(`sat.${sessionId}`, seat);
  writeStored(`topic.${sessionId}`, shortenText(topic, 120));
  void check(sessionId);
}

function findSeat(sessionId: string): string {
  const grant = me.peek()?.grants.find((each) => each.session === sessionId);
  return grant?.seat || readStored(`sat.${sessionId}`) || "";
}

async function check(sessionId: string): Promise<void> {
  const seat = findSeat(sessionId);
  if (!seat || !mayDo("speak")) return;
  let turn: Turn | null = null;
  try {
    const { asks, status } = await call("moot.getAsks", { sessionId, seat });
    const [first] = asks;
    if (first) turn = { sessionId, seat, ask: first.ask, topic: readStored(`topic.${sessionId}`) ?? sessionId };
    if (status === "ended") for (const name of ["sat", "topic"]) writeStored(`${name}.${sessionId}`, null);
  } catch {
    // A session that is gone, or not ours any more, waits for nobody here.
  }
  const next = new Map(turns.peek());
  if (turn) next.set(sessionId, turn);
  else next.delete(sessionId);
  turns.value = next;
}

function notify(turn: Turn): void {
  const tag = `${turn.sessionId} ${turn.ask}`;
  if (told.has(tag)) return;
  told.add(tag);
  if (!document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  const notice = new Notification(say("it_is_your_turn_seat", { seat: turn.seat }), { body: turn.topic, tag });
  notice.onclick = () => window.focus();
}

const ICON = document.querySelector<HTMLLinkElement>("link[rel=icon]");
const PLAIN_ICON = ICON?.href ?? "";
const MARKED_ICON = PLAIN_ICON.replace("%3C/svg%3E", "%3Ccircle cx='12' cy='4' r='4' fill='%23c0392b'/%3E%3C/svg%3E");

export function startTurns(): void {
  if (exported === null) {
    listen({
      load: () => {
        const invited = me.peek()?.grants.flatMap((each) => (each.seat ? [each.session] : [])) ?? [];
        const mine = new Set([...invited, ...(me.peek()?.session ? [] : listStored("sat.").slice(-MAX_SEATS))]);
        for (const sessionId of mine) void check(sessionId);
      },
      line: (line) => void check(line.sessionId),
    });
  }
  effect(() => {
    const count = otherTurns.value.length;
    document.title = `${count > 0 ? `(${count}) ` : ""}${title.value}`;
  });
  effect(() => {
    if (ICON) ICON.href = myTurns.value.length > 0 ? MARKED_ICON : PLAIN_ICON;
  });
  effect(() => myTurns.value.forEach(notify));
}
