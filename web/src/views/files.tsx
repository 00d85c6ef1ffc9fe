// Files that are given with a question: read in the browser where they are text, by the server where they are PDFs or pictures.
import { useState } from "preact/hooks";
import { formatSize } from "../format";
import { say } from "../language";
import { call, describeError, me } from "../rpc";
import type { View } from "../wire";

export interface GivenFile {
  name: string;
  /** The bytes of its text. */
  size: number;
  text?: string;
  /** A PDF or a picture as it is, in base64. */
  data?: string;
}

const MAX_FILE = 2_000_000;
const MAX_FILES = 500;
/** Where the server says nothing of its limit. */
const MAX_CALL = 1_000_000;
/** Folders that hold what others wrote, or what a program made; hidden ones are left out as well. */
const IGNORED = /(^|\/)(\.[^/]*|node_modules|__pycache__|venv)(\/|$)/;
const MAX_NAMED = 3;
/** How the pictures begin that models are sent. */
const PICTURE = /^(?:\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF[^]{4}WEBP)/;

/** What of a file an opening sends. */
export function buildFileParam({ name, text, data }: GivenFile): object {
  return data === undefined ? { name, text } : { name, data };
}

/** How many bytes files take in a call. */
export function measureFiles(files: GivenFile[]): number {
  return files.reduce((size, each) => size + (each.data?.length ?? each.size), 0);
}

async function readFile(file: File): Promise<GivenFile> {
  const name = file.webkitRelativePath || file.name;
  const most = me.peek()?.limits?.largestBody ?? MAX_CALL;
  const head = String.fromCharCode(...new Uint8Array(await file.slice(0, 12).arrayBuffer()));
  // In a folder they are mostly icons: a picture is chosen by itself.
  const isPicture = PICTURE.test(head) && !file.webkitRelativePath;
  if (isPicture || head.startsWith("%PDF-")) {
    if (file.size * 1.4 > most) throw new Error(say("name_is_larger_than_size_kb", { name, size: Math.floor(most / 1400) }));
    const data = (await readAddress(file)).split(",")[1] ?? "";
    if (isPicture) return { name, data, size: file.size };
    // The server takes the text from it: whether it can is said now, not when the session is opened.
    const plan = await call("moot.planSession", { topic: "?", protocol: "debate", seats: ["a", "b"], files: [{ name, data }] });
    return { name, data, size: plan.files[0]?.size ?? 0 };
  }
  if (file.size > MAX_FILE) throw new Error(say("name_is_larger_than_size_kb", { name, size: MAX_FILE / 1000 }));
  const text = await readText(file);
  if (text === null) throw new Error(say("name_is_not_a_text_file", { name }));
  if (!text.trim()) throw new Error(say("name_is_empty", { name }));
  return { name, text, size: file.size };
}

async function readText(file: File): Promise<string | null> {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

function readAddress(file: File): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });
}

/** Choose files, or a whole folder; what cannot be given is named with the reason, and the rest is taken. */
export function FilePicker({ files, onChange }: { files: GivenFile[]; onChange: (files: GivenFile[]) => void }) {
  const [refused, setRefused] = useState<string[]>([]);
  const [isReading, setReading] = useState(false);
  const add = async (input: HTMLInputElement): Promise<void> => {
    const chosen = [...(input.files ?? [])].filter((each) => !IGNORED.test(each.webkitRelativePath));
    input.value = "";
    const known = new Map(files.map((each) => [each.name, each]));
    const problems: string[] = [];
    const most = me.peek()?.limits?.largestBody ?? MAX_CALL;
    setReading(true);
    for (const each of chosen) {
      if (known.size >= MAX_FILES) {
        problems.push(say("at_most_count_files", { count: MAX_FILES }));
        break;
      }
      try {
        const file = await readFile(each);
        if (measureFiles([...known.values(), file]) * 1.1 > most) throw new Error(say("with_name_too_much", { name: file.name, size: formatSize(most) }));
        known.set(file.name, file);
      } catch (error) {
        problems.push(describeError(error));
      }
    }
    setReading(false);
    setRefused(problems);
    onChange([...known.values()]);
  };
  return (
    <>
      <div class="row pickers">
        <label>
          {say("files_that_everybody_reads")}
          <input type="file" multiple onChange={(event) => void add(event.currentTarget)} />
        </label>
        {"webkitdirectory" in HTMLInputElement.prototype && (
          <label>
            {say("or_a_whole_folder")}
            <input type="file" {...{ webkitdirectory: true }} onChange={(event) => void add(event.currentTarget)} />
          </label>
        )}
      </div>
      <p class="soft">{isReading ? say("reading_the_files") : say("text_and_pdf_are_read")}</p>
      {refused.length > 0 && (
        <p class="bad" role="alert">
          {refused.slice(0, MAX_NAMED).join(" ")} {refused.length > MAX_NAMED && say("count_more", { count: refused.length - MAX_NAMED })}
        </p>
      )}
      {files.length > 0 && (
        <ul class="files">
          {files.map((each) => (
            <li key={each.name}>
              {each.name} <span class="soft">{formatSize(each.size)}</span>
              <button type="button" class="quiet" aria-label={say("take_name_away", { name: each.name })} onClick={() => onChange(files.filter((one) => one !== each))}>
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The files of a session with size and hash, folded. */
export function GivenFiles({ view }: { view: View }) {
  if (view.context.length === 0) return null;
  return (
    <details class="fold given">
      <summary>
        {say("files")}: {view.context.length} · {formatSize(view.context.reduce((size, each) => size + each.size, 0))}
      </summary>
      <ul class="files">
        {view.context.map((each) => (
          <li key={each.name}>
            {each.name} <span class="soft">{formatSize(each.size)}</span> <code title={each.sha256}>{each.sha256.slice(0, 12)}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
