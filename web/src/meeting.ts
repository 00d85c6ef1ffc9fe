// One session as the page knows it: the live view, kept up to date by the stream, and views of earlier entries.
import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { parseClean } from "./clean";
import { say } from "./language";
import { describeRefusal } from "./grants";
import { FIRST, ItemList } from "./items";
import { CallError, call, describeError, me } from "./rpc";
import { exported, readNumber, route } from "./route";
import { connection, type Gone, listen, type TextPiece, watch } from "./stream";
import type { Item, View, ViewChange } from "./wire";

export interface Draft {
  seat: string;
  text: Signal<string>;
}

/** Views of earlier entries that are kept. */
const MAX_KEPT = 40;
const REFETCH = 150;

export class Meeting {
  readonly live = signal<View | null>(null);
  readonly liveItems: ItemList;
  readonly at = signal<number | null>(null);
  readonly error = signal("");
  /** Why the entry that the scrubber stands at cannot be shown. */
  readonly pastError = signal("");
  readonly isGone = signal(false);
  readonly drafts = signal<ReadonlyMap<string, Draft>>(new Map());
  readonly announced = signal("");
  readonly view: ReadonlySignal<View | null>;
  readonly items: ReadonlySignal<Item[]>;
  /** Whether what is shown is not yet what the server says of that entry. */
  readonly isCatchingUp: ReadonlySignal<boolean>;

  private readonly past = signal<ReadonlyMap<number, { view: View; items: ItemList }>>(new Map());
  private readonly pieces = new Map<string, TextPiece>();
  private readonly stops: (() => void)[] = [];
  private readonly history: Partial<View>[];
  private frame = 0;
  private timer = 0;
  private pastTimer = 0;
  private announceTimer = 0;
  private loading: Promise<void> | null = null;
  /** The newest entry that the stream has spoken of. */
  private toldHead = 0;

  constructor(readonly id: string) {
    this.history = [];
    this.liveItems = new ItemList(id, null);
    const found = computed(() => (this.at.value === null ? undefined : this.past.value.get(this.at.value)));
    this.view = computed(() => (this.at.value === null ? this.live.value : (found.value?.view ?? this.live.value)));
    this.items = computed(() => {
      const at = this.at.value;
      if (at === null) return this.liveItems.all.value;
      // Until the server has told how it was, what was said later is left out.
      return found.value?.items.all.value ?? this.liveItems.all.value.filter((item) => item.seq <= at);
    });
    this.isCatchingUp = computed(() => this.at.value !== null && found.value === undefined);
    if (exported !== null) {
      const { view, history } = parseClean(exported) as { view: View; history: Partial<View>[] };
      this.history = history;
      this.take(view);
    } else {
      // At once, while the stream opens: its first event says how far the session is.
      void this.load();
      this.stops.push(
        listen({
          load: () => void this.load(),
          view: (change) => change.sessionId === id && this.change(change),
          // What the view's own call said stays: it is written for people.
          gone: (gone) => gone.sessionId === id && this.end(gone),
          text: (piece) => piece.sessionId === id && this.addText(piece),
        }),
      );
      watch([id]);
      // A session that nobody knows has no stream to open: ask why.
      this.stops.push(effect(() => void (connection.value === "broken" && this.live.peek() === null && !this.isGone.peek() && this.load())));
    }
    this.stops.push(
      effect(() => {
        const at = this.at.value;
        clearTimeout(this.pastTimer);
        this.pastError.value = "";
        // Whoever drags the scrubber passes over many entries: only where it rests is asked for; again when the server is back.
        if (connection.value !== "broken" && at !== null && !this.past.peek().has(at)) this.pastTimer = window.setTimeout(() => void this.loadPast(at), 120);
      }),
    );
  }

  close(): void {
    for (const stop of this.stops) stop();
    clearTimeout(this.timer);
    clearTimeout(this.pastTimer);
    clearTimeout(this.announceTimer);
    cancelAnimationFrame(this.frame);
    this.liveItems.close();
    for (const { items } of this.past.peek().values()) items.close();
  }

  /** The session can no longer be read: by anybody, or by this browser. */
  private end(gone: Gone): void {
    this.error.value = gone.reason ? describeRefusal(gone.reason, 403) : this.error.peek() || gone.why;
  }

  load(): Promise<void> {
    this.loading ??= this.loadView().finally(() => (this.loading = null));
    return this.loading;
  }

  private async loadView(): Promise<void> {
    const since = this.live.peek()?.head ?? 0;
    const near = readNumber(route.peek().query, "entry") ?? undefined;
    try {
      const view = await call("moot.getView", { sessionId: this.id, since, near, limit: FIRST });
      this.error.value = "";
      this.take(view, since > 0);
      if (this.toldHead > view.head) this.refetch();
    } catch (error) {
      this.isGone.value = error instanceof CallError && error.kind !== "Offline" && this.live.peek() === null;
      // A session that cannot be read would keep the stream of all tabs from opening.
      if (this.isGone.peek()) watch([]);
      if (this.live.peek() === null) this.error.value = describeError(error);
    }
  }

  async loadWhole(entry: number): Promise<string> {
    const found = await call("moot.getText", { sessionId: this.id, entry });
    return found.html;
  }

  /** The items that are shown: of now, or of the entry that the scrubber stands at. */
  get shownItems(): ItemList {
    const at = this.at.peek();
    return (at === null ? undefined : this.past.peek().get(at)?.items) ?? this.liveItems;
  }

  private take(view: View, isChange = false): void {
    batch(() => {
      this.live.value = view;
      this.liveItems.take(view.timeline, isChange);
      this.dropDrafts(view, []);
    });
  }

  private async loadPast(at: number): Promise<void> {
    try {
      const view = exported === null ? await call("moot.getView", { sessionId: this.id, at, limit: FIRST }) : this.rebuild(at);
      const items = new ItemList(this.id, at);
      items.take(view.timeline);
      const past = new Map(this.past.peek());
      past.set(at, { view, items });
      for (const [key, each] of past) {
        // Only what is on the screen is worth fetching whole.
        if (key === at || (past.size <= MAX_KEPT && each.items.isWhole)) continue;
        each.items.close();
        past.delete(key);
      }
      this.past.value = past;
      this.pastError.value = "";
    } catch (error) {
      if (this.at.peek() === at) this.pastError.value = describeError(error);
    }
  }

  /** The entries at which this session can be shown as it was; null: at all of them. */
  get knownEntries(): number[] | null {
    return exported === null ? null : this.history.map((change) => change.at ?? 0);
  }

  /** The view of an export at an entry: what each entry changed, one after the other. */
  private rebuild(at: number): View {
    const live = this.live.peek() as View;
    const view: View = { ...live, at };
    const items = new Map<number, Item>();
    let total = 0;
    for (const change of this.history) {
      if ((change.at ?? 0) > at) break;
      for (const [index, item] of change.timeline?.items ?? []) items.set(index, item);
      total = change.timeline?.total ?? total;
      Object.assign(view, change);
    }
    const shown = [...items.entries()].filter(([index]) => index < total);
    return { ...view, at, head: live.head, may: [], timeline: { total, items: shown } };
  }

  private change(change: ViewChange): void {
    const view = this.live.peek();
    this.toldHead = Math.max(this.toldHead, change.seq);
    if (view === null || change.seq < view.head) return;
    const { seq, sessionId: _, timeline, ...fields } = change;
    if (seq > view.head && Object.keys(fields).every((name) => name === "head" || name === "at") && !timeline) {
      // The server says where the session stands, and we are behind.
      this.refetch();
      return;
    }
    // Everybody gets the same list of open asks: which of them are this caller's is known here.
    if (fields.waiting) fields.waiting = fields.waiting.map((each) => ({ ...each, mine: each.seat === me.peek()?.seat }));
    const next: View = { ...view, ...fields, head: Math.max(view.head, seq), at: Math.max(view.head, seq) };
    let changed: Item[] = [];
    const isWhole = batch(() => {
      const found = timeline ? this.liveItems.change(timeline) : [];
      if (found === null) return false;
      changed = found;
      this.live.value = next;
      this.dropDrafts(next, changed);
      return true;
    });
    // Something was missed: what is there is not whole.
    if (!isWhole) return this.refetch();
    this.announce(changed.filter((item) => item.seq > view.head));
  }

  private refetch(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(), REFETCH);
  }

  private addText(added: TextPiece): void {
    const piece = this.pieces.get(added.ask);
    if (piece && !added.whole) piece.text += added.text;
    else this.pieces.set(added.ask, { ...added });
    // Tokens come faster than frames: one change of the page for all that came within one.
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      batch(() => {
        const drafts = this.drafts.peek();
        const added = new Map(drafts);
        for (const [key, each] of this.pieces) {
          const draft = drafts.get(key);
          if (draft) draft.text.value = (each.whole ? "" : draft.text.value) + each.text;
          else added.set(key, { seat: each.seat, text: signal(each.text) });
        }
        this.pieces.clear();
        if (added.size !== drafts.size) this.drafts.value = added;
      });
    });
  }

  /** What was written is an item now, or was lost. */
  private dropDrafts(view: View, changed: Item[]): void {
    const drafts = this.drafts.peek();
    if (drafts.size === 0) return;
    const busy = new Set(view.seats.filter((seat) => ["writing", "held_up", "asked"].includes(seat.state)).map((seat) => seat.id));
    const spoken = new Set(changed.map((item) => item.seat));
    const left = [...drafts].filter(([, draft]) => busy.has(draft.seat) && !spoken.has(draft.seat));
    if (left.length !== drafts.size) this.drafts.value = new Map(left);
  }

  /** Tell screen readers who spoke, once a second at most. */
  private announce(items: Item[]): void {
    const spoken = items.filter((item) => item.entry);
    if (spoken.length === 0) return;
    clearTimeout(this.announceTimer);
    this.announceTimer = window.setTimeout(() => {
      const last = spoken.at(-1);
      this.announced.value = last?.seat
        ? say("new_entry_by_seat", { entry: last.entry ?? "", seat: last.seat })
        : say("new_entry", { entry: last?.entry ?? "" });
    }, 800);
  }
}
