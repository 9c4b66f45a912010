/** The fields of forms by schema that take an id or JSON: those that the guide names, and no others. */
import { readFileSync } from 'node:fs';
import { Resolve } from '@jsonforms/core';
import { expect, test } from 'vitest';
import { formOf, joinForms } from '#api/http/forms/form.ts';
import { fieldKindOf } from '#ops/console/ui/field-kind.ts';
import {
  type Form,
  hasFields,
  itemsOf,
  type Layout,
  layoutOf,
  referenceOf,
  type Schema,
} from '#ops/console/ui/schema-shape.ts';
import { QueryOptions } from '#shared/datasources/queries/options.ts';
import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import { datasources } from '#shared/datasources/types/index.ts';
import { actions } from '#shared/triggers/listeners/actions.ts';
import type { ListenerDefinition } from '#shared/triggers/listeners/types/define-listener.ts';
import { listeners } from '#shared/triggers/listeners/types/index.ts';
import { sharedFields } from '#shared/workflow/nodes/common.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';

const sources: readonly DatasourceDefinition[] = datasources;
const listened: readonly ListenerDefinition[] = listeners;
const forms: readonly [of: string, form: Form][] = [
  ...nodes.map((node): [string, Form] => [`step ${node.kind}`, formOf(node.config, sharedFields(node))]),
  ...sources.map(({ type, options }): [string, Form] => [`datasource ${type}`, formOf(options)]),
  ...sources
    .filter(({ listensOnly }) => !listensOnly)
    .map(({ type, query }): [string, Form] => [`query ${type}`, joinForms(formOf(query), formOf(QueryOptions))]),
  ...listened.map(({ type, config }): [string, Form] => [`listener ${type}`, formOf(config)]),
  ...actions.map(({ type, config }): [string, Form] => [`action ${type}`, formOf(config)]),
];

interface Field {
  path: string;
  schema: Schema;
}

/** Every field of a form, those within groups and lists too. */
function fieldsOf({ schema: root, uischema }: { schema: object; uischema: object }, path = ''): Field[] {
  return scopesIn(uischema as Layout).flatMap((scope) => {
    const schema = Resolve.schema(root, scope, root) as Schema;
    const at = `${path}${scope.split('/properties/').slice(1).join('.')}`;
    const items = itemsOf(schema);
    if (items && hasFields(items)) return fieldsOf({ schema: items, uischema: layoutOf(items) }, `${at}[].`);
    if (hasFields(schema)) return fieldsOf({ schema, uischema: layoutOf(schema) }, `${at}.`);
    return { path: at, schema };
  });
}

function scopesIn({ scope, elements = [] }: Layout): string[] {
  return [...(scope === undefined ? [] : [scope]), ...elements.flatMap(scopesIn)];
}

/** The fields that the tables of the guide name, as `step http: body`. */
function namedInGuide(): string[] {
  const page = readFileSync(new URL('../../ops/guides/ids-and-json.md', import.meta.url), 'utf8');
  const [, part = ''] = /^## Forms by schema$(.*?)^## /ms.exec(page) ?? [];
  return [...part.matchAll(/^\| (`.*?) \| (.*?) \|/gm)].flatMap(([, fields = '', of = '']) =>
    of.split(', ').flatMap((one) => namesIn(fields).map((field) => `${one.replaceAll('`', '')}: ${field}`)),
  );
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

test('fields of forms by schema that take JSON are those that the guide gives a reason for', () => {
  const drawn = forms.flatMap(([of, form]) =>
    fieldsOf(form)
      // They have a list of their own, with a field by the type of each.
      .filter(({ path }) => !path.startsWith('inputDefinitions'))
      .filter(({ schema }) => schema.deprecated !== true && fieldKindOf(schema) === 'json')
      .map(({ path }) => `${of}: ${path}`),
  );

  expect([...new Set(drawn)].sort()).toEqual(namedInGuide().sort());
});

test('every field for an id says what the id names, so that it is a choice by title', () => {
  const ids = forms.flatMap(([of, form]) =>
    fieldsOf(form)
      .filter(({ schema }) => schema.format === 'uuid')
      .map((field) => ({ of, ...field })),
  );

  expect(ids.length).toBeGreaterThan(3);
  expect(ids.filter(({ schema }) => !referenceOf(schema))).toEqual([]);
});

test('a field is chosen by the values that it takes', () => {
  const text = { type: 'string' };
  const consts = [0, 1].map((value) => ({ type: 'number', const: value }));
  const named = { type: 'object', additionalProperties: {} };

  expect(
    fieldKindOf({
      anyOf: [
        { type: 'string', const: '' },
        { type: 'string', format: 'uri' },
      ],
    }),
  ).toBe('text');
  expect(fieldKindOf({ anyOf: consts })).toBe('choice');
  expect(fieldKindOf({ anyOf: [text, { type: 'array', items: text }] })).toBe('one or many');
  expect(fieldKindOf({ anyOf: [text, { type: 'array', items: { type: 'number' } }] })).toBe('json');
  expect(fieldKindOf({ anyOf: [text, { type: 'number' }] })).toBe('json');
  expect(fieldKindOf({ type: 'array', items: { anyOf: [text, named] } })).toBe('list');
  expect(fieldKindOf(named)).toBe('named values');
  expect(fieldKindOf({ ...named, contentMediaType: 'application/json' })).toBe('json');
  expect(fieldKindOf({ type: 'object' })).toBe('json');
});
