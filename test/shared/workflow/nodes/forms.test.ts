import { describe, expect, test } from 'vitest';
import { formOf } from '#api/http/forms/form.ts';
import type { Schema } from '#api/http/openapi/types.ts';
import { sharedFields } from '#shared/workflow/nodes/common.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';

describe.each(nodes)('the form of $kind', (node) => {
  const { config, defaultValue } = node;
  const { schema, uischema } = formOf(config, sharedFields(node));

  test('shows every field once: its own, what it is called, which comes first where people are asked, then those of all kinds in groups', () => {
    const shown = scopesIn(uischema);
    const names = Object.keys(schema.properties ?? {});

    expect(shown).toEqual(names.map((name) => `#/properties/${name}`));
    const asks = 'asks' in node;
    const called = names.indexOf('title');
    expect(names.slice(called, called + 2)).toEqual(['title', 'description']);
    const grouped = [
      'timeoutSeconds',
      'retryLimit',
      'retryDelaySeconds',
      'retryOn',
      'errorHandling',
      'isDisabled',
      'joinMode',
    ];
    const own = names.filter((name) => ![...grouped, 'title', 'description'].includes(name));
    expect(called).toBe(asks ? 0 : own.length);
    expect(names.slice(-2)).toEqual(['isDisabled', 'joinMode']);
    expect(names).toEqual(expect.arrayContaining(Object.keys(defaultValue)));
  });
});

function scopesIn({ scope, elements = [] }: Schema): string[] {
  return typeof scope === 'string' ? [scope] : (elements as Schema[]).flatMap(scopesIn);
}
