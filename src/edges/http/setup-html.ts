/** The frame of the set-up pages: escaping, layout, style, and the headers that keep them to themselves. */

import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";

/** Markup that is safe to send: made by `html` only, which escapes whatever is put into it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | null | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark] ?? mark);

const textOf = (part: Part): string => {
  if (part === null) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map((piece) => piece.text).join("");
  return escaped(String(part));
};

/** A template of markup. Attributes must be quoted. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(textOf)));
}

export interface Page {
  readonly status: number;
  readonly title: string;
  readonly body: Html;
  /** 1 register, 2 install; null: neither. */
  readonly step: 1 | 2 | null;
  /** Where forms of the page may go: `'self'`, or GitHub's address. Others have no forms. */
  readonly formAction?: string;
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5b6570;--line:#d9dee3;--ground:#f6f7f8;--card:#fff;--accent:#0b6e5f;
--on-accent:#fff;--warn:#fff6dd;--warn-line:#d9a514;--bad:#fdecec;--bad-line:#c93c37;--good:#e7f5ef}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#9aa5b0;--line:#343b43;--ground:#14171a;--card:#1c2126;
--accent:#3fb79f;--on-accent:#06231d;--warn:#33290f;--warn-line:#a67c14;--bad:#3a1d1d;--bad-line:#d9655f;--good:#15302a}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
header,main{max-width:64rem;margin:0 auto;padding:0 1.25rem}
header{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;align-items:baseline;justify-content:space-between;padding-top:1.75rem}
.brand{font-weight:700;letter-spacing:.01em}
ol.steps{display:flex;gap:1.25rem;margin:0;padding:0;list-style:none;color:var(--soft);font-size:.875rem}
ol.steps [aria-current]{color:var(--ink);font-weight:600}
ol.steps span{display:inline-block;width:1.5rem;height:1.5rem;margin-right:.4rem;border:1px solid var(--line);border-radius:50%;text-align:center;line-height:1.4rem}
ol.steps [aria-current] span{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
main{padding-bottom:4rem}
h1{margin:1.75rem 0 .5rem;font-size:1.75rem;line-height:1.25;text-wrap:balance}
h2{margin:0 0 .75rem;font-size:1.0625rem}
p{margin:0 0 1rem}
.lead{max-width:44rem;color:var(--soft)}
.columns{display:grid;gap:1.5rem;margin-top:1.5rem}
@media (min-width:52rem){.columns{grid-template-columns:minmax(0,1.15fr) minmax(0,1fr);align-items:start}}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1.5rem}
.narrow{max-width:44rem;margin-top:1.5rem}
.card>:last-child,.note>:last-child{margin-bottom:0}
fieldset{margin:0 0 1.5rem;padding:0;border:0}
legend,label.above{display:block;margin-bottom:.375rem;padding:0;font-weight:600}
.choice{display:flex;gap:.6rem;align-items:baseline;padding:.25rem 0}
.inset{margin:.25rem 0 0 1.6rem}
@supports selector(:has(*)){fieldset:not(:has(#organization:checked)) .inset{display:none}}
.field{margin-bottom:1.5rem}
.hint{margin:.375rem 0 0;color:var(--soft);font-size:.875rem}
.error{margin:.375rem 0 0;color:var(--bad-line);font-size:.875rem;font-weight:600}
input[type=text],input[type=url],input[type=password]{width:100%;padding:.6rem .7rem;border:1px solid var(--soft);border-radius:6px;background:var(--ground);color:inherit;font:inherit}
input[aria-invalid]{border-color:var(--bad-line)}
input[type=radio]{accent-color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
button,.button{display:inline-block;padding:.65rem 1.2rem;border:0;border-radius:6px;background:var(--accent);color:var(--on-accent);font:inherit;font-weight:600;text-decoration:none;cursor:pointer}
button:hover,.button:hover{filter:brightness(1.08)}
a{color:var(--accent)}
.actions{display:flex;flex-wrap:wrap;gap:.75rem 1.25rem;align-items:center}
form>.actions{margin-bottom:0}
.note{margin:0 0 1.25rem;padding:.8rem 1rem;border:1px solid var(--warn-line);border-left-width:4px;border-radius:6px;background:var(--warn);font-size:.9375rem}
.note.bad{border-color:var(--bad-line);background:var(--bad)}
.note.good{border-color:var(--accent);background:var(--good)}
.note p{margin-bottom:.4rem}
dl{margin:0}
dt{font-weight:600;font-size:.9375rem}
dt small{margin-left:.35rem;padding:.05rem .45rem;border:1px solid var(--line);border-radius:99px;color:var(--soft);font-weight:400;white-space:nowrap}
dd{margin:0 0 .9rem;color:var(--soft);font-size:.9375rem;overflow-wrap:anywhere}
.facts{display:grid;gap:0 1.25rem;margin-bottom:1rem}
@media (min-width:34rem){.facts{grid-template-columns:max-content minmax(0,1fr)}.facts dd{margin-bottom:.4rem}}
.facts dd{color:inherit}
.todo{margin:0 0 1rem;padding-left:1.3rem}
.todo li{margin-bottom:.6rem}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.875em;overflow-wrap:anywhere}
pre{margin:0 0 1rem;padding:.9rem 1rem;border:1px solid var(--line);border-radius:6px;background:var(--ground);white-space:pre-wrap;word-break:break-all;user-select:all;max-height:18rem;overflow:auto}
`;

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

const STEPS = ["Register the App", "Install it"];

const steps = (current: number | null): Html | null =>
  current === null
    ? null
    : html`<ol class="steps" aria-label="Steps">${STEPS.map((name, index) =>
        index + 1 === current
          ? html`<li aria-current="step"><span>${index + 1}</span>${name}</li>`
          : html`<li><span>${index + 1}</span>${name}</li>`,
      )}</ol>`;

/** Sends a page that nobody else may frame, keep or add to: no scripts, no assets, one style known by its hash. */
export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    `form-action ${page.formAction ?? "'none'"}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${page.title} · Leasehold</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<header><div class="brand">Leasehold</div>${steps(page.step)}</header>
<main><h1>${page.title}</h1>
${page.body}
</main>
</body>
</html>
`;
  return reply
    .status(page.status)
    .headers({ ...PRIVATE_HEADERS, "content-security-policy": policy })
    .type("text/html; charset=utf-8")
    .send(document.text);
}

/** On every answer under /setup. The origin alone is told, so that a form's `Origin` is not left out. */
export const PRIVATE_HEADERS = {
  "cache-control": "no-store",
  "referrer-policy": "strict-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;
