import {
  choicesOf,
  hasFields,
  inputsFieldOf,
  isNamed,
  isOneOrMany,
  isTextual,
  itemsOf,
  kindOf,
  referenceOf,
  type Schema,
} from './schema-shape.ts';

/** The kinds of fields in a form, and which values each can enter. The last one that fits counts; JSON where none does. */
const kinds = {
  text: isTextual,
  'one or many': isOneOrMany,
  'named values': isNamed,
  number: (schema) => ['number', 'integer'].includes(kindOf(schema)),
  check: (schema) => kindOf(schema) === 'boolean',
  group: (schema) => kindOf(schema) === 'object' && hasFields(schema),
  list: (schema) => itemsOf(schema) !== undefined,
  choice: (schema) => choicesOf(schema) !== undefined,
  reference: (schema) => referenceOf(schema) !== undefined,
  inputs: (schema) => inputsFieldOf(schema) !== undefined,
  // There is nothing to choose.
  fixed: (schema) => schema.const !== undefined,
} satisfies Record<string, (schema: Schema) => boolean>;

export type FieldKind = keyof typeof kinds | 'json';

const known = Object.entries(kinds) as [FieldKind, (schema: Schema) => boolean][];

export function fieldKindOf(schema: Schema): FieldKind {
  return known.findLast(([, fits]) => fits(schema))?.[0] ?? 'json';
}
