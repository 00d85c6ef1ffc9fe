// What this browser keeps; a browser that keeps nothing (a file, a private window) is as good.

export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(`moot.${name}`);
  } catch {
    return null;
  }
}

/** What follows a beginning in the names of what is kept. */
export function listStored(beginning: string): string[] {
  try {
    return Object.keys(localStorage).flatMap((name) => (name.startsWith(`moot.${beginning}`) ? [name.slice(5 + beginning.length)] : []));
  } catch {
    return [];
  }
}

export function writeStored(name: string, value: string | null): void {
  try {
    if (value === null || value === "") localStorage.removeItem(`moot.${name}`);
    else localStorage.setItem(`moot.${name}`, value);
  } catch {
    // Nothing is kept then.
  }
}
