import type { z } from 'zod';
import { type HTML, html } from '../../http/response/html.ts';
import { pageOf } from '../../http/response/page.ts';
import type { Response } from '../../http/route/route.ts';
import type { ShownForm } from '../../questions/shown-form.ts';
import { type Control, type Controls, controlsOf, type SentFields, textOf } from './form-controls.ts';

type Shown = z.output<typeof ShownForm>;

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
    outcome.textContent = body.message ?? body.error.message.replaceAll('submittedData.', '');
    if (response.ok) form.remove();
  } catch (error) {
    outcome.textContent = error.message;
  }
});`;

interface Drawn {
  /** Where a browser sends the form if it does not run the script, relative to the page. */
  action: string;
  /** The fields that a browser without the script has sent, one of which is wrong. */
  sent?: SentFields;
  fault?: string;
}

/** The form as a page for the browser of a person who has followed a link. It works without the script, too. */
export function sendForm(response: Response, form: Shown, { action, sent, fault }: Drawn): void {
  const { title, description } = form;
  const { controls, buttons } = controlsOf(form);
  const content = html`<pre>${description}</pre>
${fault !== undefined && html`<p role="alert">${fault}</p>`}
<form method="post" action="${action}">${controls.map((control) => draw(control, sent))}${drawButtons(buttons)}</form>
<p role="status"></p>`;
  send(response, { title: title || 'Form', content, ...(!sent && { script }) });
}

/** The page after an answer. */
export function sendThanks(response: Response, message: string): void {
  send(response, { title: 'Thank you', content: html`<p role="status">${message}.</p>` });
}

function send(response: Response, page: Parameters<typeof pageOf>[0]): void {
  const { headers, text } = pageOf(page);
  response.set(headers).send(text);
}

function draw(control: Control, sent: SentFields | undefined): HTML {
  const { name, label, as, placeholder, choices, isLong } = control;
  const text = sent && textOf(sent, name);
  const required = control.required && html` required`;
  if (as === 'checkbox')
    return html`<label><input type="checkbox" name="${name}" data-as="checkbox"${text && html` checked`}> ${label}</label>`;
  if (choices) {
    const options = choices.map(
      ({ label: shown, value }) => html`<option value="${value}"${value === text && html` selected`}>${shown}</option>`,
    );
    return html`<label>${label} <select name="${name}" data-as="text"${required}><option value=""></option>${options}</select></label>`;
  }
  const given = html`name="${name}" data-as="${as}" placeholder="${placeholder}"${control.isWhole && html` data-whole="yes"`}${required}`;
  // The parser drops a line feed right after the tag.
  if (isLong) return html`<label>${label} <textarea ${given}>${text && `\n${text}`}</textarea></label>`;
  return html`<label>${label} <input ${given} value="${text}"></label>`;
}

function drawButtons(buttons: Controls['buttons']): HTML[] {
  return buttons.map(({ label, name, value }) => {
    const sends = name !== undefined && html` name="${name}" value="${value}"`;
    return html`<button${sends}>${label}</button>`;
  });
}
