// What is printed, in place of the view: the question, the decision with its sections, then everything that was said.
import { signal } from "@preact/signals";
import { options } from "preact";
import { useContext } from "preact/hooks";
import { Blocks } from "../blocks";
import { formatExact, formatSize, nameTerm } from "../format";
import { say } from "../language";
import { MISSING } from "../items";
import type { Meeting } from "../meeting";
import { PlaceContext } from "../place";
import type { View } from "../wire";
import { DecisionLens } from "./panel";
import { ItemView } from "./timeline";

/** A meeting of so many items gets a page of its own for its question and its decision. */
const LONG = 40;
const LEFT_OUT = new Set(["cost", "seats", "roles", "what_happened"]);

export const isPrinting = signal(false);

/** The browser takes its picture as soon as this returns: what changes is drawn at once. */
function prepare(is: boolean): void {
  const before = options.debounceRendering;
  options.debounceRendering = (draw) => draw();
  isPrinting.value = is;
  options.debounceRendering = before;
}
addEventListener("beforeprint", () => prepare(true));
addEventListener("afterprint", () => prepare(false));

export function PrintView({ meeting, view }: { meeting: Meeting; view: View }) {
  const items = meeting.items.value.filter((item) => item !== MISSING);
  const missing = meeting.items.value.length - items.length;
  const place = { ...useContext(PlaceContext), linkTo: null, selectSeat: null, loadWhole: null, isPaper: true };
  return (
    <PlaceContext.Provider value={place}>
      <article class={`print-view ${items.length > LONG ? "long" : ""}`}>
        <header>
          <p class="soft">
            moot · {nameTerm("protocols", view.protocol)} · {view.sessionId}
            {view.demo ? ` · ${say("demo")}` : ""}
            {view.forkedFrom ? ` · ${say("forked_from")} ${view.forkedFrom.sessionId} #${view.forkedFrom.at}` : ""}
            {meeting.at.value !== null && ` · ${say("as_it_was")}: ${say("entry_at_of_head", { at: meeting.at.value, head: view.head })}`}
          </p>
          {view.imported && <p class="soft">{say("imported_on", { on: formatExact(view.imported.at), source: view.imported.source })}</p>}
          <h1>{view.topic}</h1>
          <p class="soft">
            {formatExact(view.openedAt)} – {formatExact(view.lastAt)} · {view.seats.map((seat) => seat.id).join(", ")}
          </p>
          {view.context.length > 0 && <p class="soft">{view.context.map((each) => `${each.name} (${formatSize(each.size)}, SHA-256 ${each.sha256})`).join(", ")}</p>}
          <DecisionLens view={view} />
        </header>
        {view.lenses
          .filter((lens) => !LEFT_OUT.has(lens.id))
          .map((lens) => (
            <section key={lens.id}>
              <h2>{lens.title}</h2>
              <Blocks blocks={lens.blocks} />
            </section>
          ))}
        <section>
          <h2>{say("timeline")}</h2>
          {missing > 0 && <p class="soft">{say("entries_not_printed", { missing })}</p>}
          <ol class="items">
            {items.map((item, index) => (
              <ItemView key={index} item={item} isSelected={false} isNew={false} onSelect={() => undefined} />
            ))}
          </ol>
        </section>
      </article>
    </PlaceContext.Provider>
  );
}
