// Which of a browser's grants a call is judged by: the one of the session that it is about. A refusal says in words why there is none.
import { say } from "./language";
import { route } from "./route";

/** Why the server refuses: the answer's header, or the stream's event `gone`. */
export type Reason = "revoked" | "expired" | "unknown" | "other_meeting" | "";

const NAMES = ["sessionId", "deliberationId", "decisionId"];

/** The session that the view in front is about; empty where it is about none. */
export function findViewed(): string {
  const [view = "", session = ""] = route.peek().path;
  return view === "s" || view === "seat" ? session : "";
}

function findSession(params: object): string {
  const named = NAMES.map((name) => (params as Record<string, unknown>)[name]).find((each) => typeof each === "string");
  return typeof named === "string" ? named : findViewed();
}

/** Whether this tab was opened by a link, in a browser that may do more without it. */
export function isByLink(session: string): boolean {
  try {
    return session !== "" && sessionStorage.getItem(`moot.link.${session}`) !== null;
  } catch {
    return false;
  }
}

export function stayByLink(session: string): void {
  try {
    sessionStorage.setItem(`moot.link.${session}`, "1");
  } catch {
    // This tab shows the browser's own rights then.
  }
}

/** The headers that say which session a call is about. */
export function buildGrantHeaders(params: object = {}): Record<string, string> {
  const session = findSession(params);
  // A header takes no other letters, and no session has others.
  if (!/^[\w.-]{1,200}$/.test(session)) return {};
  return isByLink(session) ? { "Moot-Session": session, "Moot-As": "link" } : { "Moot-Session": session };
}

/** Why somebody has no access, in words. */
export function describeRefusal(reason: Reason, status: number): string {
  switch (reason) {
    case "revoked":
      return say("this_link_was_withdrawn");
    case "expired":
      return say("the_time_of_this_link_is_over");
    case "other_meeting":
      return say("no_link_of_this_browser_opens_this_meeting");
    default:
      if (status === 403) return say("no_link_of_this_browser_opens_this_meeting");
      return status === 401 ? say("you_are_not_signed_in_here_any_more") : say("this_meeting_is_not_here_any_more");
  }
}

export function readReason(response: Response): Reason {
  return (response.headers.get("Moot-Reason") ?? "") as Reason;
}
