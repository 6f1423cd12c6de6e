/** The set-up pages: functions from what is known to a page. None asks GitHub or the disk. */

import type { AppDefinition } from "../../services/app-manifest.ts";
import type { RegisteredApp, Unsaved } from "../../services/setup.ts";
import { type Html, html, type Page } from "./setup-html.ts";

/** What a permission is called, and what it is for. docs/github.md says it at length. */
export const PERMISSION_WORDS: Readonly<Record<string, { name: string; why: string }>> = {
  metadata: {
    name: "Metadata",
    why: "The repository's name, and whether a person may triage its issues. GitHub requires it of every App.",
  },
  issues: {
    name: "Issues",
    why: "Follows issues, labels and comments. Comments claims and their outcome, sets its own labels, closes what is complete.",
  },
  pull_requests: {
    name: "Pull requests",
    why: "Sees which pull request works on which issue, its reviews, and that it was merged.",
  },
  checks: {
    name: "Checks",
    why: "Sees whether the checks of a pull request passed. Writes one of its own, leasehold/claim, on pull requests that work on an item.",
  },
  contents: {
    name: "Contents",
    why: "Reads one file, .github/leasehold.yml. GitHub tells of pushes only with this permission: they show that a worker is still alive. It allows no change.",
  },
};

const LEVELS = { read: "read", write: "read and write" } as const;

function permissionList(definition: AppDefinition): Html {
  const rows = Object.entries(definition.default_permissions).map(([permission, level]) => {
    const words = PERMISSION_WORDS[permission];
    return html`<dt>${words?.name ?? permission} <small>${LEVELS[level]}</small></dt><dd>${words?.why ?? ""}</dd>`;
  });
  return html`<section class="card"><h2>What the App may do</h2><dl>${rows}</dl>
<p class="hint">It cannot change code or pull requests, and sees nothing of a repository until you install it there.
It is told of these events: ${definition.default_events.join(", ")}.</p></section>`;
}

const problem = (id: string, text: string | undefined): Html | null =>
  text === undefined ? null : html`<p class="error" id="${id}">${text}</p>`;

const invalid = (id: string, isInvalid: boolean): Html =>
  isInvalid ? html` aria-invalid="true" aria-describedby="${id}"` : html``;

export interface RegisterValues {
  readonly account: "personal" | "organization";
  readonly organization: string;
  readonly publicUrl: string;
}

export interface RegisterView {
  readonly values: RegisterValues;
  readonly errors: { readonly organization?: string; readonly publicUrl?: string };
  readonly definition: AppDefinition;
  readonly webBase: string;
  /** The address that is filled in cannot be reached from GitHub. */
  readonly isLocal: boolean;
}

const localNote = (webBase: string): Html => {
  const what =
    webBase === "https://github.com"
      ? "GitHub cannot deliver webhooks to it, and refuses to register it."
      : `${new URL(webBase).host} can probably not deliver webhooks to it.`;
  return html`<div class="note"><p><strong>This address is local.</strong> ${what}</p>
<p>Give the address of a reverse proxy or of a tunnel that leads to this server (cloudflared, ngrok,
<code>tailscale funnel</code>). You can stay in this browser window; only GitHub needs that address.</p></div>`;
};

/** Step 1: what will be registered, for whom, and where GitHub reaches it. */
export function registerPage({ values, errors, definition, webBase, isLocal }: RegisterView): Page {
  const hasErrors = Object.keys(errors).length > 0;
  const isFor = (account: string) => (values.account === account ? html` checked` : html``);
  const body = html`<p class="lead">Leasehold talks to GitHub as a GitHub App of your own. You confirm its name on
GitHub and come back here; the credentials are then taken up at once, without a restart.</p>
<div class="columns"><form class="card" method="post" action="/setup/start">
<fieldset><legend>Who owns the App?</legend>
<label class="choice"><input type="radio" name="account" value="personal"${isFor("personal")}> My personal account</label>
<label class="choice"><input type="radio" name="account" value="organization" id="organization"${isFor("organization")}> An organisation</label>
<div class="inset"><input type="text" name="organization" value="${values.organization}" placeholder="acme" aria-label="Name of the organisation" maxlength="100" autocapitalize="off" autocomplete="off" spellcheck="false"${invalid("organization-error", errors.organization !== undefined)}>
${problem("organization-error", errors.organization)}</div>
<p class="hint">The App is private: it can be installed only on the account that owns it. Choose the one whose
repositories Leasehold is to look after.</p></fieldset>
<div class="field"><label class="above" for="publicUrl">Public address of this server</label>
<input type="text" inputmode="url" id="publicUrl" name="publicUrl" value="${values.publicUrl}" maxlength="500" autocapitalize="off" autocomplete="url" spellcheck="false"${invalid("publicUrl-error", errors.publicUrl !== undefined)}>
${problem("publicUrl-error", errors.publicUrl)}
<p class="hint">GitHub sends webhooks to <code>/api/github/webhooks</code> below it.</p></div>
${isLocal ? localNote(webBase) : null}
<p class="actions"><button type="submit">Continue</button><span class="hint">Nothing is registered yet.</span></p></form>
${permissionList(definition)}</div>`;
  return {
    status: hasErrors ? 422 : 200,
    title: "Register a GitHub App",
    body,
    step: 1,
    formAction: "'self'",
  };
}

export interface HandOffView {
  /** On GitHub. */
  readonly action: string;
  readonly webBase: string;
  readonly manifest: { readonly name: string; readonly hook_attributes: { readonly url: string } };
  readonly owner: string | null;
  readonly isLocal: boolean;
  readonly isPlain: boolean;
}

/** The last look before GitHub. The form takes the manifest there. */
export function handOffPage(view: HandOffView): Page {
  const { action, webBase, manifest, owner, isLocal, isPlain } = view;
  const plainNote = html`<div class="note"><p><strong>Without https</strong> everybody on the way can read the issues
that GitHub sends. Signatures still keep forged deliveries out.</p></div>`;
  const body = html`<p class="lead">Sign in to GitHub in this browser first. GitHub then asks for the App's name and for your
confirmation, and sends you back here. The name must be free on all of GitHub; you can change it there.</p>
<div class="card narrow"><dl class="facts"><dt>Owner</dt><dd>${owner ?? "your personal account"}</dd>
<dt>Name</dt><dd>${manifest.name}</dd><dt>Webhooks go to</dt><dd><code>${manifest.hook_attributes.url}</code></dd></dl>
${isLocal ? localNote(webBase) : isPlain ? plainNote : null}
<form method="post" action="${action}"><input type="hidden" name="manifest" value="${JSON.stringify(manifest)}">
<p class="actions"><button type="submit">Go on to GitHub</button><a href="/setup">Change something</a></p></form></div>`;
  return { status: 200, title: "Register it on GitHub", body, step: 1, formAction: webBase };
}

const installSteps = (htmlUrl: string): Html => html`<h2>What to do next</h2>
<ol class="todo"><li>Install the App on the repositories that Leasehold is to look after.</li>
<li>Put the label <code>backlog</code> on an open issue. The label is made when the App is installed.</li>
<li>Let a worker claim it: the API is described at <a href="/docs">/docs</a>.</li></ol>
<p class="actions"><a class="button" href="${htmlUrl}/installations/new">Install the App on GitHub</a></p>`;

/** Step 2: registered, saved, in force. */
export function registeredPage(app: RegisteredApp, envFile: string): Page {
  const body = html`<div class="card narrow"><div class="note good"><p><strong>${app.name}</strong> (App ${app.appId}) is
in force, without a restart. Its credentials were saved in <code>${envFile}</code> for the next one.</p></div>
${installSteps(app.htmlUrl)}</div>`;
  return { status: 200, title: "The App is registered", body, step: 2 };
}

/** Step 2, but the credentials are only in memory: the one page that shows them. */
export function unsavedPage({ app, envFile, problem, lines }: Unsaved): Page {
  const body = html`<div class="card narrow"><div class="note bad"><p><strong>Save these lines before this server stops.</strong>
${app.name} (App ${app.appId}) is in force now, but its credentials could not be written to
<code>${envFile}</code>: ${problem}.</p><p>GitHub shows them no second time. They are secret: keep them as you keep passwords.</p></div>
<h2>Add to <code>${envFile}</code>, or set as environment variables</h2>
<pre tabindex="0" aria-label="The lines to save">${lines}</pre>
<form method="post" action="/setup/save"><p class="actions"><button type="submit">Try to write the file again</button>
<span class="hint">This page stays at /setup until the file is written or the server stops. As environment variables, leave
out the quotes.</span></p></form></div>
<div class="card narrow">${installSteps(app.htmlUrl)}</div>`;
  return { status: 200, title: "Registered, but not saved", body, step: 2, formAction: "'self'" };
}

/** An App is configured: nothing here changes it. */
export function configuredPage(appId: number, app: RegisteredApp | null, reason: string | null): Page {
  const known = app
    ? installSteps(app.htmlUrl)
    : html`<div class="note"><p><strong>GitHub does not answer for this App.</strong> ${reason ?? ""}</p>
<p>Look whether the App still exists and whether its private key is the one that is configured.
<code>GET /health</code> with the admin token says more.</p></div>`;
  const body = html`<div class="card narrow"><dl class="facts"><dt>App id</dt><dd>${appId}</dd>
${app ? html`<dt>Name</dt><dd><a href="${app.htmlUrl}">${app.slug}</a></dd>` : null}</dl>${known}
<p class="hint">To use another App, take <code>APP_ID</code>, <code>PRIVATE_KEY</code> and <code>WEBHOOK_SECRET</code> out of
the environment and of <code>.env</code>, and start again.</p></div>`;
  return { status: 200, title: "A GitHub App is configured", body, step: 2 };
}

/** Where GitHub sends people who installed the App: anybody may see it, so it tells nothing of this server. */
export const installedPage = (): Page => ({
  status: 200,
  title: "The App is installed",
  step: null,
  body: html`<div class="card narrow"><p>Leasehold now reads the repository's open issues and makes its labels.</p>
<ol class="todo"><li>Put the label <code>backlog</code> on an open issue.</li><li>Workers can then claim it through the API.</li></ol>
<p class="hint">An issue opened by somebody without triage rights also gets <code>needs-specification</code>: a person with
those rights admits it by taking that label off.</p></div>`,
});

/** Nobody set up from here yet: where the code and the token are, and a way in with the token. */
export const signInPage = (failed: boolean): Page => ({
  status: 401,
  title: "Open the link from the start-up message",
  step: null,
  formAction: "'self'",
  body: html`<p class="lead">Setting up is for whoever runs this server. When it starts without a GitHub App, it prints a
link to this page with a one-time code, good for an hour. A restart prints a new one.</p>
<form class="card narrow" method="post" action="/setup/sign-in"><div class="field">
<label class="above" for="token">Or enter the admin token</label>
<input type="password" id="token" name="token" autocomplete="off" maxlength="500" required${invalid("token-error", failed)}>
${problem("token-error", failed ? "This is not the admin token." : undefined)}
<p class="hint">It is the value of <code>LEASEHOLD_ADMIN_TOKEN</code> or, if that is not set, in the file
<code>admin-token</code> in the server's data folder (<code>DATA_DIR</code>, by default <code>.data</code>).</p></div>
<p class="actions"><button type="submit">Sign in</button></p></form>`,
});

/** Something went wrong, and this is what to do next. */
export const failurePage = (status: number, title: string, what: readonly Html[]): Page => ({
  status,
  title,
  step: null,
  body: html`<div class="card narrow">${what.map((line) => html`<p>${line}</p>`)}</div>`,
});
