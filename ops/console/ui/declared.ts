import { inputFields } from './as-fields.ts';
import type { Field } from './field.ts';
import { isObject } from './is-object.ts';

/** A declared input of a query or a workflow, as a form for values or templates shows it. */
export interface DeclaredInput extends Field {
  /** Without a type, any JSON is taken. */
  isTyped: boolean;
  /** The default, which is taken while the field is empty. */
  hint: string;
}

export function declaredInputs(definitions: unknown): DeclaredInput[] {
  const typed = new Set(
    (Array.isArray(definitions) ? definitions : []).flatMap((one) =>
      isObject(one) && typeof one.type === 'string' ? [one.key] : [],
    ),
  );
  return inputFields(definitions).map((field) => ({
    ...field,
    isTyped: typed.has(field.key),
    hint: field.placeholder ?? defaultText(field.initial),
  }));
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
