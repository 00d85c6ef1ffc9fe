// Who sits at the table, and what each does now.
import { say } from "../language";
import { buildQueryUrl, NOTHING_SELECTED, route, setQuery } from "../route";
import type { Seat, SeatState, View } from "../wire";

const GLYPHS: Record<SeatState, string> = { listening: "", asked: "◌", writing: "✎", held_up: "…", silent: "–", lost: "✕", done: "✓" };

export function describeState(seat: Seat): string {
  switch (seat.state) {
    case "listening":
      return say("listens");
    case "asked":
      return seat.kind === "person" || seat.kind === "outside" ? say("is_asked") : say("thinks");
    case "writing":
      return say("writes");
    case "held_up":
      return say("waits_for_its_provider");
    case "silent":
      return say("is_silent");
    case "lost":
      return say("is_lost");
    case "done":
      return say("is_done");
  }
}

export function SeatRow({ view }: { view: View }) {
  const current = route.value.query.get("seat");
  return (
    <ul class="seats" aria-label={say("seats")}>
      {view.seats.map((seat) => {
        const changes = { ...NOTHING_SELECTED, seat: seat.id };
        return (
          <li key={seat.id}>
            <a
              class={`seat hue-${seat.hue} is-${seat.state}`}
              href={buildQueryUrl(changes)}
              aria-current={seat.id === current ? "true" : undefined}
              title={[seat.stance, describeState(seat), seat.why].filter(Boolean).join(" · ")}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey) return;
                event.preventDefault();
                setQuery(changes);
              }}
            >
              <i class="dot" aria-hidden="true" />
              {seat.id}
              {view.status === "thinking" || seat.state === "lost" ? (
                <span class="state">
                  {GLYPHS[seat.state] && <i aria-hidden="true">{GLYPHS[seat.state]} </i>}
                  {describeState(seat)}
                </span>
              ) : null}
            </a>
          </li>
        );
      })}
    </ul>
  );
}
