// Small parts that every view uses.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatAgo, formatExact, nameTerm, shortenId } from "./format";
import { say } from "./language";
import { CallError, describeError } from "./rpc";

export function Ago({ at }: { at: string | null | undefined }) {
  if (!at) return null;
  return (
    <time dateTime={at} title={formatExact(at)}>
      {formatAgo(at)}
    </time>
  );
}

export function CopyId({ id }: { id: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <button
      class="id"
      title={`${id} · ${say("copy")}`}
      aria-label={say("copy_the_id_id", { id })}
      onClick={async () => {
        setCopied(await copyText(id));
        setTimeout(() => setCopied(false), 1500);
      }}
    >
      {isCopied ? say("copied") : shortenId(id)}
    </button>
  );
}

/** Whether it was copied. Without a clipboard (plain http from another machine) a selection is, which must be in the dialog that is open. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const before = document.activeElement as HTMLElement | null;
    const area = document.createElement("textarea");
    area.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const isCopied = document.activeElement === area && document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    return isCopied;
  }
}

const STRENGTH_TONES: Record<string, string> = { strong: "good", fair: "good", weak: "warn", disputed: "warn", overruled: "bad" };
/** How a decision came about, and what to mind of it: plain, amber with a reservation, never green. */
export function ResultBadge({ line }: { line: { badge: string; reservation: string } }) {
  if (!line.badge) return null;
  return (
    <span class={`result-badge ${line.reservation ? "mind" : ""}`} dir="auto">
      {line.badge}
      {line.reservation && ` ! ${line.reservation}`}
    </span>
  );
}

/** An excerpt with the words marked that were searched for. */
export function Marked({ text, marks }: { text: string; marks: number[][] }) {
  const parts: ComponentChildren[] = [];
  // Places are counted in characters, and a script counts some of them twice.
  const letters = [...text];
  let end = 0;
  for (const [first = 0, behind = 0] of marks) {
    parts.push(letters.slice(end, first).join(""), <mark key={first}>{letters.slice(first, behind).join("")}</mark>);
    end = behind;
  }
  return (
    <>
      {parts}
      {letters.slice(end).join("")}
    </>
  );
}

const STRENGTH_STEPS: Record<string, number> = { strong: 4, fair: 3, weak: 2, disputed: 2, overruled: 1 };

/** How strong a decision is: a word, and as many of four steps. */
export function Strength({ strength }: { strength: string }) {
  const name = strength === "none" ? "" : nameTerm("strengths", strength);
  if (!name) return null;
  const steps = STRENGTH_STEPS[strength] ?? 0;
  return (
    <span class={`strength ${STRENGTH_TONES[strength] ?? ""}`} title={say("what_the_decision_is_worth")}>
      <span class="steps" aria-hidden="true">
        {[1, 2, 3, 4].map((step) => (
          <i key={step} class={step <= steps ? "on" : ""} />
        ))}
      </span>
      {name}
    </span>
  );
}

/** A state in a plain sentence, with what to do next. */
export function Notice({ tone = "plain", children, action }: { tone?: string; children: ComponentChildren; action?: ComponentChildren }) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      <div>{children}</div>
      {action && <div class="notice-action">{action}</div>}
    </div>
  );
}

export function Loading() {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return <p class="soft loading">{isSlow ? say("loading") : "\u00a0"}</p>;
}

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    // showModal keeps the focus inside and gives it back at the end.
    element.current?.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => event.target === element.current && element.current?.close()}
    >
      <div class="dialog">
        <header>
          <h2>{title}</h2>
          <button class="quiet" aria-label={say("close")} onClick={() => element.current?.close()}>
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** A button whose work takes a moment; what goes wrong stands beside it. */
export function Action(props: {
  do: () => Promise<unknown>;
  class?: string;
  children: ComponentChildren;
  disabled?: boolean;
  name?: string;
  type?: "button" | "submit";
}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const isThere = useRef(true);
  useEffect(() => () => void (isThere.current = false), []);
  return (
    <>
      <button
        type={props.type ?? "button"}
        class={props.class ?? ""}
        aria-label={props.name}
        disabled={props.disabled === true || isBusy}
        onClick={async () => {
          setBusy(true);
          setError("");
          try {
            await props.do();
          } catch (why) {
            if (isThere.current) setError(describeError(why));
          } finally {
            if (isThere.current) setBusy(false);
          }
        }}
      >
        {props.children}
      </button>
      {error && (
        <p class="bad error" role="alert">
          {error}
        </p>
      )}
    </>
  );
}

/** Milliseconds after which a server that did not answer is asked again. */
export const RETRY = 3000;

/** What a call gives: loads once for each key, and again when asked to or at a change, with what is known shown meanwhile. */
export function useLoad<T>(load: () => Promise<T>, key: string, change = ""): { value: T | null; error: string; again: () => Promise<void> } {
  const [state, setState] = useState<{ key: string; value: T | null; error: string }>({ key, value: null, error: "" });
  const current = useRef(key);
  const newest = useRef(0);
  current.current = key;
  const again = async (): Promise<void> => {
    const own = ++newest.current;
    const isNewest = (): boolean => current.current === key && newest.current === own;
    try {
      const value = await load();
      if (isNewest()) setState({ key, value, error: "" });
    } catch (why) {
      if (!isNewest()) return;
      setState((old) => ({ key, value: old.key === key ? old.value : null, error: describeError(why) }));
      if (why instanceof CallError && why.kind === "Offline") setTimeout(() => isNewest() && void again(), RETRY);
    }
  };
  useEffect(() => void again(), [key, change]);
  useEffect(() => () => void newest.current++, []);
  return { value: state.key === key ? state.value : null, error: state.key === key ? state.error : "", again };
}

/** A table whose cells are given row by row; the columns of `wide` hold words that may be long. */
export function Table({ heads, rows, wide = [] }: { heads: string[]; rows: ComponentChildren[][]; wide?: number[] }) {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <Cell key={index} name={heads[index]} look={wide.includes(index) ? "wide" : ""}>
                  {cell}
                </Cell>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A cell of a table that knows its column's name: where there is no room for columns, it stands before the value. */
export function Cell({ name, look = "", children }: { name: string | undefined; look?: "" | "wide" | "none"; children: ComponentChildren }) {
  return (
    <td data-name={name} class={look}>
      <span class="cell">{children}</span>
    </td>
  );
}
