import type { InputDefinition } from '#shared/workflow/inputs.ts';
import type { Schema } from '../http/openapi/types.ts';
import { ANY_JSON } from './plain-schema.ts';

/** Declared inputs as the arguments of a tool. Clients take other names than inputs may have, so that each argument knows its input. */
export function schemaOfInputs(definitions: readonly InputDefinition[]): {
  schema: Schema;
  /** The name of the input by that of its argument. */
  inputs: Readonly<Record<string, string>>;
} {
  const inputs: Record<string, string> = {};
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const definition of definitions) {
    const name = argumentOf(definition.key, inputs);
    inputs[name] = definition.key;
    properties[name] = schemaOf(definition);
    if (definition.required && definition.default == null && definition.defaultValue == null) required.push(name);
  }
  return { schema: { type: 'object', properties, ...(required.length > 0 && { required }) }, inputs };
}

function argumentOf(key: string, taken: Readonly<Record<string, string>>): string {
  const plain = key.replace(/[^A-Za-z0-9_]+/g, '_').slice(0, 60) || 'input';
  const name = /^[A-Za-z]/.test(plain) ? plain : `input_${plain}`;
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}_${number}`;
    if (!Object.hasOwn(taken, candidate)) return candidate;
  }
}

function schemaOf(definition: InputDefinition): Schema {
  const { type, default: first, defaultValue, options } = definition;
  const said = descriptionOf(definition);
  const value = first ?? defaultValue;
  const isShown = value != null && value !== '' && JSON.stringify(value).length <= 80;
  const notes = [said, isShown ? `Default: ${JSON.stringify(value)}` : undefined, notesOf[type ?? 'any']];
  const description = notes.filter((note) => note).join('. ');
  return { ...typeOf(type, options), ...(description && { description }) };
}

const notesOf: Readonly<Record<string, string>> = {
  any: ANY_JSON,
  date: 'A date such as 2026-01-31',
  array: 'A list as JSON text',
};

function typeOf(type: InputDefinition['type'], options: unknown): Schema {
  switch (type) {
    case 'number':
    case 'integer':
    case 'boolean':
    case 'object':
      return { type };
    case 'datetime':
      return { type: 'string', format: 'date-time' };
    case 'choice': {
      const texts = Array.isArray(options) ? options.filter((one) => typeof one === 'string' && one !== '') : [];
      return { type: 'string', ...(texts.length > 0 && texts.length <= 100 && { enum: texts }) };
    }
    default:
      return { type: 'string' };
  }
}

/** The words that a form shows beside the input. */
function descriptionOf(definition: InputDefinition): string {
  const { title, label, description }: Record<string, unknown> = definition;
  const texts = [description, label, title].filter((one) => typeof one === 'string' && one !== '');
  return String(texts[0] ?? '')
    .slice(0, 300)
    .replace(/\.$/, '');
}
