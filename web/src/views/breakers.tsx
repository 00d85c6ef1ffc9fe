// Circuit breakers: where agents may decide alone, where not, and by which rules.
import { formatExact, formatSeconds, formatShare, countThings, nameTerm } from "../format";
import { say } from "../language";
import { Action, Ago, Loading, Notice, useLoad } from "../parts";
import { buildPath } from "../route";
import { call, mayDo } from "../rpc";
import { Header } from "../shell";
import type { Circuit } from "../wire";

const TONES: Record<Circuit["state"], [string, string]> = { closed: ["good", "▲"], half_open: ["warn", "◆"], open: ["bad", "▼"] };

function describeCircuit(circuit: Circuit): string {
  switch (circuit.state) {
    case "closed":
      return say("closed_agents_may_decide_alone");
    case "half_open":
      return say("half_open_one_decision_is_tried");
    case "open":
      return say("open_a_deliberation_is_required");
  }
}

/** A scope as the server names it (`global`, `category:release`, `stakes:high`) in words. */
function describeScope(scope: string): string {
  const [kind = "", name = ""] = scope.split(/:(.*)/s);
  if (kind === "category") return say("category_name", { name });
  if (kind === "stakes") return say("decisions_of_level_stakes", { level: nameTerm("stakes_levels", name) });
  return scope === "global" ? say("everywhere") : scope;
}


export function Breakers() {
  const { value, error, again } = useLoad(() => call("cstp.listBreakers"), "breakers");
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("circuit_breakers")}</h1>
        <p class="soft">{say("after_repeated_failures_in_a_scope")}</p>
        {error && <Notice tone="bad">{error}</Notice>}
        {value === null && !error && <Loading />}
        {value && value.breakers.length === 0 && <Notice>{say("every_circuit_is_closed_and_no")}</Notice>}
        {value?.breakers.map((each) => {
          const [tone, sign] = TONES[each.state];
          return (
            <div class="obligation" key={each.scope}>
              <p>
                <b>{describeScope(each.scope)}</b>{" "}
                <span class={`tag ${tone}`}>
                  <i class={`sign ${tone}`} aria-hidden="true">
                    {sign}
                  </i>
                  {describeCircuit(each)}
                </span>
              </p>
              <p class="soft">
                {say("failures_by_participants_it_opens_at", { failures: countThings("failures", each.failures), participants: countThings("participants", each.sources), threshold: each.threshold, least_sources: each.leastSources })}
                {each.openedAt && (
                  <>
                    {" · "}
                    {say("open_since")}
                    <Ago at={each.openedAt} />
                  </>
                )}
                {each.halfOpenAt && each.state === "open" && (
                  <>
                    {" · "}
                    {say("one_is_tried_out_from")}
                    {formatExact(each.halfOpenAt)}
                  </>
                )}
                {each.probe && (
                  <>
                    {" · "}
                    <a data-in href={buildPath("decisions", each.probe.decisionId)}>
                      {say("the_decision_that_is_tried_out")}
                    </a>
                  </>
                )}
              </p>
              {mayDo("own") && each.state !== "closed" && (
                <p class="row">
                  <Action
                    class="quiet"
                    do={async () => {
                      await call("cstp.resetCircuit", { scope: each.scope });
                      await again();
                    }}
                  >
                    {say("close_it_and_forget_its_failures")}
                  </Action>
                </p>
              )}
            </div>
          );
        })}
        {value && (
          <section aria-label={say("rules")}>
            <h2>{say("rules_for_deciding_alone")}</h2>
            <dl>
              <Rule name={say("a_circuit_opens_after")}>{say("failures_failures_within_window_seconds", { failures: value.policy.failures, window_seconds: formatSeconds(value.policy.windowSeconds) })}</Rule>
              <Rule name={say("it_stays_open_for")}>{formatSeconds(value.policy.cooldownSeconds)}</Rule>
              <Rule name={say("never_decided_alone")}>{[...value.policy.deliberateStakes.map((each) => nameTerm("stakes_levels", each)), ...value.policy.deliberateCategories].join(", ") || "–"}</Rule>
              <Rule name={say("least_confidence_at_high_stakes")}>{formatShare(value.policy.minConfidence)}</Rule>
              {value.policy.categoryConfidence.map((each) => (
                <Rule key={each.category} name={each.category}>
                  {formatShare(each.minConfidence)}
                </Rule>
              ))}
            </dl>
          </section>
        )}
      </main>
    </>
  );
}

function Rule({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
