import type { FieldGroup } from '#shared/core/schema/form-groups.ts';
import type { ShownFor } from '#shared/core/schema/shown-for.ts';
import type { Schema } from '../openapi/types.ts';

/** A form for an editor: JSON Schema of the value, and JSONForms for the layout. */
export interface Form {
  schema: Schema;
  uischema: Schema;
}

/** The order of the fields of a form: those that come first, the others, those that come last, then groups of further ones. */
export interface Grouping {
  first?: readonly string[];
  last?: readonly string[];
  groups?: readonly FieldGroup[];
}

/** Adds the layout. Fields of the schema come in the order of the layout, for editors that do not read layouts. */
export function layOut(schema: Schema, { first = [], last = [], groups = [] }: Grouping = {}): Form {
  const grouped = groups.flatMap(({ fields }) => fields);
  const all = Object.keys(schema.properties ?? {});
  const others = all.filter((name) => ![...first, ...last, ...grouped].includes(name));
  const names = [...first, ...others, ...last, ...grouped].filter((name) => all.includes(name));
  const properties = Object.fromEntries(names.map((name) => [name, schema.properties?.[name] ?? {}]));
  const ordered = schema.properties ? { ...schema, properties } : schema;
  return {
    schema: ordered,
    uischema: { type: 'VerticalLayout', elements: arranged(fieldsIn(ordered, '#', grouped), groups) },
  };
}

/** A field at its place in a layout. */
interface Placed {
  name: string;
  element: Schema;
}

/** Fields that depend on another one come behind it. `grouped` has the names of the fields that go to groups. */
function fieldsIn(schema: Schema, scope: string, grouped: readonly string[]): Placed[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => [
    ...placed(name, property, { scope, grouped }).map((one) => withRule(one, ruleOf(property, schema, scope))),
    ...chosenBy(name, schema, { scope, grouped }),
  ]);
}

function withRule({ name, element }: Placed, rule: Schema | undefined): Placed {
  return { name, element: rule ? { ...element, rule } : element };
}

/** A field that counts only for some values of others is shown only then: see `shownFor`. */
function ruleOf({ 'x-shown-for': fields }: Schema, { properties = {} }: Schema, scope: string): Schema | undefined {
  if (fields === undefined) return undefined;
  const conditions = Object.entries(fields as ShownFor).map(([field, values]) => ({
    scope: `${scope}/properties/${field}`,
    schema: oneOf(values, properties[field] ?? {}),
  }));
  return { effect: 'SHOW', condition: anyOf(conditions) };
}

/** One of these values. A field that is empty has its default. */
function oneOf(values: readonly string[], { enum: all = [], default: usual }: Schema): Schema {
  if (!values.includes(String(usual))) return { enum: [...values] };
  return { not: { enum: all.filter((value) => !values.includes(String(value))) } };
}

function anyOf(conditions: readonly object[]): object {
  const [only] = conditions;
  return conditions.length === 1 && only ? only : { type: 'OR', conditions };
}

function chosenBy(field: string, { allOf = [] }: Schema, { scope, grouped }: Around): Placed[] {
  return allOf.flatMap(({ if: condition, then }) => {
    const when = (condition as Schema | undefined)?.properties?.[field];
    if (when === undefined) return [];
    const rule = { effect: 'SHOW', condition: { scope: `${scope}/properties/${field}`, schema: when } };
    const fields = fieldsOfChoice(then as Schema, scope, grouped);
    return fields.map(({ name, element }) => ({ name, element: { ...element, rule } }));
  });
}

/** A choice that consists of one object, such as `connectionDetails`, needs no heading: the field that chooses is one. */
function fieldsOfChoice(then: Schema, scope: string, grouped: readonly string[]): Placed[] {
  const [[name = '', only] = [], ...others] = Object.entries(then.properties ?? {});
  if (!only?.properties || others.length > 0) return fieldsIn(then, scope, grouped);
  return fieldsIn(only, `${scope}/properties/${name}`, grouped);
}

interface Around {
  scope: string;
  grouped: readonly string[];
}

/** The layout of a field; for an object whose fields are all in groups, the layouts of those fields. */
function placed(name: string, property: Schema, { scope: within, grouped }: Around): Placed[] {
  const scope = `${within}/properties/${name}`;
  if (!property.properties) return [{ name, element: controlOf(scope, property) }];
  if (Object.keys(property.properties).every((inner) => grouped.includes(inner)))
    return fieldsIn(property, scope, grouped);
  const elements = fieldsIn(property, scope, []).map(({ element }) => element);
  return [{ name, element: { type: 'Group', label: property.title ?? name, elements } }];
}

function controlOf(scope: string, property: Schema): Schema {
  const options = {
    ...(property['x-secret'] === true && { format: 'password' }),
    ...(property.type === 'string' && Number(property.maxLength) > LONG && { multi: true }),
    ...languageOf(property),
  };
  return { type: 'Control', scope, ...(Object.keys(options).length > 0 && { options }) };
}

/** The language of a field's text, for editors that know it. An object without fields of its own is written as JSON. */
function languageOf({ type, contentMediaType }: Schema): { language?: string } {
  const language = type === 'object' ? 'json' : languages.get(contentMediaType);
  return language === undefined ? {} : { language };
}

const languages = new Map<unknown, string>([
  ['application/sql', 'sql'],
  ['text/javascript', 'javascript'],
  ['application/json', 'json'],
]);

/** Fields that allow longer texts get a multi-line input: addresses, credentials and subjects have one line. */
const LONG = 10_000;

function arranged(fields: readonly Placed[], groups: readonly FieldGroup[]): Schema[] {
  const last = groups.flatMap(({ fields: names }) => names);
  const own = fields.filter(({ name }) => !last.includes(name)).map(({ element }) => element);
  const ofGroups = groups.flatMap(({ label, fields: names }) =>
    groupsOf(
      label,
      names.flatMap((wanted) => fields.filter(({ name }) => name === wanted).map(({ element }) => element)),
    ),
  );
  return [...own, ...ofGroups];
}

/** One group; where every field depends on a choice, one for each choice, so that no empty group is shown. */
function groupsOf(label: string, elements: readonly Schema[]): Schema[] {
  if (elements.length === 0) return [];
  if (elements.some(({ rule }) => rule === undefined)) return [{ type: 'Group', label, elements }];
  // Fields that count for several choices share a group, which is shown for all of these.
  if (elements.some(({ rule }) => !isChoice(rule as Schema))) {
    const conditions = elements.map(({ rule }) => (rule as { condition: object }).condition);
    return [{ type: 'Group', label, elements, rule: { effect: 'SHOW', condition: { type: 'OR', conditions } } }];
  }
  const byRule = Map.groupBy(elements, ({ rule }) => JSON.stringify(rule));
  return [...byRule.values()].map((ofChoice) => ({
    type: 'Group',
    label,
    elements: ofChoice.map(({ rule: _, ...element }) => element),
    rule: ofChoice[0]?.rule,
  }));
}

/** Whether a rule is that of a field which selects a shape: see `chosenBy`. */
function isChoice({ condition }: Schema): boolean {
  return (condition as { schema?: Schema } | undefined)?.schema?.const !== undefined;
}
