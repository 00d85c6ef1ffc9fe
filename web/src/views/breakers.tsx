// Circuit breakers: where agents may decide alone, where not, and by which rules.
import { useEffect } from "preact/hooks";
import { formatExact, formatSeconds, formatShare } from "../format";
import { say } from "../language";
import { Action, Ago, Loading, Notice, useLoad } from "../parts";
import { buildPath } from "../route";
import { call, mayDo } from "../rpc";
import { Header } from "../shell";
import type { Circuit, Policy } from "../wire";

const TONES: Record<Circuit["state"], [string, string]> = { closed: ["good", "▲"], half_open: ["warn", "◆"], open: ["bad", "▼"] };

function describeCircuit(circuit: Circuit): string {
  switch (circuit.state) {
    case "closed":
      return say("closed: agents may decide alone", "闭合：代理可独自决定");
    case "half_open":
      return say("half open: one decision is tried out", "半开：试行一项决定");
    case "open":
      return say("open: a deliberation is required", "断开：须经审议");
  }
}

/** A scope as the server names it (`global`, `category:release`, `stakes:high`) in words. */
function describeScope(scope: string): string {
  const [kind = "", name = ""] = scope.split(/:(.*)/s);
  if (kind === "category") return say(`Category ${name}`, `类别 ${name}`);
  if (kind === "stakes") return say(`Decisions of ${name} stakes`, `重要程度：${STAKES[name]?.() ?? name}`);
  return scope === "global" ? say("Everywhere", "全部") : scope;
}

const STAKES: Record<string, () => string> = { low: () => say("low", "低"), medium: () => say("medium", "中"), high: () => say("high", "高"), critical: () => say("critical", "关键") };

export function Breakers() {
  const { value, error, again } = useLoad(() => call<{ breakers: Circuit[]; policy: Policy }>("cstp.listBreakers"), "breakers");
  useEffect(() => {
    document.title = `${say("Breakers", "断路器")} · Moot`;
  }, []);
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("Circuit breakers", "断路器")}</h1>
        <p class="soft">{say("After repeated failures in a scope nobody decides alone there, until the time has passed and one decision has gone well.", "某一范围内多次失败后，无人可在此独自决定，直到时间过去且有一项决定进展顺利。")}</p>
        {error && <Notice tone="bad">{error}</Notice>}
        {value === null && !error && <Loading />}
        {value && value.breakers.length === 0 && <Notice>{say("Every circuit is closed, and no failure is counted.", "所有断路器均闭合，且没有计入失败。")}</Notice>}
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
                {say(
                  `${each.failures} ${each.failures === 1 ? "failure" : "failures"} by ${each.sources} ${each.sources === 1 ? "participant" : "participants"}; it opens at ${each.threshold} by ${each.leastSources}`,
                  `${each.sources} 位参与者失败 ${each.failures} 次；${each.leastSources} 位失败 ${each.threshold} 次即断开`,
                )}
                {each.openedAt && (
                  <>
                    {" · "}
                    {say("open since ", "断开于 ")}
                    <Ago at={each.openedAt} />
                  </>
                )}
                {each.halfOpenAt && each.state === "open" && (
                  <>
                    {" · "}
                    {say("one is tried out from ", "试行时间 ")}
                    {formatExact(each.halfOpenAt)}
                  </>
                )}
                {each.probe && (
                  <>
                    {" · "}
                    <a data-in href={buildPath("decisions", each.probe.decision)}>
                      {say("the decision that is tried out", "试行中的决定")}
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
                    {say("Close it and forget its failures", "闭合并清除失败计数")}
                  </Action>
                </p>
              )}
            </div>
          );
        })}
        {value && (
          <section aria-label={say("Rules", "规则")}>
            <h2>{say("Rules for deciding alone", "独自决定的规则")}</h2>
            <dl>
              <Rule name={say("A circuit opens after", "断开条件")}>{say(`${value.policy.failures} failures within ${formatSeconds(value.policy.windowSeconds)}`, `${formatSeconds(value.policy.windowSeconds)}内失败 ${value.policy.failures} 次`)}</Rule>
              <Rule name={say("It stays open for", "断开时长")}>{formatSeconds(value.policy.cooldownSeconds)}</Rule>
              <Rule name={say("Never decided alone", "不得独自决定")}>{[...value.policy.deliberateStakes, ...value.policy.deliberateCategories].join(", ") || "–"}</Rule>
              <Rule name={say("Least confidence at high stakes", "高重要性时的最低把握")}>{formatShare(value.policy.leastConfidence)}</Rule>
              {value.policy.categoryConfidence.map((each) => (
                <Rule key={each.category} name={each.category}>
                  {formatShare(each.least)}
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
