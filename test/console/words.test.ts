/** Texts of the server, and numbers with their nouns. */
import { expect, test } from 'vitest';
import { bytesText } from '#ops/console/ui/bytes.ts';
import { countOf } from '#ops/console/ui/count.ts';
import { wordsOfName } from '#ops/console/ui/field-words.ts';
import { partsOf } from '#ops/console/ui/parts-of.ts';

test('a text of the server has codes, moments and words', () => {
  const text = 'waits until 2026-03-05T15:05:12.530Z: call `T/x?from=2026-03-05T15:05Z` with `a`.';

  expect(partsOf(text).map(({ kind, text: part }) => [kind, part])).toEqual([
    ['words', 'waits until '],
    ['moment', '2026-03-05T15:05:12.530Z'],
    ['words', ': call '],
    ['code', 'T/x?from=2026-03-05T15:05Z'],
    ['words', ' with '],
    ['code', 'a'],
    ['words', '.'],
  ]);
});

test.each([
  'no backtick, and ` one alone',
  '`` nothing between',
  '2026-13-45T99:99Z is no moment',
  'id-2026-03-05T15:05:12Zulu',
])('%s is shown as it is', (text) => {
  expect(partsOf(text)).toEqual([{ kind: 'words', text: expect.any(String) }]);
  expect(partsOf(text)[0]?.text).toBe(text);
});

test('nothing has no parts', () => {
  expect(partsOf('')).toEqual([]);
});

test('one is not several', () => {
  expect([0, 1, 2].map((count) => countOf(count, 'row'))).toEqual(['0 rows', '1 row', '2 rows']);
  expect([1, 1_200].map((count) => countOf(count, 'entry', 'entries'))).toEqual(['1 entry', '1,200 entries']);
});

test('a name of the API is told in words, with short forms in capitals', () => {
  const names = ['aiTokensPerDay', 'delete_workflow', 'listOauthConnections', 'dataQueryID', 'apiKeys', 'said'];
  const words = ['AI tokens per day', 'Delete workflow', 'List OAuth connections', 'Data query ID', 'API keys', 'Said'];
  expect(names.map(wordsOfName)).toEqual(words);
});

test('a size is told in the largest unit that it fills', () => {
  expect([0, 18, 1_536, 2_097_152].map(bytesText)).toEqual(['0 B', '18 B', '1.5 kB', '2.0 MB']);
});
