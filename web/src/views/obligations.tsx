// The conditions that decisions were carried with, those that are open first.
import { useEffect, useState } from "preact/hooks";
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
      return say("open", "未完成");
    case "met":
      return say("met", "已履行");
    case "waived":
      return say("waived", "已豁免");
    case "failed":
      return say("failed", "未履行");
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
        {say("set by ", "由 ")}
        {obligation.by}
        {say("", " 提出")}
        {obligation.due && (
          <>
            {" · "}
            {say("due ", "期限 ")}
            {obligation.due}
            {isLate && <b class="bad"> {say("overdue", "已逾期")}</b>}
          </>
        )}
        {obligation.note && ` · ${obligation.note}`}
        {props.mayRead && (
          <>
            {" · "}
            <a data-in href={buildPath("decisions", obligation.decisionId)}>
              {obligation.topic ? shortenText(obligation.topic, 100) : say("the decision", "所属决定")}
            </a>
          </>
        )}
      </p>
      {props.maySettle && obligation.state === "open" && (
        <div class="row">
          <input type="text" value={note} maxLength={4000} aria-label={say("Note", "备注")} placeholder={say("note (optional)", "备注（可选）")} onInput={(event) => setNote(event.currentTarget.value)} />
          <Action do={settle("met")}>{say("Met", "已履行")}</Action>
          <Action class="quiet" do={settle("waived")}>
            {say("Waive", "豁免")}
          </Action>
          <Action class="quiet" do={settle("failed")}>
            {say("Failed", "未履行")}
          </Action>
        </div>
      )}
    </div>
  );
}

export function Obligations() {
  const { value, error, again } = useLoad(() => call<{ obligations: Obligation[] }>("cstp.listObligations", { limit: 500 }), "obligations");
  useEffect(() => {
    document.title = `${say("Obligations", "义务")} · Moot`;
  }, []);
  const open = value?.obligations.filter((each) => each.state === "open").sort((a, b) => Number(!a.due) - Number(!b.due) || a.due.localeCompare(b.due)) ?? [];
  const settled = value?.obligations.filter((each) => each.state !== "open") ?? [];
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("Obligations", "义务")}</h1>
        <p class="soft">{say("The conditions on which decisions were supported. A decision is as good as its conditions are met.", "决定获得支持时附带的条件。条件得到履行，决定才站得住。")}</p>
        {error && <Notice tone="bad">{error}</Notice>}
        {value === null && !error && <Loading />}
        {value && open.length === 0 && <Notice>{say("Nothing is due.", "没有待履行的义务。")}</Notice>}
        {open.map((each) => (
          <ObligationLine key={`${each.decisionId} ${each.number}`} obligation={each} mayRead maySettle={mayDo("run")} onSettled={again} />
        ))}
        {settled.length > 0 && (
          <section aria-label={say("Settled", "已了结")}>
            <h2>
              {say("Settled", "已了结")} <span class="soft count">{settled.length}</span>
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

