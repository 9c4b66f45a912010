import { z } from 'zod';
import { Json } from '#shared/json.ts';
import { Message } from './answer-parts.ts';
import type { Schema } from './openapi/types.ts';

/** A form for an editor: JSON Schema of the value, and JSONForms for the layout. */
export interface Form {
  schema: Schema;
  uischema: Schema;
}

/** A form in an answer. */
const formFields = { schema: z.looseObject({}), uischema: z.looseObject({}) };

/** The form of a schema. Where a field selects a shape, the other fields depend on it by `if` and `then`. */
export function formOf(schema: z.ZodType): Form {
  const { $schema, ...made } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override: anyJson });
  return layOut(conditional(made as Schema));
}

/** Merges two forms: fields of the first come first, and win where both have one. */
export function joinForms(one: Form, other: Form): Form {
  const { schema: first } = one;
  const properties = { ...first.properties, ...withoutThose(other.schema.properties, first.properties) };
  return layOut({ ...first, properties });
}

interface Grouping {
  first: readonly string[];
  groups: readonly { label: string; fields: readonly string[] }[];
}

/** Orders the fields of a form: those that come first, the others, then groups of further ones. */
export function groupFields({ schema }: Form, { first, groups }: Grouping): Form {
  const all = Object.keys(schema.properties ?? {});
  const grouped = groups.flatMap(({ fields }) => fields);
  const others = all.filter((name) => !first.includes(name) && !grouped.includes(name));
  const names = [...first, ...others, ...grouped].filter((name) => all.includes(name));
  const properties = Object.fromEntries(names.map((name) => [name, schema.properties?.[name] ?? {}]));
  const ordered: Schema = { ...schema, properties };
  const elementFor = (name: string) => elementOf(name, properties[name] ?? {}, '#');
  const elements = names.filter((name) => !grouped.includes(name)).map(elementFor);
  const ofGroups = groups.flatMap(({ label, fields }) => {
    const own = fields.filter((name) => all.includes(name));
    return own.length > 0 ? [{ type: 'Group', label, elements: own.map(elementFor) }] : [];
  });
  return { schema: ordered, uischema: { type: 'VerticalLayout', elements: [...elements, ...ofGroups] } };
}

function withoutThose(properties: Schema['properties'] = {}, those: Schema['properties'] = {}): Schema['properties'] {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !Object.hasOwn(those, name)));
}

function layOut(schema: Schema): Form {
  return { schema, uischema: { type: 'VerticalLayout', elements: elementsOf(schema, '#') } };
}

function anyJson({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (zodSchema !== Json) return;
  for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
}

/** Writes every union that a constant field discriminates as conditions on that field. */
function conditional(schema: Schema): Schema {
  const { oneOf, anyOf, ...rest } = schema;
  const inner: Schema = {
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
  const { const: _value, ...words } = named[0]?.chosen ?? {};
  return {
    ...inner,
    type: 'object',
    properties: { [field]: { ...words, enum: named.map(({ value }) => value) } },
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

function elementsOf({ properties = {}, allOf = [] }: Schema, scope: string): Schema[] {
  const own = Object.entries(properties).map(([name, property]) => elementOf(name, property, scope));
  const chosen = allOf.flatMap(({ if: condition, then }) => {
    const [[field, when] = []] = Object.entries((condition as Schema | undefined)?.properties ?? {});
    if (field === undefined) return [];
    const rule = { effect: 'SHOW', condition: { scope: `${scope}/properties/${field}`, schema: when } };
    return elementsOf(then as Schema, scope).map((element) => ({ ...element, rule }));
  });
  return [...own, ...chosen];
}

function elementOf(name: string, property: Schema, within: string): Schema {
  const scope = `${within}/properties/${name}`;
  if (property.properties)
    return { type: 'Group', label: property.title ?? name, elements: elementsOf(property, scope) };
  const options = {
    ...(property['x-secret'] === true && { format: 'password' }),
    ...(property.type === 'string' && Number(property.maxLength) > LONG && { multi: true }),
  };
  return { type: 'Control', scope, ...(Object.keys(options).length > 0 && { options }) };
}

/** Fields that allow longer texts get a multi-line input. */
const LONG = 1_000;

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
          data: z.looseObject({}).describe('What an editor starts with'),
        })
        .meta({ id: 'DatasourceForm' }),
    )
    .meta({ examples: [{ postgresql: exampleForm }] }),
  message: Message,
});
