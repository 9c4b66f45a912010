import { describe, expect, test } from 'vitest';
import { formOf, groupFields } from '#api/http/form.ts';
import type { Schema } from '#api/http/openapi/types.ts';
import { sharedFields } from '#shared/nodes/common.ts';
import { nodes } from '#shared/nodes/index.ts';

describe.each(nodes)('the form of $kind', ({ config, defaultValue }) => {
  const { schema, uischema } = groupFields(formOf(config), sharedFields);

  test('has a title and a description for every field, at any depth', () => {
    const fields = fieldsOf(schema, '');

    expect(fields.length).toBeGreaterThan(3);
    // Set both in the kind's contract: `.meta({ title, description })`, behind `.optional()` and `.default()`.
    expect(fields.filter(({ field }) => !field.title || !field.description).map(({ path }) => path)).toEqual([]);
    // A title that is the name of the field says nothing to a person.
    expect(fields.filter(({ field, path }) => path.endsWith(`.${field.title}`)).map(({ path }) => path)).toEqual([]);
  });

  test('shows every field once: what the node is called, then its own, then those of all kinds in groups', () => {
    const shown = scopesIn(uischema);
    const names = Object.keys(schema.properties ?? {});

    expect(shown).toEqual(names.map((name) => `#/properties/${name}`));
    expect(names.slice(0, 2)).toEqual(['title', 'description']);
    expect(names.slice(-2)).toEqual(['isDisabled', 'joinMode']);
    expect(names).toEqual(expect.arrayContaining(Object.keys(defaultValue)));
  });
});

interface Field {
  path: string;
  field: Schema;
}

function fieldsOf(schema: Schema, path: string): Field[] {
  const properties = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    path: `${path}.${name}`,
    field,
  }));
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? []), schema.items, schema.then];
  return [
    ...properties,
    ...properties.flatMap(({ field, path: at }) => fieldsOf(field, at)),
    ...parts.flatMap((part) => (part ? fieldsOf(part as Schema, path) : [])),
  ];
}

function scopesIn({ scope, elements = [] }: Schema): string[] {
  return typeof scope === 'string' ? [scope] : (elements as Schema[]).flatMap(scopesIn);
}
