import { type HTML, html } from '../html.ts';
import { resolve } from '../openapi/components.ts';
import type { Schema } from '../openapi/types.ts';

type Schemas = Record<string, Schema>;

/** Schemas may refer to themselves. */
const deepest = 5;

/** The fields of a schema, each with what it must be, and those of objects below it. */
export function viewSchema(schema: Schema, schemas: Schemas, depth = 0): HTML {
  const shape = resolve(schema, schemas);
  const inner = innerOf(shape, schemas);
  if (!shape.properties)
    return html`<p class="type">${typeOf(shape, schemas)}</p>${inner && depth < deepest && viewSchema(inner, schemas, depth + 1)}`;
  const rows = Object.entries(shape.properties).map(([name, field]) =>
    viewField(name, field, { shape, schemas, depth }),
  );
  return html`<ul class="fields">${rows}</ul>`;
}

function viewField(name: string, field: Schema, at: { shape: Schema; schemas: Schemas; depth: number }): HTML {
  const { shape, schemas, depth } = at;
  const inner = innerOf(resolve(field, schemas), schemas);
  return html`<li>
    <code>${name}</code>${shape.required?.includes(name) && html`<b title="required">*</b>`}
    <span class="type">${typeOf(field, schemas)}</span>
    ${field.description && html`<span class="note">${field.description}</span>`}
    ${inner?.properties && depth < deepest && viewSchema(inner, schemas, depth + 1)}
  </li>`;
}

/** The schema whose fields are worth listing below one: of an object itself, an array's items, or of the choice that has fields. */
function innerOf(schema: Schema, schemas: Schemas, depth = 0): Schema | undefined {
  if (schema.properties && Object.keys(schema.properties).length > 0) return schema;
  if (depth === deepest) return undefined;
  const candidates = [schema.items, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return candidates
    .flatMap((candidate) => (candidate ? [resolve(candidate, schemas)] : []))
    .map((candidate) => innerOf(candidate, schemas, depth + 1))
    .find((found) => found !== undefined);
}

/** In a few words: `string · uuid`, `integer 1–100`, `"A" | "B"`, `object[]`. */
export function typeOf(schema: Schema, schemas: Schemas, depth = 0): string {
  const shape = resolve(schema, schemas);
  if (depth === 3) return '…';
  if (shape.title) return shape.description ?? shape.title;
  if (shape.const !== undefined) return JSON.stringify(shape.const);
  if (shape.enum) return shape.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = shape.anyOf ?? shape.oneOf;
  if (choices) return [...new Set(choices.map((choice) => typeOf(choice, schemas, depth + 1)))].join(' | ');
  if (shape.type === 'array') return `${shape.items ? typeOf(shape.items, schemas, depth + 1) : 'any'}[]`;
  const type = Array.isArray(shape.type) ? shape.type.join(' | ') : (shape.type ?? 'any');
  return [type, shape.format && `· ${shape.format}`, boundsOf(shape), defaultOf(shape)].filter(Boolean).join(' ');
}

function boundsOf({ minimum, maximum, minLength, maxLength }: Schema): string {
  const unit = minLength === undefined && maxLength === undefined ? '' : ' characters';
  const [least, most] = [minimum ?? minLength, maximum ?? maxLength].map(telling);
  if (least !== undefined && most !== undefined) return `${least}–${most}${unit}`;
  if (most !== undefined) return `≤ ${most}${unit}`;
  return least === undefined ? '' : `≥ ${least}${unit}`;
}

/** A whole number's own limits say nothing. */
function telling(bound: unknown): number | undefined {
  return typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
}

function defaultOf(schema: Schema): string {
  return schema.default === undefined ? '' : `= ${JSON.stringify(schema.default)}`;
}
