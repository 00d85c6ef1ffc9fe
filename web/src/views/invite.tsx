// Invite somebody to a seat: what to send and what to paste.
import { useState } from "preact/hooks";
import { say } from "../language";
import { Action, copyText, Dialog } from "../parts";
import { call } from "../rpc";
import type { Invitation, View } from "../wire";

export function InviteDialog({ view, onClose }: { view: View; onClose: () => void }) {
  const seats = view.seats.filter((seat) => seat.kind === "outside" || seat.kind === "person" || seat.platform === "mailbox");
  const [seat, setSeat] = useState(seats[0]?.id ?? "");
  const [hours, setHours] = useState(72);
  const [made, setMade] = useState<Invitation | null>(null);
  return (
    <Dialog title={say("invite_somebody_to_a_seat")} onClose={onClose}>
      {seats.length === 0 ? (
        <p>
          {say("every_seat_of_this_session_is")}
        </p>
      ) : made === null ? (
        <div class="form">
          <label>
            {say("seat")}
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
            {say("valid_for_hours")}
            <input type="number" min={1} max={8760} value={hours} onInput={(event) => setHours(Number(event.currentTarget.value))} />
          </label>
          <p class="row">
            <Action
              class="main"
              do={async () => setMade(await call("moot.inviteSeat", { sessionId: view.sessionId, seat, lastsHours: hours, url: location.origin }))}
            >
              {say("make_the_invitation")}
            </Action>
          </p>
        </div>
      ) : (
        <div class="form">
          <p>
            {say("send_this_link_to_a_person")}
            <b>{seat}</b>.
          </p>
          <Copyable name={say("link_for_a_person")} text={made.link} />
          {made.paste.map((each) => (
            <Copyable key={each.client} name={each.client} text={each.text} />
          ))}
          <p class="soft">{say("shown_once_whoever_has_it_speaks")}</p>
        </div>
      )}
    </Dialog>
  );
}

/** A link that reads one session and nothing else, until it is revoked. */
export function ShareLink({ view }: { view: View }) {
  const [made, setMade] = useState<{ tokenId: string; link: string } | null>(null);
  return made === null ? (
    <p class="row">
      <Action class="quiet" do={async () => setMade(await call("moot.shareSession", { sessionId: view.sessionId, url: location.origin }))}>
        {say("make_a_read_only_link")}
      </Action>
    </p>
  ) : (
    <div class="form">
      <Copyable name={say("read_only_link")} text={made.link} />
      <p class="soft">{say("whoever_has_the_link_reads")}</p>
      <p class="row">
        <Action
          class="quiet"
          do={async () => {
            await call("moot.revokeToken", { tokenId: made.tokenId });
            setMade(null);
          }}
        >
          {say("revoke_the_link")}
        </Action>
      </p>
    </div>
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
          aria-label={say("copy_name", { name })}
          onClick={async () => {
            setCopied(await copyText(text));
          }}
        >
          {isCopied ? say("copied_2") : say("copy_2")}
        </button>
      </div>
      <pre class="scroll" tabIndex={0}>
        {text}
      </pre>
    </div>
  );
}
