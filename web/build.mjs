// Bundles the page into the folder given as the first argument (default: where the server serves it from).
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "../src/moothall/surfaces/http/page");

await mkdir(target, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx", early: "src/early.ts" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  outdir: target,
  logLevel: "warning",
});
await copyFile(join(here, "index.html"), join(target, "index.html"));
