// Invite somebody to a seat: what to send and what to paste.
import { useState } from "preact/hooks";
import { say } from "../language";
import { Action, copyText, Dialog } from "../parts";
import { call } from "../rpc";
import type { View } from "../wire";

interface Invitation {
  token: string;
  link: string;
  paste: { client: string; text: string }[];
}

export function InviteDialog({ view, onClose }: { view: View; onClose: () => void }) {
  const seats = view.seats.filter((seat) => seat.kind === "outside" || seat.kind === "person" || seat.platform === "mailbox");
  const [seat, setSeat] = useState(seats[0]?.id ?? "");
  const [hours, setHours] = useState(72);
  const [made, setMade] = useState<Invitation | null>(null);
  return (
    <Dialog title={say("Invite somebody to a seat", "邀请入席")} onClose={onClose}>
      {seats.length === 0 ? (
        <p>
          {say(
            "Every seat of this session is filled by a participant that Moot asks itself. To invite a person or an agent, open a session with a seat whose participant comes from outside.",
            "此会议的每个席位都由 Moot 自行询问的参与者担任。若要邀请人或代理，请在新会议中设置由外部参与者担任的席位。",
          )}
        </p>
      ) : made === null ? (
        <div class="form">
          <label>
            {say("Seat", "席位")}
            <select value={seat} onChange={(event) => setSeat(event.currentTarget.value)}>
              {seats.map((each) => (
                <option key={each.id} value={each.id}>
                  {each.id}
                  {each.stance ? ` · ${each.stance}` : ""}
                </option>
              ))}
            </select>
          </label>
          <label>
            {say("Valid for (hours)", "有效期（小时）")}
            <input type="number" min={1} max={8760} value={hours} onInput={(event) => setHours(Number(event.currentTarget.value))} />
          </label>
          <p class="row">
            <Action
              class="main"
              do={async () => setMade(await call<Invitation>("moot.inviteSeat", { sessionId: view.sessionId, seat, lastsHours: hours, url: location.origin }))}
            >
              {say("Make the invitation", "生成邀请")}
            </Action>
          </p>
        </div>
      ) : (
        <div class="form">
          <p>
            {say("Send this link to a person. It works once, in their browser, for the seat ", "将此链接发给对方。链接在其浏览器中一次有效，席位：")}
            <b>{seat}</b>.
          </p>
          <Copyable name={say("Link for a person", "给人的链接")} text={made.link} />
          {made.paste.map((each) => (
            <Copyable key={each.client} name={each.client} text={each.text} />
          ))}
          <p class="soft">{say("Shown once: whoever has it speaks as this seat.", "仅显示一次：持有者即可以该席位发言。")}</p>
        </div>
      )}
    </Dialog>
  );
}

function Copyable({ name, text }: { name: string; text: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <div class="copyable">
      <div class="row">
        <b>{name}</b>
        <span class="grow" />
        <button
          class="quiet"
          aria-label={say(`Copy: ${name}`, `复制：${name}`)}
          onClick={async () => {
            await copyText(text);
            setCopied(true);
          }}
        >
          {isCopied ? say("Copied", "已复制") : say("Copy", "复制")}
        </button>
      </div>
      <pre class="scroll" tabIndex={0}>
        {text}
      </pre>
    </div>
  );
}
