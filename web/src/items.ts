// The items of a timeline. Of a long one only a part comes with its view: the rest is fetched page by page while somebody reads.
import { signal } from "@preact/signals";
import { call } from "./rpc";
import type { Item, TimelinePart } from "./wire";

/** Stands where an item is not known yet. */
export const MISSING: Item = { seq: 0, at: null, blocks: [] };
/** How many come with a view: more than two screens of short ones. */
export const FIRST = 60;
const PAGE = 200;
/** Between two pages, for whoever reads. */
const PAUSE = 40;
/** After a call that failed: nobody is left with empty places. */
const RETRY = 3000;

export class ItemList {
  readonly all = signal<Item[]>([]);
  private readonly due = new Set<number>();
  private wanted = 0;
  private timer = 0;
  private page: Promise<void> | null = null;

  constructor(
    private readonly session: string,
    private readonly at: number | null,
  ) {}

  /** Take what came with a view. A short answer to the question what has changed leaves the others as they are. */
  take({ total, items }: TimelinePart, isChange = false): void {
    const next = this.all.peek().slice(0, total);
    if (!isChange || items.length >= FIRST) for (let place = 0; place < total; place++) this.due.add(place);
    for (let place = next.length; place < total; place++) {
      next.push(MISSING);
      this.due.add(place);
    }
    this.wanted = items[0]?.[0] ?? 0;
    this.put(next, items);
  }

  /** Take what the stream says has changed; null where something was missed in between. */
  change({ total, items }: TimelinePart): Item[] | null {
    const next = this.all.peek().slice(0, total);
    for (const [place, item] of items) {
      if (place > next.length) return null;
      next[place] = item;
    }
    this.put(next, items);
    return items.map(([, item]) => item);
  }

  close(): void {
    clearTimeout(this.timer);
    this.due.clear();
  }

  /** Fetch the page round a place next. */
  want(place: number): void {
    this.wanted = place;
    this.fetchSoon();
  }

  get isWhole(): boolean {
    return this.due.size === 0;
  }

  /** Wait until an entry is known, or known not to be there. */
  async find(entry: number): Promise<void> {
    while (this.due.size > 0 && !this.all.peek().some((item) => item.entry === entry)) {
      // The number of a card is not its place, but near it.
      if (this.page === null) this.wanted = entry;
      const before = this.due.size;
      await this.fetchPage();
      if (this.due.size === before) return;
    }
  }

  private put(next: Item[], items: [number, Item][]): void {
    for (const [place, item] of items) {
      next[place] = item;
      this.due.delete(place);
    }
    for (const place of this.due) if (place >= next.length) this.due.delete(place);
    this.all.value = next;
    this.fetchSoon();
  }

  private fetchSoon(pause = PAUSE): void {
    clearTimeout(this.timer);
    if (this.due.size > 0) this.timer = window.setTimeout(() => void this.fetchPage().then(() => this.fetchSoon(), () => this.fetchSoon(RETRY)), pause);
  }

  private fetchPage(): Promise<void> {
    this.page ??= this.fetchNext().finally(() => (this.page = null));
    return this.page;
  }

  private async fetchNext(): Promise<void> {
    let nearest = -1;
    for (const place of this.due) if (nearest < 0 || Math.abs(place - this.wanted) < Math.abs(nearest - this.wanted)) nearest = place;
    const begin = nearest >= this.wanted ? nearest : Math.max(0, nearest - PAGE + 1);
    const found = await call("moot.getItems", { sessionId: this.session, begin, limit: PAGE, ...(this.at !== null && { at: this.at }) });
    const next = this.all.peek().slice();
    // What the stream has brought meanwhile is newer.
    for (const [place, item] of found.items) if (this.due.has(place)) next[place] = item;
    for (let place = begin; place < begin + PAGE; place++) this.due.delete(place);
    this.all.value = next;
  }
}
