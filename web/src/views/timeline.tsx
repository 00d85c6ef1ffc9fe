// The meeting as a timeline. Thousands of items: each is filled when it comes near, the rest while nothing else is to do.
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Blocks, CardHead, collectWords, plainText, TextView } from "../blocks";
import { formatAgo, formatExact } from "../format";
import { say } from "../language";
import type { Draft, Meeting } from "../meeting";
import { memo } from "../memo";
import { PlaceContext } from "../place";
import { route } from "../route";
import type { Block, CardBlock, Item, Text, View } from "../wire";

/** Items that are filled at once, around the place where the reader begins. */
const EAGER = 24;
const PER_IDLE = 4;
const USER = "USER";

const waitingItems = new Map<Element, () => void>();
const observer = new IntersectionObserver(
  (found) => {
    for (const each of found) if (each.isIntersecting) fill(each.target);
  },
  { rootMargin: "1200px" },
);
const whenIdle: (work: () => void) => void = window.requestIdleCallback?.bind(window) ?? ((work) => setTimeout(work, 30));
let isIdleAsked = false;

function fill(element: Element): void {
  waitingItems.get(element)?.();
  waitingItems.delete(element);
  observer.unobserve(element);
}

/** The rest is filled bit by bit, so that the browser's own search finds everything. */
function fillWhenIdle(): void {
  if (isIdleAsked || waitingItems.size === 0) return;
  isIdleAsked = true;
  whenIdle(() => {
    isIdleAsked = false;
    let left = PER_IDLE;
    for (const element of waitingItems.keys()) {
      if (left-- === 0) break;
      fill(element);
    }
    fillWhenIdle();
  });
}

function isCard(block: Block | undefined): block is CardBlock {
  return block?.kind === "card";
}

/** The head of a line without its number and its time, which stand elsewhere here, and without the name. */
function splitHead(card: CardBlock, item: Item, platform: string): { name: Text | null; marks: Text[] } {
  const own = new Set([`#${item.entry}`, item.at ?? "", platform]);
  const texts = card.head.filter((text) => text.length > 0 && !own.has(plainText(text)));
  const at = texts.findIndex((text) => text.length === 1 && typeof text[0] === "object" && "strong" in text[0]);
  return at === 0 ? { name: texts[0] ?? null, marks: texts.slice(1) } : { name: null, marks: texts };
}

const ItemView = memo(function ItemView(props: { item: Item; isSelected: boolean; isNew: boolean; isEager: boolean; onSelect: (entry: number) => void }) {
  const { item } = props;
  const place = useContext(PlaceContext);
  const [isFilled, setFilled] = useState(props.isEager);
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    const host = element.current;
    if (isFilled || !host) return;
    waitingItems.set(host, () => setFilled(true));
    observer.observe(host);
    fillWhenIdle();
    return () => {
      waitingItems.delete(host);
      observer.unobserve(host);
    };
  }, [isFilled]);
  const [block] = item.blocks;
  const entry = item.entry ?? null;
  if (item.blocks.length === 1 && block?.kind === "heading") {
    return (
      <li class="break" ref={element}>
        <h3>{block.text}</h3>
      </li>
    );
  }
  const card = item.blocks.length === 1 && isCard(block) ? block : null;
  const hue = item.seat ? place.hueOf(item.seat) : null;
  const head = card ? splitHead(card, item, place.platformOf(item.seat ?? "")) : null;
  return (
    <li
      ref={element}
      id={entry === null ? undefined : `entry-${entry}`}
      data-entry={entry ?? undefined}
      tabIndex={-1}
      aria-current={props.isSelected ? "true" : undefined}
      class={`item ${card ? `spoken look-${card.look}` : "aside"} ${hue === null ? "" : `hue-${hue}`} ${props.isSelected ? "selected" : ""} ${props.isNew ? "fresh" : ""}`}
      onClick={(event) => {
        // A click that follows a link, opens a fold or marks text means just that.
        if ((event.target as Element).closest("a,button,summary,input,textarea,.scroll") || getSelection()?.toString()) return;
        if (entry !== null) props.onSelect(entry);
      }}
    >
      {!isFilled ? (
        <span class="soft">{entry === null ? "…" : `#${entry}`}</span>
      ) : card && head && entry !== null ? (
        <>
          <div class="line-head">
            <a class="number" href={place.linkTo?.(entry)} aria-label={say(`Entry ${entry}`, `第 ${entry} 条`)} onClick={(event) => {
              event.preventDefault();
              props.onSelect(entry);
            }}>
              #{entry}
            </a>
            {head.name && (
              <b class="who">
                {place.selectSeat && item.seat && hue !== null ? (
                  <button class="plain" onClick={() => place.selectSeat?.(item.seat ?? "")}>
                    <TextView text={head.name} />
                  </button>
                ) : item.seat === USER ? (
                  say("User", "用户")
                ) : (
                  <TextView text={head.name} />
                )}
              </b>
            )}
            {head.marks.map((text, index) => (
              <span class="mark" key={index}>
                <TextView text={text} />
              </span>
            ))}
            {item.at && (
              <time class="soft" dateTime={item.at} title={formatExact(item.at)}>
                {formatAgo(item.at)}
              </time>
            )}
          </div>
          <Blocks blocks={card.blocks} entry={entry} />
        </>
      ) : card && entry === null ? (
        <>
          <CardHead head={card.head} />
          <Blocks blocks={card.blocks} />
        </>
      ) : (
        <Blocks blocks={item.blocks} entry={entry} />
      )}
    </li>
  );
});

function DraftView({ draft }: { draft: Draft }) {
  const place = useContext(PlaceContext);
  const hue = place.hueOf(draft.seat);
  return (
    <li class={`item spoken writing ${hue === null ? "" : `hue-${hue}`}`} aria-hidden="true">
      <div class="line-head">
        <span class="number">…</span>
        <b class="who">{draft.seat}</b>
        <span class="mark soft">{say("writes", "正在写")}</span>
      </div>
      {/* A draft may be JSON on its way to an answer: it is shown as it comes, as plain text. */}
      <p class="stream" dir="auto">
        {draft.text.value.length > 6000 ? `…${draft.text.value.slice(-6000)}` : draft.text.value}
      </p>
    </li>
  );
}

const wordsOf = new WeakMap<Item, string>();

function matches(item: Item, query: string): boolean {
  let words = wordsOf.get(item);
  if (words === undefined) {
    words = collectWords(item.blocks).toLowerCase();
    wordsOf.set(item, words);
  }
  return words.includes(query);
}

export function Timeline(props: { meeting: Meeting; view: View; query: string; seenUpTo: number | null; onSelect: (entry: number) => void }) {
  const { meeting, view } = props;
  const items = meeting.items.value;
  const drafts = meeting.at.value === null ? meeting.drafts.value : new Map<string, Draft>();
  const selected = Number(route.value.query.get("entry")) || null;
  const host = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [hidden, setHidden] = useState(0);
  const countSeen = useRef(items.length);
  const isLive = view.status === "thinking" && meeting.at.value === null;
  // Where the reader begins: at what the link names, at the end of what goes on, at the beginning of what is over.
  const begin = useRef(-1);
  if (begin.current < 0) {
    const named = selected === null ? -1 : items.findIndex((item) => item.entry === selected);
    begin.current = named >= 0 ? named : isLive ? items.length - 1 : 0;
    isAtEnd.current = named < 0 && isLive;
  }
  useLayoutEffect(() => {
    if (selected !== null) scrollToEntry(selected);
    else if (isAtEnd.current && isLive) scrollToEnd(host.current);
  }, []);
  useLayoutEffect(() => {
    const added = items.length - countSeen.current;
    countSeen.current = items.length;
    if (isAtEnd.current && isLive) scrollToEnd(host.current);
    else if (added > 0 && isLive) setHidden((count) => count + added);
  }, [items, isLive]);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const stick = new ResizeObserver(() => isAtEnd.current && isLive && scrollToEnd(element));
    if (element.firstElementChild) stick.observe(element.firstElementChild);
    return () => stick.disconnect();
  }, [isLive]);
  const query = props.query.trim().toLowerCase();
  const shown = query ? items.filter((item) => matches(item, query)) : items;
  const isSparse = items.length === 0 && drafts.size === 0;
  return (
    <div
      class="timeline"
      ref={host}
      tabIndex={0}
      role="region"
      aria-label={say("Timeline", "时间线")}
      onScroll={(event) => {
        const element = event.currentTarget;
        isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
        if (isAtEnd.current && hidden) setHidden(0);
      }}
    >
      <ol>
        {items.map((item, index) =>
          query && !matches(item, query) ? null : (
            <ItemView
              key={index}
              item={item}
              isSelected={item.entry !== null && item.entry !== undefined && item.entry === selected}
              isNew={props.seenUpTo !== null && item.seq > props.seenUpTo && (items[index - 1]?.seq ?? 0) <= props.seenUpTo}
              isEager={Math.abs(index - begin.current) <= EAGER || index >= countSeen.current}
              onSelect={props.onSelect}
            />
          ),
        )}
        {!query && [...drafts].map(([ask, draft]) => <DraftView key={ask} draft={draft} />)}
      </ol>
      {query && (
        <p class="soft" role="status">
          {say(`${shown.length} of ${items.length} entries hold “${props.query.trim()}”.`, `${items.length} 条中有 ${shown.length} 条包含“${props.query.trim()}”。`)}
        </p>
      )}
      {isSparse && (
        <p class="soft empty">
          {view.sealed
            ? say("Everybody is writing. What they write is sealed until all have, so that nobody copies.", "各席正在书写。在所有人写完之前内容保密，以免互相影响。")
            : say("Nothing has been said yet.", "还没有人发言。")}
        </p>
      )}
      {hidden > 0 && (
        <button
          class="jump"
          onClick={() => {
            setHidden(0);
            scrollToEnd(host.current);
          }}
        >
          ↓ {say(`${hidden} new`, `${hidden} 条新内容`)}
        </button>
      )}
    </div>
  );
}

function scrollToEnd(element: HTMLElement | null): void {
  if (element) element.scrollTop = element.scrollHeight;
}

export function scrollToEntry(entry: number, options: { focus?: boolean } = {}): void {
  const element = document.getElementById(`entry-${entry}`);
  if (!element) return;
  fill(element);
  element.scrollIntoView({ block: "center" });
  // Items above may grow while they are filled: look again once they have.
  requestAnimationFrame(() => requestAnimationFrame(() => element.scrollIntoView({ block: "center" })));
  if (options.focus) element.focus({ preventScroll: true });
}
