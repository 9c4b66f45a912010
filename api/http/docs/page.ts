import { HTML, html } from '../html.ts';
import type { Content, OpenAPI, Operation, Parameter, Schema } from '../openapi/types.ts';
import { curlFor } from './example.ts';
import { typeOf, viewSchema } from './schema-view.ts';

interface Listed {
  method: string;
  path: string;
  operation: Operation;
}

/** The reference as one page that needs nothing else: it can be read without its script, and offline. */
export function renderPage(document: OpenAPI, { style, script }: { style: string; script: string }): string {
  const { info, tags, components } = document;
  const listed = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
  );
  const groups = tags.map(({ name }) => ({
    name,
    listed: listed.filter(({ operation }) => operation.tags.includes(name)),
  }));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API</title>
<style>${new HTML(style)}</style>
</head>
<body>
<nav aria-label="Endpoints">
  <h1>${info.title}</h1>
  <input type="search" id="filter" placeholder="Filter  ( / )" aria-label="Filter endpoints" autocomplete="off">
  ${groups.map(
    ({ name, listed }) => html`<section data-group>
      <h2>${name}</h2>
      ${listed.map(
        ({
          method,
          path,
          operation,
        }) => html`<a href="#${operation.operationId}" data-find="${findable({ method, path, operation })}">
          <i class="${method}">${method}</i> ${shorten(path)}</a>`,
      )}
    </section>`,
  )}
</nav>
<main>
  <header>
    <h1>${info.title} API <small>${info.version}</small></h1>
    <p>${withCode(info.description)}</p>
    <p>Send an ID token as <code>Authorization: Bearer …</code>, or inside a tenant an API key as <code>x-api-key: …</code>. The machine-readable description is at <a href="/openapi.json">/openapi.json</a>.</p>
    ${document.paths['/dev/token'] && html`<pre data-curl>${tokenExample}</pre>`}
    <p id="nothing" hidden>Nothing matches.</p>
  </header>
  ${groups.map(
    ({ name, listed }) => html`<section data-group>
      <h2>${name}</h2>
      ${listed.map((one) => viewOperation(one, components.schemas))}
    </section>`,
  )}
</main>
<script>${new HTML(script)}</script>
</body>
</html>`.text;
}

/** On a developer's machine anybody can have one. */
const tokenExample = `TOKEN=$(curl -s http://localhost:8080/dev/token -H 'content-type: application/json' \\
  -d '{"email":"you@example.com"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`;

function viewOperation(one: Listed, schemas: Record<string, Schema>): HTML {
  const { method, path, operation } = one;
  const { parameters, requestBody, responses, security } = operation;
  const permission = [operation['x-permission'] ?? []].flat().join(', ');
  return html`<details id="${operation.operationId}" data-find="${findable(one)}">
    <summary><i class="${method}">${method}</i> <code>${path}</code> <span>${operation.summary}</span></summary>
    <p class="note">${security.length === 0 ? 'Needs no credential.' : 'Needs a credential'}${permission && html` and the permission <code>${permission}</code>`}${security.length > 0 && '.'}</p>
    ${parameters.length > 0 && html`<h3>Parameters</h3><ul class="fields">${parameters.map((parameter) => viewParameter(parameter, schemas))}</ul>`}
    ${requestBody && html`<h3>Body${!requestBody.required && ' (optional)'}</h3>${viewSchema(schemaOf(requestBody.content), schemas)}`}
    ${Object.entries(responses).map(([status, response]) =>
      '$ref' in response
        ? ''
        : html`<h3>Answer <code>${status}</code></h3>${response.content && viewSchema(schemaOf(response.content), schemas)}`,
    )}
    <p class="note">Errors: ${
      Object.keys(responses)
        .filter((status) => status >= '400')
        .join(', ') || 'none of its own'
    }</p>
    <h3>Example <button type="button" data-copy hidden>Copy</button></h3>
    <pre data-curl>${curlFor(method, path, { operation })}</pre>
  </details>`;
}

function viewParameter(
  { name, in: place, required, description, schema }: Parameter,
  schemas: Record<string, Schema>,
): HTML {
  return html`<li><code>${name}</code>${required && html`<b title="required">*</b>`} <span class="type">${place} · ${typeOf(schema, schemas)}</span>
    ${description && html`<span class="note">${description}</span>`}</li>`;
}

function findable({ method, path, operation }: Listed): string {
  return `${method} ${path} ${operation.summary} ${operation.tags.join(' ')}`.toLowerCase();
}

/** The prefix that nearly all have in common says nothing in a narrow column. */
function shorten(path: string): string {
  return path.replace(/^\/api\/v1\/tenants\/\{tenantID\}(?=\/)/, '').replace(/^\/api\/v1(?=\/)/, '');
}

function schemaOf(content: Content): Schema {
  return Object.values(content)[0]?.schema ?? {};
}

/** What stands between backticks as code. */
function withCode(text: string): HTML[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}
