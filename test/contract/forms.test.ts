import { expect, test } from 'vitest';
import { routes } from '#api/app/routes.ts';
import type { Schema } from '#api/http/openapi/types.ts';

interface Form {
  name: string;
  schema: Schema;
  uischema?: Schema;
}

interface Field {
  /** The name of the form, and the names of the fields on the way. */
  path: string;
  name: string;
  field: Schema;
}

/** Every form that the API serves. Editors draw them as they are. `T/database/schemas` lists the schemas of a database. */
const served = routes.filter(({ path }) => /\/schemas$/.test(path) && !/\/database\/schemas$/.test(path));
const forms = (await Promise.all(served.map(async (route) => formsIn(await answerOf(route), nameOf(route))))).flat();
const fields = forms.flatMap(({ name, schema }) => fieldsIn(schema, name));

test('the forms of all kinds of assets are looked at', () => {
  const kinds = 'app-pages dashboards datasources listeners queries widgets workflows'.split(' ');
  expect(served.map(nameOf).sort()).toEqual(kinds);
  expect(kinds.filter((kind) => !forms.some(({ name }) => name.startsWith(`${kind} `)))).toEqual([]);
  expect(fields.length).toBeGreaterThan(2_000);
});

test('every field has a title of words, at any depth', () => {
  const isWords = ({ name, field: { title = '' } }: Field) =>
    title !== name && /^[A-Z]/.test(title) && !/_|[a-z][A-Z]/.test(title.replaceAll(NAMES, ''));
  expect(pathsOf(fields.filter((field) => !isWords(field)))).toEqual([]);
});

test('every field has a description, which says more than the title', () => {
  const saysMore = ({ field: { title = '', description = '' } }: Field) => {
    const known = new Set([...wordsOf(title), ...FILLERS]);
    return wordsOf(description).some((word) => !known.has(word));
  };
  expect(pathsOf(fields.filter((field) => !saysMore(field)))).toEqual([]);
});

test('descriptions have the same style: a capital or a code at the beginning, no full stop at the end', () => {
  const isInStyle = ({ field: { description = '' } }: Field) =>
    /^(?:[\p{Lu}`{\d-])/u.test(description) && /[^\s.,;:]$/.test(description);
  expect(pathsOf(fields.filter((field) => !isInStyle(field)))).toEqual([]);
});

test('a field whose name says its unit tells the unit', () => {
  const withUnit = fields.filter(({ name }) => /(?:Seconds|Ms|Minutes|Hours|Bytes)$/.test(name));
  const tells = ({ field: { title = '', description = '' } }: Field) =>
    /\((?:s|ms|min|h|bytes)\)|seconds?\b|minutes?\b|hours?\b|bytes?\b/i.test(`${title} ${description}`);

  expect(withUnit.length).toBeGreaterThan(50);
  expect(pathsOf(withUnit.filter((field) => !tells(field)))).toEqual([]);
});

test('a field that takes any JSON has its title and its description beside no reference, which editors would follow', () => {
  const drawn = forms.filter(({ uischema }) => uischema);
  const named = drawn.flatMap(({ name, schema }) => {
    const found: string[] = [];
    eachObject(schema, ({ $ref, title }) => {
      if ($ref === '#/$defs/Json' && title !== undefined) found.push(`${name} ${title}`);
    });
    return found;
  });
  expect(named).toEqual([]);
});

test('a field whose values have names has one for each', () => {
  const wrong: string[] = [];
  let count = 0;
  for (const { name, schema } of forms)
    eachObject(schema, ({ enum: values = [], 'x-enumNames': names, title }) => {
      if (!Array.isArray(names)) return;
      count += 1;
      if (names.length !== values.length || !names.every((one) => typeof one === 'string' && one))
        wrong.push(`${name} ${title}`);
    });
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(2);
});

test('a field that counts for some values of another one names one beside it, and values that this takes', () => {
  const wrong: string[] = [];
  let count = 0;
  for (const { name, schema } of forms)
    eachObject(schema, ({ properties = {} }) => {
      for (const [field, property] of Object.entries(properties))
        for (const [other, values] of Object.entries((property['x-shown-for'] ?? {}) as Record<string, string[]>)) {
          count += 1;
          const taken = properties[other]?.enum ?? [];
          if (values.length === 0 || values.some((value) => !taken.includes(value))) wrong.push(`${name} ${field}`);
        }
    });
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(25);
});

test('a field is shown for its values alone, also where one of them is what an empty field means', () => {
  const form = forms.find(({ name }) => name.endsWith(' webhook') && name.startsWith('datasources'));
  const ruleOf = (field: string) => rulesIn(form?.uischema).get(`#/properties/${field}`);
  const of = (field: string, schema: object) => ({ scope: `#/properties/${field}`, schema });
  expect(ruleOf('username')).toEqual({ effect: 'SHOW', condition: of('authType', { enum: ['basic'] }) });
  expect(ruleOf('authSecret')).toEqual({
    effect: 'SHOW',
    condition: { type: 'OR', conditions: [of('authType', expect.anything()), of('handshake', expect.anything())] },
  });
  const config = forms.find(({ name }) => name.endsWith(' webhook') && name.startsWith('listeners'));
  expect(rulesIn(config?.uischema).get('#/properties/dedupWindowMinutes')).toEqual({
    effect: 'SHOW',
    condition: of('dedupBy', { not: { enum: ['none'] } }),
  });
});

/** Rules of the controls of a layout, by their scope. */
function rulesIn(layout: Schema | undefined): Map<string, unknown> {
  const rules = new Map<string, unknown>();
  eachObject(layout ?? {}, ({ scope, rule }) => {
    if (rule !== undefined) rules.set(String(scope), rule);
  });
  return rules;
}

function eachObject(value: unknown, visit: (schema: Schema) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) visit(value as Schema);
  for (const part of Object.values(value)) eachObject(part, visit);
}

test('layouts lead to every field, and name no object by its raw name', () => {
  for (const { name, schema, uischema } of forms) {
    if (!uischema) continue;
    const shown = spotsIn(uischema);
    const inSchema = leavesIn(schema, '#');
    expect([...new Set(shown.map(({ scope }) => scope))].sort(), name).toEqual([...new Set(inSchema)].sort());
    const labels = shown.flatMap(({ groups }) => groups);
    expect(
      labels.filter((label) => !/^[A-Z][A-Za-z0-9. ]*$/.test(label) || /[a-z][A-Z]/.test(label.replaceAll(NAMES, ''))),
      name,
    ).toEqual([]);
  }
});

test('fields that many types have are in a group of the same name in each', () => {
  const groups: Readonly<Record<string, string>> = {
    timeout: 'Time and errors',
    connectTimeout: 'Time and errors',
    timeoutSeconds: 'Time and errors',
    retries: 'Time and errors',
    retryLimit: 'Time and errors',
    errorHandling: 'Time and errors',
    maxRows: 'Result',
    cacheSeconds: 'Result',
    tlsVerify: 'Certificate',
    sslVerify: 'Certificate',
    caCertificate: 'Certificate',
    orderBy: 'Processing',
    connectionName: 'Advanced',
  };
  const placed = forms.flatMap(({ name, uischema }) =>
    spotsIn(uischema ?? {}).map(({ scope, groups: around }) => ({
      name,
      around,
      field: scope.split('/').at(-1) ?? '',
    })),
  );
  const common = placed.filter(({ field, name }) => field in groups && !name.startsWith('widgets '));

  expect(new Set(common.map(({ field }) => field))).toEqual(new Set(Object.keys(groups)));
  expect(common.filter(({ field, around }) => around.join() !== groups[field])).toEqual([]);
});

/** Names of products and formats that are written like a field. */
const NAMES = /OAuth|GraphQL|JavaScript|JetStream|MySQL|PostgreSQL|QoS|DuckDB|SendGrid/g;

/** Words that add nothing to a title. */
const FILLERS = 'the a an of is for in it its to this that field value'.split(' ');

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\d]+/gu) ?? [];
}

function pathsOf(found: readonly Field[]): string[] {
  return [...new Set(found.map(({ path, field: { title, description } }) => `${path}: ${title} | ${description}`))];
}

type Route = (typeof routes)[number];

/** The last part of the path before `schemas`. */
function nameOf({ path }: Route): string {
  return path.split('/').at(-2) ?? '';
}

/** These routes answer from contracts alone. */
function answerOf(route: Route): Promise<unknown> {
  const { handle } = route as unknown as { handle(input: { query: object }): Promise<unknown> };
  return handle({ query: {} });
}

function formsIn(answer: unknown, name: string): Form[] {
  if (typeof answer !== 'object' || answer === null) return [];
  if ('schema' in answer) return [{ ...(answer as Omit<Form, 'name'>), name }];
  return Object.entries(answer).flatMap(([key, part]) => formsIn(part, `${name} ${key}`));
}

function fieldsIn(schema: Schema, path: string): Field[] {
  const own = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    path: `${path}.${name}`,
    name,
    field,
  }));
  const { anyOf = [], oneOf = [], allOf = [], items, then, additionalProperties, $defs = {} } = schema;
  const parts = [...anyOf, ...oneOf, ...allOf, items, then, additionalProperties, ...Object.values($defs)];
  return [
    ...own,
    ...own.flatMap(({ field, path: at }) => fieldsIn(field, at)),
    ...parts.flatMap((part) => (typeof part === 'object' ? fieldsIn(part as Schema, path) : [])),
  ];
}

/** Scopes of the fields that are no objects with fields of their own. */
function leavesIn({ properties = {}, allOf = [] }: Schema, scope: string): string[] {
  const own = Object.entries(properties).flatMap(([name, field]) => {
    const at = `${scope}/properties/${name}`;
    return field.properties ? leavesIn(field, at) : [at];
  });
  return [...own, ...allOf.flatMap(({ then }) => leavesIn((then ?? {}) as Schema, scope))];
}

interface Spot {
  scope: string;
  /** Labels of the groups around it. */
  groups: readonly string[];
}

function spotsIn({ scope, label, elements = [] }: Schema, groups: readonly string[] = []): Spot[] {
  if (typeof scope === 'string') return [{ scope, groups }];
  const around = typeof label === 'string' ? [...groups, label] : groups;
  return (elements as Schema[]).flatMap((element) => spotsIn(element, around));
}
