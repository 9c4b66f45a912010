import { z } from 'zod';
import { Json } from '#shared/core/json.ts';
import { looseObject } from '#shared/core/record.ts';
import { Message } from '../fields/response-parts.ts';
import type { Schema } from '../openapi/types.ts';
import { type Form, type Grouping, layOut } from './form-layout.ts';

/** A form in a response. */
const formFields = { schema: looseObject({}), uischema: looseObject({}) };

/** The form of a schema. Where a field selects a shape, the other fields depend on it by `if` and `then`. */
export function formOf(schema: z.ZodType, grouping?: Grouping): Form {
  const known = described.get(schema) ?? describe(schema);
  described.set(schema, known);
  return layOut(known, grouping);
}

/** Made once for each schema: those of a response with all kinds of nodes take 15 ms. */
const described = new WeakMap<z.ZodType, Schema>();

function describe(schema: z.ZodType): Schema {
  const { $schema, ...made } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override: anyJson });
  return conditional(made as Schema);
}

/** Merges two forms: fields of the first come first, and win where both have one. */
export function joinForms(one: Form, other: Form, grouping?: Grouping): Form {
  const { schema: first } = one;
  const properties = { ...first.properties, ...withoutThose(other.schema.properties, first.properties) };
  return layOut({ ...first, properties }, grouping);
}

function withoutThose(properties: Schema['properties'] = {}, those: Schema['properties'] = {}): Schema['properties'] {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !Object.hasOwn(those, name)));
}

/** The reference to `Json`, which takes anything. */
const ANY_JSON = '#/$defs/Json';

function anyJson({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (zodSchema !== Json) return;
  for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
}

/** Writes every union that a constant field discriminates as conditions on that field. */
function conditional(schema: Schema): Schema {
  const { oneOf, anyOf, $ref, ...rest } = schema;
  const inner: Schema = {
    // Editors that follow a reference do not read the title and the description beside it.
    ...($ref !== undefined && $ref !== ANY_JSON && { $ref }),
    ...rest,
    ...(rest.properties && { properties: mapValues(rest.properties, conditional) }),
    ...(rest.items && { items: conditional(rest.items) }),
  };
  const choices = (oneOf ?? anyOf)?.map(conditional);
  const field = choices && fieldThatChooses(choices);
  if (!choices) return inner;
  if (field === undefined) return { ...inner, [oneOf ? 'oneOf' : 'anyOf']: choices };
  const named = choices.map(({ properties = {}, required = [] }) => {
    const { [field]: chosen, ...others } = properties;
    return { value: chosen?.const, chosen, others, required: required.filter((name) => name !== field) };
  });
  const { const: _value, 'x-enumNames': _name, ...words } = named[0]?.chosen ?? {};
  // Each constant has one name.
  const names = named.flatMap(({ chosen }) => (chosen?.['x-enumNames'] as string[] | undefined) ?? []);
  return {
    ...inner,
    type: 'object',
    properties: {
      [field]: {
        ...words,
        enum: named.map(({ value }) => value),
        ...(names.length === named.length && { 'x-enumNames': names }),
      },
    },
    required: [field],
    allOf: named.map(({ value, others, required }) => ({
      if: { properties: { [field]: { const: value } }, required: [field] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: others, required },
    })),
  };
}

function fieldThatChooses(choices: readonly Schema[]): string | undefined {
  const [first] = choices;
  return Object.keys(first?.properties ?? {}).find((name) =>
    choices.every(({ properties }) => properties?.[name]?.const !== undefined),
  );
}

function mapValues(schemas: Record<string, Schema>, change: (schema: Schema) => Schema): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, change(schema)]));
}

const exampleForm = {
  datasourceType: 'postgresql',
  label: 'PostgreSQL',
  category: 'database',
  schema: { type: 'object', properties: { query: { title: 'SQL', type: 'string' } }, required: ['query'] },
  uischema: { type: 'VerticalLayout', elements: [{ type: 'Control', scope: '#/properties/query' }] },
  data: { query: 'select 1' },
};

/** A form for each type of datasource: of the datasource itself, or of its queries. */
export const FormsByType = z.object({
  schemas: z
    .record(
      z.string(),
      z
        .object({
          datasourceType: z.string(),
          label: z.string(),
          category: z.string(),
          ...formFields,
          data: looseObject({}).describe('What an editor starts with'),
        })
        .meta({ id: 'DatasourceForm' }),
    )
    .meta({ examples: [{ postgresql: exampleForm }] }),
  message: Message,
});
