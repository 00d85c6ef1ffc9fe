// What stands round every view: the header, the help, the login.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useKeys } from "./keys";
import { chooseLanguage, language, say } from "./language";
import { Action, Dialog, Notice } from "./parts";
import { exported, go, page } from "./route";
import { describeError, logIn, logOut, me } from "./rpc";
import { switchTheme, theme } from "./theme";

const isHelpOpen = signal(false);

export function Header({ children }: { children?: ComponentChildren }) {
  const isBound = me.value?.session !== undefined && me.value.session !== "";
  return (
    <header class={`top ${children ? "has-topic" : ""}`}>
      {exported === null ? (
        <a class="brand" data-in href="/" aria-label={say("Moot: all sessions", "Moot：全部会议")}>
          moot
        </a>
      ) : (
        <span class="brand">moot</span>
      )}
      {children ?? (
        <nav class="sections" aria-label={say("Sections", "栏目")}>
          <Section to="/" name="" title={say("Sessions", "会议")} />
          {!isBound && (
            <>
              <Section to="/decisions" name="decisions" title={say("Decisions", "决定")} />
              <Section to="/obligations" name="obligations" title={say("Obligations", "义务")} />
              <Section to="/trust" name="trust" title={say("Trust", "信任")} />
              <Section to="/breakers" name="breakers" title={say("Breakers", "断路器")} />
            </>
          )}
        </nav>
      )}
      <span class="tools">
        <button class="quiet" onClick={() => chooseLanguage(language.value === "en" ? "zh" : "en")} lang={language.value === "en" ? "zh" : "en"}>
          {language.value === "en" ? "中文" : "English"}
        </button>
        <button class="quiet" aria-label={theme.value === "dark" ? say("Light colours", "浅色") : say("Dark colours", "深色")} onClick={switchTheme}>
          {theme.value === "dark" ? "☀" : "☾"}
        </button>
        <button class="quiet" aria-label={say("Help", "帮助")} onClick={() => (isHelpOpen.value = true)}>
          ?
        </button>
        {me.value?.isInvited && (
          <Action class="quiet" do={logOut}>
            {say("Sign out", "退出")}
          </Action>
        )}
      </span>
    </header>
  );
}

function Section({ to, name, title }: { to: string; name: string; title: string }) {
  return (
    <a data-in href={to} aria-current={page.value === name ? "page" : undefined}>
      {title}
    </a>
  );
}

export function Help() {
  useKeys(
    (key) => {
      if (key !== "?") return "ignored";
      isHelpOpen.value = true;
      return "done";
    },
    { isGlobal: true },
  );
  if (!isHelpOpen.value) return null;
  const keys: [string, string][] = [
    ["j  k", say("the next, the previous entry", "下一条、上一条")],
    ["←  →", say("one entry back in time, one on", "时间上后退、前进一条")],
    ["/", say("search", "搜索")],
    ["i", say("write: your answer, or a word to the meeting", "写：你的回答，或对会议说的话")],
    ["Esc", say("back to the decision", "回到决定")],
    ["?", say("this help", "本帮助")],
  ];
  return (
    <Dialog title={say("Help", "帮助")} onClose={() => (isHelpOpen.value = false)}>
      <p>
        {say(
          "The meeting is a timeline; everything beside it is a lens on it. Click an entry, a seat, a number or a title to see what it rests on. The slider below shows the meeting as it was after any entry, and a fork goes on from there. The address in your browser is what you see: send it to somebody and they see the same.",
          "会议是一条时间线；旁边的一切都是观察它的视角。点击条目、席位、数字或标题，可查看其依据。下方滑块显示会议在任一条目之后的状态，并可从那里分叉继续。浏览器地址即你所见：发给他人，对方看到的相同。",
        )}
      </p>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split("  ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="soft">
        {say("▲ supports   ◆ supports with a condition   ▼ opposes", "▲ 支持   ◆ 有条件支持   ▼ 反对")}
      </p>
    </Dialog>
  );
}

export function Login({ failed, onLeave }: { failed: string; onLeave: () => void }) {
  const [token, setToken] = useState("");
  return (
    <>
      <Header />
      <main class="page narrow">
        <h1>{say("Sign in", "登录")}</h1>
        {failed && (
          <Notice tone="bad" action={me.value !== null && <button onClick={onLeave}>{say("Go on as before", "照旧继续")}</button>}>
            {failed}
          </Notice>
        )}
        <p>
          {say(
            "This server asks who you are. Open the link that it printed when it started, or the one that you were invited with. A link works once; a token can be pasted here.",
            "此服务器需要确认你的身份。请打开服务器启动时打印的链接，或你收到的邀请链接。链接仅一次有效；令牌可粘贴在此处。",
          )}
        </p>
        <form class="form" onSubmit={(event) => event.preventDefault()}>
          <label>
            {say("Token", "令牌")}
            <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
          </label>
          <p class="row">
            <Action
              class="main"
              type="submit"
              disabled={!token.trim()}
              do={async () => {
                await logIn({ token: token.trim() });
                onLeave();
                goHome();
              }}
            >
              {say("Sign in", "登录")}
            </Action>
          </p>
        </form>
        <p class="soft">{say("Lost it? On the machine of the server: ", "丢失了？在服务器所在机器上执行：")}<code>moot key</code></p>
      </main>
    </>
  );
}

/** Where a caller belongs: a seat at its session, everybody else at home. */
export function goHome(): void {
  const who = me.value;
  if (who?.session && who.seat) go(`/seat/${encodeURIComponent(who.session)}/${encodeURIComponent(who.seat)}`, { replace: true });
  else if (page.value === "login") go("/", { replace: true });
}

/** Exchange the ticket of a link for a cookie; the ticket leaves the address before anything else happens. */
export async function takeTicket(): Promise<string> {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (!ticket) return "";
  history.replaceState(null, "", location.pathname + location.search);
  try {
    await logIn({ ticket });
    goHome();
    return "";
  } catch (error) {
    return describeError(error);
  }
}
