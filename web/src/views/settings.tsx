// Settings: who is signed in here, what that token may do, and the tokens that were given to others.
import { formatCount, formatExact, formatSize } from "../format";
import { say } from "../language";
import { Action, Loading, Notice, useLoad } from "../parts";
import { buildPath } from "../route";
import { call, logOut, mayDo, me } from "../rpc";
import { Header } from "../shell";
import { Row } from "./panel";

export function SettingsView() {
  const who = me.value;
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("settings")}</h1>
        {who && (
          <section aria-label={say("signed_in_as")}>
            <h2>{say("signed_in_as")}</h2>
            <dl>
              <Row name={say("name")}>{who.name}</Row>
              <Row name={say("role")}>{who.role}</Row>
              <Row name={say("may")}>
                <code>{who.may.join(", ")}</code>
              </Row>
              {who.limits && (
                <Row name={say("limits")}>
                  {say("limits_of_a_token", { calls: formatCount(who.limits.callsPerSecond), atOnce: formatCount(who.limits.atOnce), size: formatSize(who.limits.largestBody) })}
                </Row>
              )}
            </dl>
            {who.isInvited && (
              <p class="row">
                <Action class="quiet" do={logOut}>
                  {say("sign_out")}
                </Action>
              </p>
            )}
          </section>
        )}
        {mayDo("own") && !who?.session && <Tokens />}
      </main>
    </>
  );
}

function Tokens() {
  const { value, error, again } = useLoad(() => call("moot.listTokens"), "tokens");
  const now = Date.now();
  const live = value?.tokens.filter((each) => !each.revokedAt && Date.parse(each.expires) > now).reverse() ?? [];
  return (
    <section aria-label={say("tokens_given")}>
      <h2>{say("tokens_given")}</h2>
      <p class="soft">{say("who_holds_a_token_may")}</p>
      {error && <Notice tone="bad">{error}</Notice>}
      {value === null && !error && <Loading />}
      {value !== null && (
        <div class="scroll stack-small" tabIndex={0} role="region" aria-label={say("tokens_given")}>
          <table>
            <thead>
              <tr>
                <th>{say("id")}</th>
                <th>{say("role")}</th>
                <th>{say("session")}</th>
                <th>{say("valid_until")}</th>
                <th>{say("note")}</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {live.map((each) => (
                <tr key={each.id}>
                  <td data-name={say("id")}>
                    <code>{each.id}</code>
                  </td>
                  <td data-name={say("role")}>
                    <span class="cell">
                      {each.role} {each.seat && <b>{each.seat}</b>}
                    </span>
                  </td>
                  <td data-name={say("session")}>
                    {each.sessionId ? (
                      <a data-in href={buildPath("s", each.sessionId)}>
                        {each.sessionId}
                      </a>
                    ) : (
                      say("all_sessions")
                    )}
                  </td>
                  <td data-name={say("valid_until")}>{formatExact(each.expires)}</td>
                  <td data-name={say("note")} lang="en">{each.note.replaceAll("`", "")}</td>
                  <td>
                    {me.value?.tokenId === each.id ? (
                      <span class="soft">{say("yours")}</span>
                    ) : (
                      <Action
                        class="quiet"
                        name={say("revoke_token", { token: each.id })}
                        do={async () => {
                          await call("moot.revokeToken", { tokenId: each.id });
                          await again();
                        }}
                      >
                        {say("revoke")}
                      </Action>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
