// The meeting as a timeline. Thousands of items: those near the screen stand in the page, the others are empty places.
import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Blocks, CardHead, collectWords, plainText, TextView } from "../blocks";
import { formatAgo, formatExact } from "../format";
import { MISSING } from "../items";
import { say } from "../language";
import type { Draft, Meeting } from "../meeting";
import { memo } from "../memo";
import { PlaceContext } from "../place";
import { readNumber, route } from "../route";
import { USER } from "./panel";
import type { Block, CardBlock, Item, Text, View } from "../wire";

/** Items that come and go together. */
const CHUNK = 12;
/** How high a chunk is taken to be before it was first shown. */
const GUESS = CHUNK * 140;

/** The chunks that stand in the page, whether they are filled or not. */
const chunks = new Set<{ has: (entry: number) => boolean; show: () => void }>();

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

interface ItemProps {
  item: Item;
  isSelected: boolean;
  isNew: boolean;
  onSelect: (entry: number) => void;
}

export const ItemView = memo(function ItemView(props: ItemProps) {
  const { item } = props;
  const place = useContext(PlaceContext);
  const [block] = item.blocks;
  const entry = item.entry ?? null;
  if (item === MISSING) return <li class="item aside missing" aria-hidden="true" />;
  if (item.blocks.length === 1 && block?.kind === "heading") {
    return (
      <li class="break">
        <h2>{block.text}</h2>
      </li>
    );
  }
  const card = item.blocks.length === 1 && isCard(block) ? block : null;
  const hue = item.seat ? place.hueOf(item.seat) : null;
  const head = card ? splitHead(card, item, place.platformOf(item.seat ?? "")) : null;
  return (
    <li
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
      {card && head && entry !== null ? (
        <>
          <div class="line-head">
            <a class="number" href={place.linkTo?.(entry)} aria-label={say("entry_entry", { entry })} onClick={(event) => {
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
                  say("user")
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

interface ChunkProps {
  items: Item[];
  isBegin: boolean;
  selected: number | null;
  seenUpTo: number | null;
  before: number;
  onSelect: (entry: number) => void;
  /** The place of the first item. */
  begin: number;
  onMissing: (place: number) => void;
}

/** Some items; an empty place of the same height where they are far from what is on the screen. */
const Chunk = memo(function Chunk(props: ChunkProps) {
  const { items } = props;
  const [isNear, setNear] = useState(props.isBegin);
  const element = useRef<HTMLOListElement>(null);
  const height = useRef(Math.round((GUESS * items.length) / CHUNK));
  const latest = useRef(items);
  latest.current = items;
  useEffect(() => {
    const host = element.current;
    if (!host) return;
    const observer = new IntersectionObserver(
      ([found]) => {
        if (!found) return;
        if (!found.isIntersecting && host.childElementCount > 0) height.current = host.offsetHeight;
        setNear(found.isIntersecting);
      },
      { root: host.closest(".timeline"), rootMargin: "1000px 0px" },
    );
    observer.observe(host);
    const own = { has: (entry: number) => latest.current.some((item) => item.entry === entry), show: () => setNear(true) };
    chunks.add(own);
    return () => {
      observer.disconnect();
      chunks.delete(own);
    };
  }, []);
  const isMissing = isNear && items.includes(MISSING);
  useEffect(() => {
    if (isMissing) props.onMissing(props.begin + items.indexOf(MISSING));
  }, [isMissing]);
  return (
    <ol ref={element} style={isNear ? { height: "" } : { height: `${height.current}px` }}>
      {isNear &&
        items.map((item, index) => (
          <ItemView
            key={index}
            item={item}
            isSelected={props.selected !== null && item.entry === props.selected}
            isNew={props.seenUpTo !== null && item.seq > props.seenUpTo && (items[index - 1]?.seq ?? props.before) <= props.seenUpTo}
            onSelect={props.onSelect}
          />
        ))}
    </ol>
  );
});

/** Split items into chunks; one whose items are the same stays the same. */
function useChunks(items: Item[]): Item[][] {
  const known = useRef<Item[][]>([]);
  const found: Item[][] = [];
  for (let at = 0; at < items.length; at += CHUNK) {
    const slice = items.slice(at, at + CHUNK);
    const old = known.current[found.length];
    found.push(old && old.length === slice.length && old.every((item, index) => item === slice[index]) ? old : slice);
  }
  known.current = found;
  return found;
}

function DraftView({ draft }: { draft: Draft }) {
  const place = useContext(PlaceContext);
  const hue = place.hueOf(draft.seat);
  return (
    <li class={`item spoken writing ${hue === null ? "" : `hue-${hue}`}`} aria-hidden="true">
      <div class="line-head">
        <span class="number">…</span>
        <b class="who">{draft.seat}</b>
        <span class="mark soft">{say("writes_2")}</span>
      </div>
      {/* A draft may be JSON on its way to an answer: it is shown as it comes, as plain text. */}
      <p class="stream" dir="auto">
        {(draft.text.value.length > 6000 ? `…${draft.text.value.slice(-6000)}` : draft.text.value).replace(/^#{1,6} /gm, "")}
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
  const selected = readNumber(route.value.query, "entry");
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
  const want = useCallback((place: number) => meeting.shownItems.want(place), [meeting]);
  const query = props.query.trim().toLowerCase();
  const shown = query ? items.filter((item) => matches(item, query)) : items;
  const parts = useChunks(shown);
  const beginsIn = Math.floor(begin.current / CHUNK);
  const isSparse = items.length === 0 && drafts.size === 0;
  return (
    <div
      class="timeline"
      ref={host}
      tabIndex={0}
      role="region"
      aria-label={say("timeline")}
      onScroll={(event) => {
        const element = event.currentTarget;
        isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
        if (isAtEnd.current && hidden) setHidden(0);
      }}
    >
      <div class="items">
        {parts.map((part, index) => (
          <Chunk
            key={index}
            items={part}
            isBegin={Math.abs(index - beginsIn) <= 1 || index === parts.length - 1}
            selected={selected !== null && part.some((item) => item.entry === selected) ? selected : null}
            seenUpTo={props.seenUpTo}
            before={parts[index - 1]?.at(-1)?.seq ?? 0}
            begin={index * CHUNK}
            onSelect={props.onSelect}
            onMissing={want}
          />
        ))}
        {!query && drafts.size > 0 && (
          <ol>
            {[...drafts].map(([ask, draft]) => (
              <DraftView key={ask} draft={draft} />
            ))}
          </ol>
        )}
      </div>
      {query && (
        <p class="soft" role="status">
          {!meeting.shownItems.isWhole && say("still_loading")}
          {say("shown_of_items_entries_hold_query", { shown: shown.length, items: items.length, query: props.query.trim() })}
        </p>
      )}
      {isSparse && (
        <p class="soft empty">
          {view.sealed
            ? say("everybody_is_writing_what_they_write")
            : say("nothing_has_been_said_yet")}
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
          ↓ {say("hidden_new", { hidden })}
        </button>
      )}
    </div>
  );
}

function scrollToEnd(element: HTMLElement | null): void {
  if (element) element.scrollTop = element.scrollHeight;
}

/** Bring an entry on the screen; its chunk may have to be filled first. */
export function scrollToEntry(entry: number, options: { focus?: boolean } = {}, tries = 12): void {
  const element = document.getElementById(`entry-${entry}`);
  if (!element) {
    for (const chunk of chunks) if (chunk.has(entry)) chunk.show();
    if (tries > 0) requestAnimationFrame(() => scrollToEntry(entry, options, tries - 1));
    return;
  }
  element.scrollIntoView({ block: "center" });
  // What stands above may grow while it is filled: look again once it has.
  requestAnimationFrame(() => requestAnimationFrame(() => element.scrollIntoView({ block: "center" })));
  if (options.focus) element.focus({ preventScroll: true });
}
