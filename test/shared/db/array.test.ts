import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonArray, textArray } from '#shared/db/array.ts';
import { testServers } from '../../support/environment.ts';

let client: pg.Client;
beforeAll(async () => {
  client = new pg.Client({ connectionString: testServers.databaseURL });
  await client.connect();
});
afterAll(() => client.end());

/** Made of what arrays, JSON and UTF-16 treat in a way of their own. Postgres stores no NUL and no half of a surrogate pair. */
const text = fc
  .array(
    fc.constantFrom('"', '\\', '{', '}', ',', ' ', 'NULL', '\n', '\t', '\u001f', '\u007f', '\u2028', 'ü', '😀', 'a'),
  )
  .map((parts) => parts.join(''));

test('an array of any texts arrives in Postgres as it is', async () => {
  const lists = fc.sample(fc.array(fc.option(text), { maxLength: 8 }), { numRuns: 300, seed: 7 });

  const { rows } = await client.query<{ list: (string | null)[] }>(
    'select list::text[] as list from unnest($1::text[]) with ordinality as given(list, n) order by n',
    [lists.map(textArray)],
  );

  expect(rows.map(({ list }) => list)).toEqual(lists);
  expect(lists.flat().some((item) => item?.includes('😀"'))).toBe(true);
});

test('an array of JSON arrives as it is, short or long', async () => {
  const values = fc.sample(fc.option(text), { numRuns: 50, seed: 8 });
  for (const more of [[], [`😀"${'ü\\'.repeat(30_000)}`]]) {
    const given = [...values, ...more, null].map((value) => (value === null ? null : JSON.stringify(value)));
    const parameter = jsonArray(given);
    expect(Buffer.isBuffer(parameter)).toBe(more.length > 0);
    const { rows } = await client.query<{ value: string | null }>(
      'select value::text from unnest($1::jsonb[]) as value',
      [parameter],
    );
    expect(rows.map(({ value }) => value)).toEqual(given);
  }
});
