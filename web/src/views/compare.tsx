// Two sessions side by side: what each decided, how surely and at what cost, and what was said where they differ.
import { Blocks } from "../blocks";
import { formatCount, formatMoney, nameTerm } from "../format";
import { say } from "../language";
import { Loading, Notice, Strength, useLoad } from "../parts";
import { PlaceContext } from "../place";
import { buildPath } from "../route";
import { call } from "../rpc";
import { Header } from "../shell";
import type { View } from "../wire";
import { ItemView } from "./timeline";

const LEFT_OUT = new Set(["cost", "seats", "roles"]);

/** The entry up to which both are the same: that from which one was forked. */
function findShared(left: View, right: View): number {
  if (right.forkedFrom?.sessionId === left.sessionId) return right.forkedFrom.at;
  if (left.forkedFrom?.sessionId === right.sessionId) return left.forkedFrom.at;
  return 0;
}

export function Compare({ left, right }: { left: string; right: string }) {
  const { value, error } = useLoad(
    () => Promise.all([left, right].map((sessionId) => call("moot.getView", { sessionId, limit: 500 }))),
    `${left} ${right}`,
  );
  const [first, second] = value ?? [];
  return (
    <>
      <Header />
      <main class="page wide">
        <h1>{say("two_sessions_compared")}</h1>
        {error && <Notice tone="bad">{error}</Notice>}
        {!value && !error && <Loading />}
        {first && second && (
          <>
            {findShared(first, second) > 0 && <p class="soft">{say("the_same_up_to_entry", { at: findShared(first, second) })}</p>}
            <div class="compared">
              <Side view={first} shared={findShared(first, second)} />
              <Side view={second} shared={findShared(first, second)} />
            </div>
          </>
        )}
      </main>
    </>
  );
}

function Side({ view, shared }: { view: View; shared: number }) {
  const seats = new Map(view.seats.map((seat) => [seat.id, seat]));
  const place = { hueOf: (seat: string) => seats.get(seat)?.hue ?? null, platformOf: (seat: string) => seats.get(seat)?.platform ?? "", linkTo: null, followTo: () => undefined, selectSeat: null, loadWhole: null };
  const said = view.timeline.items.map(([, item]) => item).filter((item) => item.seq > shared);
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
        <p class="choice">{view.choice || say("no_decision")}</p>
        <p>
          <Strength strength={view.strength} />
        </p>
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
        {shared > 0 && said.length > 0 && (
          <>
            <h3>{say("what_was_said_since")}</h3>
            <ol class="items">
              {said.map((item, index) => (
                <ItemView key={index} item={item} isSelected={false} isNew={false} onSelect={() => undefined} />
              ))}
            </ol>
          </>
        )}
      </section>
    </PlaceContext.Provider>
  );
}
