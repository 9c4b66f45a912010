import { hash } from 'node:crypto';
import type { z } from 'zod';
import { isJsonObject } from '#shared/core/json.ts';
import { Decision } from '#shared/workflow/nodes/decision.ts';
import { CollectionField } from '#shared/workflow/nodes/kinds/data-collection.ts';
import { HTML, html } from '../../http/response/html.ts';
import { iconLink } from '../../http/response/icon.ts';
import type { Response } from '../../http/route/route.ts';
import type { ShownToHolder } from './schemas.ts';

type Shown = z.output<typeof ShownToHolder>;

// The script posts to the address of the page. An input that is no number, or has more digits than every double holds, is sent as a
// text, and JSON as it is written, so that the server names the fault.
const script = `
const form = document.querySelector('form');
const outcome = document.querySelector('[role=status]');
const readers = {
  text: (field) => field.value ? JSON.stringify(field.value) : undefined,
  number: (field) => field.value === '' ? undefined : isSure(field.value) ? field.value : JSON.stringify(field.value),
  checkbox: (field) => String(field.checked),
  json: (field) => field.value.trim() === '' ? undefined : (JSON.parse(field.value), field.value),
};
const isSure = (text) => /^-?(0|[1-9][0-9]*)([.][0-9]+)?(e[+-]?[0-9]{1,2})?$/i.test(text) && text.replace(/[^0-9]/g, '').length <= 15;
form?.addEventListener('submit', async (event) => {
  event.preventDefault();
  const fields = [];
  let answer;
  try {
    for (const field of form.elements) {
      const value = field.dataset.as && readers[field.dataset.as](field);
      if (value !== undefined && field.dataset.as) field.dataset.whole ? answer = value : fields.push(JSON.stringify(field.name) + ':' + value);
    }
    if (event.submitter?.name) fields.push(JSON.stringify(event.submitter.name) + ':' + JSON.stringify(event.submitter.value));
    answer ??= '{' + fields.join(',') + '}';
    const response = await fetch(location.href, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"submittedData":' + answer + '}',
    });
    const body = await response.json();
    outcome.textContent = body.message ?? body.error.message;
    if (response.ok) form.remove();
  } catch (error) {
    outcome.textContent = error.message;
  }
});`;

const style = `
body { font: 1rem/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 32rem; padding: 0 1rem }
label { display: block; margin: 1rem 0 } input, select, textarea { box-sizing: border-box; font: inherit; width: 100% }
[type=checkbox] { width: auto } button { font: inherit; margin-right: .5rem } pre { font: inherit; white-space: pre-wrap }`;

const digest = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`;

const policy = [
  "default-src 'none'",
  `script-src ${digest(script)}`,
  `style-src ${digest(style)}`,
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The form as a page for the browser of a person who has followed a link. */
export function sendForm(response: Response, form: Shown): void {
  const { title, description } = form;
  sendPage(response, title || 'Form', html`<pre>${description}</pre>${controlsOf(form)}`);
}

/** Sends a page in place of a form that cannot be answered. */
export function sendNoForm(response: Response, message: string): void {
  sendPage(response, 'This form cannot be answered', html`<p>${message}.</p>`);
}

function sendPage(response: Response, title: string, content: HTML): void {
  // The address is the right to answer: no other site may learn it.
  response.set({ 'content-security-policy': policy, 'referrer-policy': 'no-referrer' });
  response.type('html').send(
    html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${title}</title>
${iconLink}
<style>${new HTML(style)}</style>
</head>
<body>
<h1>${title}</h1>
${content}
<p role="status"></p>
<script>${new HTML(script)}</script>
</body>
</html>
`.text,
  );
}

function controlsOf({ fields = [], formSchema, approveLabel, rejectLabel }: Shown): HTML {
  const { approve, reject } = Decision.enum;
  if (approveLabel !== undefined && rejectLabel !== undefined)
    return html`<form><label>Comment <textarea name="comment" data-as="text"></textarea></label>
<button name="decision" value="${approve}">${approveLabel}</button><button name="decision" value="${reject}">${rejectLabel}</button></form>`;
  const controls = fields.length > 0 ? fields.map(controlOfField) : controlsOfSchema(formSchema);
  return html`<form>${controls}<button>Send</button></form>`;
}

function controlOfField(stored: unknown): HTML {
  const field = CollectionField.safeParse(stored).data;
  if (!field) return html``;
  const { key: name, label = name, fieldType, required, placeholder, options = [] } = field;
  const choices = options.map((option) => (typeof option === 'string' ? { label: option, value: option } : option));
  const control = { name, label, required, placeholder };
  if (fieldType === 'dropdown') return choice({ ...control, choices });
  if (fieldType === 'long text') return area({ ...control, as: 'text' });
  if (fieldType === 'checkbox') return tick(control);
  return line({ ...control, as: fieldType });
}

interface Control {
  name: string;
  label: string;
  required: boolean;
  placeholder?: string | undefined;
}

const mark = (required: boolean) => required && html` required`;

function line({ name, label, required, placeholder, as }: Control & { as: 'text' | 'number' }): HTML {
  return html`<label>${label} <input name="${name}" data-as="${as}" placeholder="${placeholder}"${mark(required)}></label>`;
}

function area({ name, label, required, placeholder, as }: Control & { as: 'text' | 'json' }): HTML {
  return html`<label>${label} <textarea name="${name}" data-as="${as}" placeholder="${placeholder}"${mark(required)}></textarea></label>`;
}

function tick({ name, label }: Control): HTML {
  return html`<label><input type="checkbox" name="${name}" data-as="checkbox"> ${label}</label>`;
}

function choice({ name, label, required, choices }: Control & { choices: { label: string; value: string }[] }): HTML {
  const options = choices.map(({ label: shown, value }) => html`<option value="${value}">${shown}</option>`);
  return html`<label>${label} <select name="${name}" data-as="text"${mark(required)}><option value=""></option>${options}</select></label>`;
}

/** One control for each property; JSON where a property, or the whole answer, is no single value. */
function controlsOfSchema(schema: Readonly<Record<string, unknown>> = {}): HTML[] {
  const { properties, required } = schema;
  if (!isJsonObject(properties))
    return [html`<label>Answer, as JSON <textarea name="answer" data-as="json" data-whole="yes"></textarea></label>`];
  return Object.entries(properties).map(([name, property = null]) => {
    const { type, title, enum: values } = isJsonObject(property) ? property : {};
    const label = typeof title === 'string' ? title : name;
    const control = { name, label, required: Array.isArray(required) && required.includes(name) };
    if (Array.isArray(values) && values.every((value) => typeof value === 'string'))
      return choice({ ...control, choices: values.map((value) => ({ label: value, value })) });
    if (type === 'string') return line({ ...control, as: 'text' });
    if (type === 'number' || type === 'integer') return line({ ...control, as: 'number' });
    if (type === 'boolean') return tick(control);
    return area({ ...control, label: `${label}, as JSON`, as: 'json' });
  });
}
