import { describe, expect, test } from 'vitest';
import { formOf } from '#api/http/forms/form.ts';
import type { Schema } from '#api/http/openapi/types.ts';
import { sharedFields } from '#shared/workflow/nodes/common.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';

describe.each(nodes)('the form of $kind', ({ config, defaultValue }) => {
  const { schema, uischema } = formOf(config, sharedFields);

  test('shows every field once: what the node is called, then its own, then those of all kinds in groups', () => {
    const shown = scopesIn(uischema);
    const names = Object.keys(schema.properties ?? {});

    expect(shown).toEqual(names.map((name) => `#/properties/${name}`));
    expect(names.slice(0, 2)).toEqual(['title', 'description']);
    expect(names.slice(-2)).toEqual(['isDisabled', 'joinMode']);
    expect(names).toEqual(expect.arrayContaining(Object.keys(defaultValue)));
  });
});

function scopesIn({ scope, elements = [] }: Schema): string[] {
  return typeof scope === 'string' ? [scope] : (elements as Schema[]).flatMap(scopesIn);
}
