import { wordsOf } from '../auth/app-scopes.ts';
import { type HTML, html } from '../http/response/html.ts';
import type { ShownApp } from './apps.ts';
import { destinationOf, readableName } from './consent-page.ts';

/** The apps that act for a user, on the page on which they care for their account. */
export function appSection(url: string, apps: readonly ShownApp[]): HTML {
  const rows = apps.map(({ id, name, redirectURIs, tenantTitle, scope, createdAt, lastUsedAt }) => {
    const shownName = readableName(name);
    const used = lastUsedAt ? `last used ${timeOf(lastUsedAt)}` : 'not used yet';
    const [address] = redirectURIs;
    return html`<div class="row"><p><strong>${shownName}</strong> in ${tenantTitle ?? 'a tenant that is gone'}<br>
<span class="dim">Connected ${timeOf(createdAt)}, ${used}${address !== undefined && html`, by ${destinationOf(address)}`}</span></p>
<form method="post" action="${url}/apps/disconnect"><input type="hidden" name="id" value="${id}"><button class="plain" aria-label="Disconnect ${shownName}">Disconnect</button></form>
<details><summary>What it may do</summary><ul>${wordsOf(scope.split(' ')).map(({ words }) => html`<li>${words}</li>`)}</ul></details></div>`;
  });
  return html`<section><h2>Connected apps</h2>
<p>Programs such as Claude, Cursor or VS Code that you have let act for you. One that is disconnected is refused at once.</p>
${rows.length > 0 ? rows : html`<p class="dim">There are none.</p>`}</section>`;
}

function timeOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
