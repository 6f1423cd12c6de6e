/** The way back from GitHub: every outcome of a registration as a page that says what to do next. */

import type { Registration, Setup } from "../../services/setup.ts";
import { html, type Page } from "./setup-html.ts";
import { failurePage, registeredPage, unsavedPage } from "./setup-pages.ts";
import type { SetupSession } from "./setup-session.ts";

/** What GitHub's codes are made of; nothing else becomes part of an address. */
const CODE = /^[A-Za-z0-9_-]{1,200}$/;

/** Finishes what the form began. Null: there is nothing to finish, and /setup says how things are. */
export async function finishSetup(setup: Setup, session: SetupSession, query: unknown): Promise<Page | null> {
  const { code, state } = query as Record<string, unknown>;
  const apps = html`<a href="${setup.webBase}/settings/apps">your Apps on GitHub</a>`;
  if (typeof state !== "string" || !session.takeState(state)) {
    // A reload, most likely: it is done already.
    if (setup.isConfigured) return null;
    return failurePage(400, "This is not the way back that was expected", [
      html`GitHub's answer does not belong to a registration begun in this browser, or it was used already. Nothing was taken up.`,
      html`<a href="/setup">Begin again</a>. If an App was just registered, delete it in ${apps} (or your organisation's) first: its credentials cannot be fetched any more.`,
    ]);
  }
  if (typeof code !== "string" || !CODE.test(code)) {
    return failurePage(400, "GitHub sent no code", [
      html`Without it the App's credentials cannot be fetched. <a href="/setup">Begin again</a>.`,
    ]);
  }
  const registration = await setup.register(code);
  if (registration.kind === "unreachable") session.returnState(state);
  return pageOf(registration, apps, `/setup/callback?${new URLSearchParams({ code, state })}`);
}

function pageOf(registration: Registration, apps: ReturnType<typeof html>, again: string): Page {
  switch (registration.kind) {
    case "registered":
      return registeredPage(registration.app, registration.envFile);
    case "unsaved":
      return unsavedPage(registration);
    case "already":
      return failurePage(409, "Another App is configured already", [
        html`App ${registration.appId} was configured meanwhile, and stays. The one you just registered is used by nobody: delete it in ${apps}.`,
        html`<a href="/setup">See what is configured</a>.`,
      ]);
    case "expired":
      return failurePage(410, "GitHub does not know this code", [
        html`It was used already, or it is older than an hour. The App's credentials cannot be fetched any more.`,
        html`Delete the App that was just registered in ${apps} (or your organisation's), then <a href="/setup">begin again</a>.`,
      ]);
    case "unreachable":
      return failurePage(502, "GitHub could not be reached", [
        html`The App is registered on GitHub, but its credentials are not fetched yet: ${registration.reason}.`,
        html`<a href="${again}">Try again</a>, within the hour that GitHub gives. If it goes on, see whether this server may make connections to GitHub (GITHUB_API_URL).`,
      ]);
    case "unusable":
      return failurePage(502, "GitHub's answer cannot be used", [
        html`It was ${registration.reason}. The code is used up, so the credentials cannot be fetched any more.`,
        html`Delete the App that was just registered in ${apps} (or your organisation's), then <a href="/setup">begin again</a>.`,
      ]);
  }
}
