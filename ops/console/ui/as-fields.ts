import type { Field } from './field.ts';
import { isObject } from './is-object.ts';

/** The fields of a workflow's declared inputs. */
export function inputFields(definitions: unknown): Field[] {
  if (!Array.isArray(definitions)) return [];
  return definitions.flatMap((definition: unknown) => {
    if (!isObject(definition) || typeof definition.key !== 'string') return [];
    const { key, type, required, title, label, description, placeholder } = definition;
    return {
      key,
      label: textOf(title) ?? textOf(label) ?? key,
      kind: kindOfType(type),
      isRequired: required === true && type !== 'boolean',
      ...text('description', description),
      ...text('placeholder', placeholder),
      initial: definition.default ?? definition.defaultValue,
    };
  });
}

function kindOfType(type: unknown): Field['kind'] {
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'boolean') return 'checkbox';
  return type === 'object' || type === 'array' ? 'json' : 'text';
}

function text<K extends string>(key: K, value: unknown): { [key in K]?: string } {
  return (typeof value === 'string' && value !== '' ? { [key]: value } : {}) as { [key in K]?: string };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
