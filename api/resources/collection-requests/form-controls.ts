import { z } from 'zod';
import { numberIn } from '#shared/core/exact-number.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { LossyNumber, parseExact } from '#shared/core/lossless-json.ts';
import { recordOf, setKey } from '#shared/core/record.ts';
import { type Issue, invalid } from '#shared/core/schema/issues.ts';
import { Decision } from '#shared/workflow/nodes/decision.ts';
import { CollectionField } from '#shared/workflow/nodes/kinds/data-collection.ts';
import type { ShownForm } from '../../questions/shown-form.ts';

type Shown = z.output<typeof ShownForm>;

/** A control of the page of a form, and the buttons that send it. */
export interface Control {
  name: string;
  label: string;
  required: boolean;
  placeholder?: string | undefined;
  /** The kind of value that is made of the text which a person enters. */
  as: 'text' | 'number' | 'checkbox' | 'json';
  /** Text of several lines. */
  isLong?: boolean;
  choices?: readonly Choice[];
  /** The text is the whole answer. */
  isWhole?: boolean;
}

interface Choice {
  label: string;
  value: string;
}

export interface Controls {
  controls: readonly Control[];
  /** Each sends its value as the field `name`; the one button of a form without a decision has no name. */
  buttons: readonly { label: string; name?: string; value?: string }[];
}

/** The controls and buttons of the page of a form. */
export function controlsOf({ fields = [], formSchema, approveLabel, rejectLabel }: Shown): Controls {
  const { approve, reject } = Decision.enum;
  if (approveLabel !== undefined && rejectLabel !== undefined)
    return {
      controls: [{ name: 'comment', label: 'Comment', required: false, as: 'text', isLong: true }],
      buttons: [
        { label: approveLabel, name: 'decision', value: approve },
        { label: rejectLabel, name: 'decision', value: reject },
      ],
    };
  const controls = fields.length > 0 ? fields.flatMap(controlOfField) : controlsOfSchema(formSchema);
  return { controls, buttons: [{ label: 'Send' }] };
}

/** The fields of a form as a browser sends them without a script: texts by name. */
export const SentFields = recordOf(
  z.union([z.string(), z.array(z.string()).transform((texts) => texts.at(-1) ?? '')]),
).meta({ id: 'FormFields', examples: [{ amount: '12.50' }] });
export type SentFields = z.output<typeof SentFields>;

/** The data of a form that a browser has sent without a script: as the script of the page makes it of the same entries. */
export function readSentFields(form: Shown, sent: SentFields): JsonObject {
  const { controls, buttons } = controlsOf(form);
  const answer: JsonObject = {};
  for (const control of controls) {
    const value = readers[control.as](textOf(sent, control.name), control);
    if (value === undefined) continue;
    if (control.isWhole) return isJsonObject(value) ? value : refuse(control, 'expected an object of JSON');
    setKey(answer, control.name, value);
  }
  const [name] = buttons.flatMap((button) => button.name ?? []);
  const pressed = name === undefined ? '' : textOf(sent, name);
  if (name !== undefined && pressed !== '') setKey(answer, name, pressed);
  return answer;
}

export function textOf(sent: SentFields, name: string): string {
  return Object.hasOwn(sent, name) ? (sent[name] ?? '') : '';
}

const readers: Record<Control['as'], (text: string, control: Control) => Json | undefined> = {
  text: (text) => (text === '' ? undefined : text),
  // A text that is no number stays a text, which the check of the answer names.
  number: (text) => (text === '' ? undefined : (numberIn(text) ?? text)),
  checkbox: (text) => text !== '',
  json: (text, control) => (text.trim() === '' ? undefined : parseEntered(text, control)),
};

function parseEntered(text: string, control: Control): Json {
  try {
    return parseExact(text) as Json;
  } catch (error) {
    return refuse(control, error instanceof LossyNumber ? error.message : 'expected JSON');
  }
}

function refuse({ name }: Control, message: string): never {
  const issue: Issue = { path: ['submittedData', name], message };
  throw invalid([issue]);
}

function controlOfField(stored: unknown): Control[] {
  const field = CollectionField.safeParse(stored).data;
  if (!field) return [];
  const { key: name, label = name, fieldType, required, placeholder, options = [] } = field;
  const control = { name, label, required, placeholder };
  if (fieldType === 'dropdown') {
    const choices = options.map((option) => (typeof option === 'string' ? { label: option, value: option } : option));
    return [{ ...control, as: 'text', choices }];
  }
  if (fieldType === 'long text') return [{ ...control, as: 'text', isLong: true }];
  return [{ ...control, as: fieldType }];
}

/** One control for each property; JSON where a property, or the whole answer, is no single value. */
function controlsOfSchema(schema: Readonly<Record<string, unknown>> = {}): Control[] {
  const { properties, required } = schema;
  if (!isJsonObject(properties))
    return [{ name: 'answer', label: 'Answer, as JSON', required: false, as: 'json', isLong: true, isWhole: true }];
  return Object.entries(properties).map(([name, property = null]) => {
    const { type, title, enum: values } = isJsonObject(property) ? property : {};
    const label = typeof title === 'string' ? title : name;
    const control = { name, label, required: Array.isArray(required) && required.includes(name) };
    if (Array.isArray(values) && values.every((value) => typeof value === 'string'))
      return { ...control, as: 'text', choices: values.map((value) => ({ label: value, value })) };
    if (type === 'string') return { ...control, as: 'text' };
    if (type === 'number' || type === 'integer') return { ...control, as: 'number' };
    if (type === 'boolean') return { ...control, as: 'checkbox' };
    return { ...control, label: `${label}, as JSON`, as: 'json', isLong: true };
  });
}
