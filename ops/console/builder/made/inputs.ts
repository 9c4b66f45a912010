import { isObject } from '../../ui/is-object.ts';
import { asWords, hasTemplate, labelOf } from './plan.ts';

type Values = Readonly<Record<string, unknown>>;

/** A declared input of a query or a workflow. */
export interface Input {
  key: string;
  label: string;
  type: string;
  options: readonly unknown[];
  placeholder: string | undefined;
  isRequired: boolean;
  /** Undefined if there is none, and for one that a page would take for an expression. */
  first: unknown;
}

export function inputsOf(definitions: unknown): Input[] {
  const all = Array.isArray(definitions) ? definitions.filter(isObject) : [];
  return all.flatMap(({ key, type, options, placeholder, required, ...more }) => {
    if (typeof key !== 'string' || key === '') return [];
    return [
      {
        ...{ key, label: labelIn(more) ?? labelOf(key), first: firstOf(more), isRequired: required === true },
        type: typeof type === 'string' ? type : 'string',
        options: Array.isArray(options) ? options.filter((one) => !hasTemplate(one)) : [],
        placeholder: typeof placeholder === 'string' ? placeholder : undefined,
      },
    ];
  });
}

function labelIn({ title, label }: Values): string | undefined {
  const own = [title, label].find((words) => typeof words === 'string' && words !== '');
  return own === undefined ? undefined : asWords(String(own));
}

function firstOf({ default: own, defaultValue }: Values): unknown {
  const first = own ?? defaultValue ?? undefined;
  return hasTemplate(typeof first === 'object' ? JSON.stringify(first) : first) ? undefined : first;
}

const fieldTypes: Readonly<Record<string, string>> = {
  number: 'number',
  integer: 'number',
  boolean: 'checkbox',
  date: 'date',
  choice: 'select',
  array: 'textarea',
  object: 'textarea',
};

/** The field of a form. */
export function fieldOfInput({ key, label, type, options, isRequired, first }: Input): Values {
  const fieldType = fieldTypes[type] ?? 'text';
  return {
    ...{ key, label: hinted(label, type), type: fieldType },
    ...(type === 'choice' && { options }),
    // A box that is not ticked is an answer, too.
    ...(isRequired && type !== 'boolean' && { isRequired: true }),
    ...(first !== undefined && { defaultValue: first }),
  };
}

function hinted(label: string, type: string): string {
  if (type === 'datetime') return `${label} (such as 2026-01-31T09:00:00Z)`;
  return type === 'array' || type === 'object' ? `${label} (as JSON)` : label;
}

/** The widget that asks for an input by itself: its type and its properties. */
export function widgetOfInput({ label, type, options, placeholder, isRequired, first }: Input): [string, Values] {
  const shared = {
    label,
    ...(isRequired && { isRequired: true }),
    ...(first !== undefined && { defaultValue: first }),
    ...(placeholder && !hasTemplate(placeholder) && { placeholder }),
  };
  if (type === 'boolean') return ['switch', { label, isOn: first === true }];
  if (type === 'choice') return ['select', { ...shared, options }];
  if (type === 'date') return ['date-picker', shared];
  if (type === 'number' || type === 'integer') return ['text-input', { ...shared, inputType: 'number' }];
  return ['text-input', { ...shared, label: hinted(label, type) }];
}
