// Two sessions side by side: what each decided, how surely and at what cost, and what was said where they differ.
import { useState } from "preact/hooks";
import { Blocks } from "../blocks";
import { formatCount, formatMoney, nameTerm } from "../format";
import { say } from "../language";
import { Loading, Notice, useLoad } from "../parts";
import { PlaceContext } from "../place";
import { buildPath } from "../route";
import { call } from "../rpc";
import { Header } from "../shell";
import type { Item, View } from "../wire";
import { ItemView } from "./timeline";

const LEFT_OUT = new Set(["cost", "seats", "roles"]);

/** The entry up to which both are the same: that from which one was forked. */
function findShared(left: View, right: View): number {
  if (right.forkedFrom?.sessionId === left.sessionId) return right.forkedFrom.at;
  if (left.forkedFrom?.sessionId === right.sessionId) return left.forkedFrom.at;
  return 0;
}

const PAGE = 500;
/** How many of them are shown at first, and with each wish for more. */
const MANY = 100;

/** What was said after an entry, read from the end: of a long session that is not its beginning. */
async function loadSince(view: View, shared: number): Promise<Item[]> {
  const said: Item[] = [];
  for (let end = view.timeline.total; shared > 0 && end > 0; end -= PAGE) {
    const begin = Math.max(0, end - PAGE);
    const { items } = await call("moot.getItems", { sessionId: view.sessionId, begin, limit: end - begin });
    said.unshift(...items.map(([, item]) => item).filter((item) => item.seq > shared));
    if ((items[0]?.[1].seq ?? 0) <= shared) break;
  }
  return said;
}

async function loadBoth(left: string, right: string): Promise<{ shared: number; sides: { view: View; said: Item[] }[] }> {
  const [first, second] = await Promise.all([left, right].map((sessionId) => call("moot.getView", { sessionId, limit: 1 })));
  const shared = first && second ? findShared(first, second) : 0;
  const sides = [first, second].flatMap((view) => (view ? [view] : []));
  return { shared, sides: await Promise.all(sides.map(async (view) => ({ view, said: await loadSince(view, shared) }))) };
}

export function Compare({ left, right }: { left: string; right: string }) {
  const { value, error } = useLoad(() => loadBoth(left, right), `${left} ${right}`);
  return (
    <>
      <Header />
      <main class="page wide">
        <h1>{say("two_sessions_compared")}</h1>
        {error && <Notice tone="bad">{error}</Notice>}
        {!value && !error && <Loading />}
        {value && (
          <>
            {value.shared > 0 && <p class="soft">{say("the_same_up_to_entry", { at: value.shared })}</p>}
            <div class="compared">
              {value.sides.map((side, index) => (
                <Side key={index} {...side} />
              ))}
            </div>
          </>
        )}
      </main>
    </>
  );
}

function Side({ view, said }: { view: View; said: Item[] }) {
  const [most, setMost] = useState(MANY);
  const seats = new Map(view.seats.map((seat) => [seat.id, seat]));
  const place = { hueOf: (seat: string) => seats.get(seat)?.hue ?? null, platformOf: (seat: string) => seats.get(seat)?.platform ?? "", linkTo: null, followTo: () => undefined, selectSeat: null, loadWhole: null };
  return (
    <PlaceContext.Provider value={place}>
      <section aria-label={view.sessionId}>
        <h2>
          <a data-in href={buildPath("s", view.sessionId)}>
            {view.topic}
          </a>
        </h2>
        <p class="soft">
          {view.sessionId} · {nameTerm("protocols", view.protocol)} · {view.seats.map((seat) => seat.id).join(", ")}
        </p>
        <div class="memo">
          <Blocks blocks={view.decisionBlocks.filter((block) => block.kind !== "heading")} />
        </div>
        <dl>
          {view.numbers.map((each) => (
            <div key={each.name}>
              <dt>{each.name}</dt>
              <dd>{each.value}</dd>
            </div>
          ))}
          <div>
            <dt>{say("calls")}</dt>
            <dd>
              {formatCount(view.budget.calls)}
              {view.budget.usd != null && ` · ${formatMoney(view.budget.usd)}`}
            </dd>
          </div>
        </dl>
        {view.lenses
          .filter((lens) => !LEFT_OUT.has(lens.id))
          .slice(0, 3)
          .map((lens) => (
            <section key={lens.id}>
              <h3>{lens.title}</h3>
              <Blocks blocks={lens.blocks} />
            </section>
          ))}
        {said.length > 0 && (
          <>
            <h3>{say("what_was_said_since")}</h3>
            <ol class="items">
              {said.slice(0, most).map((item, index) => (
                <ItemView key={index} item={item} isSelected={false} isNew={false} onSelect={() => undefined} />
              ))}
            </ol>
            {said.length > most && (
              <button class="quiet" onClick={() => setMost(most + MANY)}>
                {say("count_more", { count: said.length - most })}
              </button>
            )}
          </>
        )}
      </section>
    </PlaceContext.Provider>
  );
}
