import { type DeclaredInput, declaredInputs } from '../ui/declared.ts';
import { isObject } from '../ui/is-object.ts';
import type { Choice } from '../ui/schema-shape.ts';

/** A declared input as it is stored, with all that the list does not show. */
export type Definition = Readonly<Record<string, unknown>>;

/** Types of what an id in an input can name, which pickers know. */
const named = {
  workflow: 'workflow',
  dataQuery: 'query',
  datasource: 'datasource',
  user: 'member',
  role: 'role',
  appPage: 'page',
  widget: 'widget',
};

const ID = 'id:';

/** The types of inputs in words; one that names something says what. */
export const types: readonly Choice[] = [
  { value: 'string', label: 'Text' },
  { value: 'number', label: 'Number' },
  { value: 'integer', label: 'Whole number' },
  { value: 'boolean', label: 'Yes or no' },
  { value: 'date', label: 'Date' },
  { value: 'datetime', label: 'Date and time' },
  { value: 'choice', label: 'Choice of a list' },
  { value: 'array', label: 'List' },
  { value: 'object', label: 'Object' },
  { value: 'any', label: 'Any' },
  ...Object.entries(named).map(([type, noun]) => ({ value: `${ID}${type}`, label: `A ${noun}` })),
];

export function typeOf({ type = 'any', reference }: Definition): string {
  const asID = `${ID}${String(reference)}`;
  return type === 'string' && types.some(({ value }) => value === asID) ? asID : String(type);
}

/** A default and options of another type would be refused. */
export function withType(definition: Definition, chosen: string): Definition {
  const { type: _, reference: __, options, default: ___, defaultValue: ____, ...others } = definition;
  if (chosen === 'any') return others;
  if (chosen.startsWith(ID)) return { ...others, type: 'string', reference: chosen.slice(ID.length) };
  return { ...others, type: chosen, ...(chosen === 'choice' && { options: options ?? [] }) };
}

export function withDefault(definition: Definition, value: unknown): Definition {
  const { default: _, defaultValue: __, ...others } = definition;
  return value === undefined ? others : { ...others, default: value };
}

/** The same definition with another text; an empty one is left out. */
export function withText(definition: Definition, field: string, text: string): Definition {
  const { [field]: _, ...others } = definition;
  return text === '' ? others : { ...others, [field]: text };
}

/** Fields that the list shows. */
const shown = new Set([
  ...['key', 'type', 'required', 'default', 'defaultValue', 'options', 'reference'],
  ...['title', 'label', 'description', 'placeholder'],
]);

/** Names of what a definition has beside that; it stays. */
export function othersIn(definition: Definition): string[] {
  return Object.keys(definition).filter((field) => !shown.has(field));
}

/** Whether fields can show a definition, of which a person may have written any. */
export function isListed(definition: unknown): definition is Definition {
  if (!isObject(definition) || typeof definition.key !== 'string') return false;
  const { title, label, description, options } = definition;
  const areTexts = [title, label, description].every((one) => one === undefined || typeof one === 'string');
  const areOptions =
    options === undefined || (Array.isArray(options) && options.every((one) => typeof one === 'string'));
  return areTexts && areOptions && types.some(({ value }) => value === typeOf(definition));
}

/** As forms show the input: for the field of its default, which need not be given. */
export function shownInput(definition: Definition): DeclaredInput | undefined {
  const [input] = declaredInputs([withDefault({ ...definition, required: false }, undefined)]);
  return input && { ...input, hint: '' };
}

/** The type of an input and whether it must be given, in words. */
export function summaryOf(definition: unknown): string {
  if (!isListed(definition)) return 'written as JSON';
  const type = types.find(({ value }) => value === typeOf(definition))?.label ?? '';
  const value = definition.default ?? definition.defaultValue;
  const isGiven = definition.required === true && value === undefined;
  const shownDefault =
    value === undefined ? '' : `, ${typeof value === 'string' ? value : JSON.stringify(value)} if not given`;
  return `${type}${isGiven ? ', required' : ''}${shownDefault}`;
}

/** The template that reads an input of a workflow. */
export function expressionOf(key: string): string {
  return `{{ctx.input${partOf(key)}}}`;
}

function partOf(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

export type Declarer = 'workflow' | 'query';

/** The words of forms about the inputs of a workflow, and about those of a query. */
export const declarers = {
  workflow: {
    given: 'What a run is given. Forms that start the workflow ask for it.',
    none: 'None yet. Runs take every JSON object.',
    readers: 'Steps read it as',
    expressionOf,
    required: 'A run is refused that does not get it',
  },
  query: {
    given: 'Values that callers give. Those that the text of the query names are found, with a type.',
    none: 'None yet. Write {{inputs.name}} in the query to have one.',
    readers: 'The query reads it as',
    expressionOf: (key: string) => `{{inputs${partOf(key)}}}`,
    required: 'A call is refused that does not give it',
  },
} as const;
