// The conditions that decisions were carried with, those that are open first.
import { useState } from "preact/hooks";
import { shortenText } from "../format";
import { say } from "../language";
import { Action, Loading, Notice, useLoad } from "../parts";
import { buildPath } from "../route";
import { call, mayDo } from "../rpc";
import { Header } from "../shell";
import type { Obligation } from "../wire";

function nameState(state: string): string {
  switch (state) {
    case "open":
      return say("open");
    case "met":
      return say("met");
    case "waived":
      return say("waived");
    case "failed":
      return say("failed");
    default:
      return state;
  }
}

const TONES: Record<string, [string, string]> = { open: ["warn", "◆"], met: ["good", "▲"], waived: ["dim", ""], failed: ["bad", "▼"] };

export function ObligationLine(props: { obligation: Obligation; mayRead: boolean; maySettle: boolean; onSettled: () => Promise<void> }) {
  const { obligation } = props;
  const [note, setNote] = useState("");
  const [tone, sign] = TONES[obligation.state] ?? ["plain", ""];
  const isLate = obligation.state === "open" && !Number.isNaN(Date.parse(obligation.due)) && Date.parse(obligation.due) < Date.now();
  const settle = (state: string) => async (): Promise<void> => {
    await call("cstp.settleObligation", { decisionId: obligation.decisionId, number: obligation.number, state, ...(note ? { note } : {}) });
    setNote("");
    await props.onSettled();
  };
  return (
    <div class="obligation" data-test="obligation">
      <p dir="auto">
        <span class={`tag ${tone}`}>
          {sign && (
            <i class={`sign ${tone}`} aria-hidden="true">
              {sign}
            </i>
          )}
          {nameState(obligation.state)}
        </span>{" "}
        {obligation.text}
      </p>
      <p class="soft">
        {say("set_by")}
        {obligation.by}
        {say("text")}
        {obligation.due && (
          <>
            {" · "}
            {say("due")}
            {obligation.due}
            {isLate && <b class="bad"> {say("overdue")}</b>}
          </>
        )}
        {obligation.note && ` · ${obligation.note}`}
        {props.mayRead && (
          <>
            {" · "}
            <a data-in href={buildPath("decisions", obligation.decisionId)}>
              {obligation.topic ? shortenText(obligation.topic, 100) : say("the_decision_2")}
            </a>
          </>
        )}
      </p>
      {props.maySettle && obligation.state === "open" && (
        <div class="row">
          <input type="text" value={note} maxLength={4000} aria-label={say("note")} placeholder={say("note_optional_2")} onInput={(event) => setNote(event.currentTarget.value)} />
          <Action do={settle("met")}>{say("met_2")}</Action>
          <Action class="quiet" do={settle("waived")}>
            {say("waive")}
          </Action>
          <Action class="quiet" do={settle("failed")}>
            {say("failed_2")}
          </Action>
        </div>
      )}
    </div>
  );
}

export function Obligations() {
  // Those that are open by themselves: an old one must not be hidden behind many that are settled.
  const load = () => Promise.all([call("cstp.listObligations", { onlyOpen: true, limit: 1000 }), call("cstp.listObligations", { limit: 500 })]);
  const { value, error, again } = useLoad(load, "obligations");
  const open = value?.[0].obligations.sort((a, b) => Number(!a.due) - Number(!b.due) || a.due.localeCompare(b.due)) ?? [];
  const settled = value?.[1].obligations.filter((each) => each.state !== "open") ?? [];
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("obligations")}</h1>
        <p class="soft">{say("the_conditions_on_which_decisions_were")}</p>
        {error && <Notice tone="bad">{error}</Notice>}
        {value === null && !error && <Loading />}
        {value && open.length === 0 && <Notice>{say("nothing_is_due")}</Notice>}
        {open.map((each) => (
          <ObligationLine key={`${each.decisionId} ${each.number}`} obligation={each} mayRead maySettle={mayDo("run")} onSettled={again} />
        ))}
        {settled.length > 0 && (
          <section aria-label={say("settled")}>
            <h2>
              {say("settled")} <span class="soft count">{settled.length}</span>
            </h2>
            {settled.map((each) => (
              <ObligationLine key={`${each.decisionId} ${each.number}`} obligation={each} mayRead maySettle={false} onSettled={again} />
            ))}
          </section>
        )}
      </main>
    </>
  );
}

