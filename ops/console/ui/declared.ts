import { isObject } from './is-object.ts';

/** The field by which a value of an input is entered. */
export type InputKind = (typeof kinds)[keyof typeof kinds] | 'yes or no' | 'id' | 'any';

const kinds = {
  string: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'checkbox',
  date: 'date',
  datetime: 'moment',
  choice: 'choice',
  array: 'json',
  object: 'json',
} as const;

/** A declared input of a query or a workflow, as a form for values or templates shows it. */
export interface DeclaredInput {
  key: string;
  label: string;
  kind: InputKind;
  isRequired: boolean;
  description?: string;
  /** The default, which is taken while the field is empty. */
  hint: string;
  initial: unknown;
  /** The texts of a choice. */
  options: readonly string[];
  /** The type of what an id names. */
  names: string | undefined;
}

export function declaredInputs(definitions: unknown): DeclaredInput[] {
  if (!Array.isArray(definitions)) return [];
  return definitions.flatMap((definition: unknown) => {
    if (!isObject(definition) || typeof definition.key !== 'string') return [];
    const { key, type, required, title, label, description, placeholder, options, reference } = definition;
    const initial = definition.default ?? definition.defaultValue;
    const isRequired = required === true;
    const names = type === 'string' ? textOf(reference) : undefined;
    return {
      ...{ key, isRequired, initial, names },
      label: textOf(title) ?? textOf(label) ?? key,
      kind: names ? 'id' : kindOf(type, isRequired && initial === undefined),
      hint: textOf(placeholder) ?? defaultText(initial),
      options: Array.isArray(options) ? options.filter((one) => typeof one === 'string') : [],
      ...(textOf(description) !== undefined && { description: textOf(description) }),
    } as DeclaredInput;
  });
}

/** A box that is not checked is an answer only where the input may be left out. */
function kindOf(type: unknown, mustBeGiven: boolean): InputKind {
  if (typeof type !== 'string' || !Object.hasOwn(kinds, type)) return 'any';
  if (type === 'boolean' && mustBeGiven) return 'yes or no';
  return kinds[type as keyof typeof kinds];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function defaultText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Names of values that the declaration does not have. They are kept: it may be that of an older version. */
export function undeclaredKeys(inputs: readonly DeclaredInput[], value: object): string[] {
  const known = new Set(inputs.map(({ key }) => key));
  return Object.keys(value).filter((key) => !known.has(key));
}
