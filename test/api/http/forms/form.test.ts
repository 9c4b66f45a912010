import { expect, test } from 'vitest';
import { z } from 'zod';
import { formOf, joinForms } from '#api/http/forms/form.ts';
import type { Schema } from '#api/http/openapi/types.ts';
import { Json, JsonObject } from '#shared/core/json.ts';
import { secret } from '#shared/core/schema/secret.ts';

const address = z.object({ host: z.string().meta({ title: 'Host' }), token: secret(z.string()).optional() });

test('each field has a control: an object a group, a secret a password, a long text several lines, code its language', () => {
  const { uischema } = formOf(
    z.object({
      place: address.meta({ title: 'Place' }),
      line: z.string().max(10_000),
      text: z.string().max(20_000).default(''),
      code: z.string().max(20_000).meta({ contentMediaType: 'text/javascript' }),
      sent: Json.default(null).meta({ contentMediaType: 'application/json' }),
      more: JsonObject.optional(),
    }),
  );

  expect(uischema).toEqual({
    type: 'VerticalLayout',
    elements: [
      {
        type: 'Group',
        label: 'Place',
        elements: [
          { type: 'Control', scope: '#/properties/place/properties/host' },
          { type: 'Control', scope: '#/properties/place/properties/token', options: { format: 'password' } },
        ],
      },
      { type: 'Control', scope: '#/properties/line' },
      { type: 'Control', scope: '#/properties/text', options: { multi: true } },
      { type: 'Control', scope: '#/properties/code', options: { multi: true, language: 'javascript' } },
      { type: 'Control', scope: '#/properties/sent', options: { language: 'json' } },
      { type: 'Control', scope: '#/properties/more', options: { language: 'json' } },
    ],
  });
});

test('a union is one field of choices, and the fields of a choice are shown when it is chosen', () => {
  const { schema, uischema } = formOf(
    z.discriminatedUnion('by', [
      z.object({ by: z.literal('place').meta({ title: 'By', 'x-enumNames': ['A place'] }), place: address }),
      z.object({ by: z.literal('url').meta({ 'x-enumNames': ['A URL'] }), url: secret(z.string()) }),
    ]),
  );

  expect(schema).toMatchObject({
    type: 'object',
    properties: { by: { title: 'By', enum: ['place', 'url'], 'x-enumNames': ['A place', 'A URL'] } },
    required: ['by'],
    allOf: [
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      { if: { properties: { by: { const: 'place' } } }, then: { required: ['place'] } },
      {
        if: { properties: { by: { const: 'url' } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { properties: { url: { 'x-secret': true } }, required: ['url'] },
      },
    ],
  });
  expect(schema).not.toHaveProperty('oneOf');
  expect(uischema.elements).toMatchObject([
    { type: 'Control', scope: '#/properties/by' },
    {
      type: 'Control',
      scope: '#/properties/place/properties/host',
      rule: { effect: 'SHOW', condition: { scope: '#/properties/by', schema: { const: 'place' } } },
    },
    { type: 'Control', scope: '#/properties/place/properties/token', rule: { effect: 'SHOW' } },
    { type: 'Control', scope: '#/properties/url', options: { format: 'password' }, rule: { effect: 'SHOW' } },
  ]);
});

test('fields of groups come last, whether the form has them, or an object of them, or a choice', () => {
  const limits = z.object({ seconds: z.number(), tries: z.number() });
  const { schema, uischema } = formOf(
    z.object({
      tries: z.number(),
      place: address.meta({ title: 'Place' }),
      limits: limits.optional(),
      note: z.string(),
    }),
    { first: ['note'], groups },
  );
  expect(Object.keys(schema.properties ?? {})).toEqual(['note', 'place', 'limits', 'tries']);
  expect(outlineOf(uischema)).toEqual([
    'note',
    { Place: ['place.host', 'place.token'] },
    { Limits: ['limits.seconds', 'limits.tries', 'tries'] },
  ]);

  const byChoice = formOf(
    z.discriminatedUnion('by', [
      z.object({ by: z.literal('place'), place: address.extend({ limits }) }),
      z.object({ by: z.literal('url'), tries: z.number(), url: z.string() }),
    ]),
    { groups },
  );
  // A group for each choice: one alone would be empty where its fields are hidden.
  expect(outlineOf(byChoice.uischema)).toEqual([
    'by',
    'place.host if place',
    'place.token if place',
    'url if url',
    { 'Limits if place': ['place.limits.seconds', 'place.limits.tries'] },
    { 'Limits if url': ['tries'] },
  ]);
});

const groups = [{ label: 'Limits', fields: ['seconds', 'tries'] }];

type Outline = string | Record<string, unknown>;

function outlineOf({ elements = [] }: Schema): Outline[] {
  return (elements as Schema[]).map((element) => {
    const { scope, label, rule } = element as { scope?: string; label?: string; rule?: Rule };
    const when = rule ? ` if ${rule.condition.schema.const}` : '';
    if (scope === undefined) return { [`${label}${when}`]: outlineOf(element) };
    return scope.replace('#/properties/', '').replaceAll('/properties/', '.') + when;
  });
}

interface Rule {
  condition: { schema: { const: string } };
}

test('a union without a discriminating field is not changed', () => {
  const { schema } = formOf(z.object({ value: z.union([z.string(), z.array(z.string())]) }));
  expect(schema.properties?.value?.anyOf).toEqual([{ type: 'string' }, { type: 'array', items: { type: 'string' } }]);
});

test('of two merged forms, the fields of the first come first and override the second', () => {
  const { schema, uischema } = joinForms(
    formOf(z.object({ query: z.string(), both: z.string() })),
    formOf(z.object({ both: z.number(), seconds: z.number().default(60) })),
  );

  expect(Object.keys(schema.properties ?? {})).toEqual(['query', 'both', 'seconds']);
  expect(schema.properties?.both).toEqual({ type: 'string' });
  expect(schema.required).toEqual(['query', 'both']);
  expect(uischema.elements).toHaveLength(3);
});

test('a schema is described once, however often its form is asked for', () => {
  const schema = z.object({ query: z.object({ text: z.string() }) });
  const query = () => formOf(schema).schema.properties?.query;

  expect(query()).toBe(query());
});
