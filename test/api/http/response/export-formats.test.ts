import { expect, test } from 'vitest';
import { exportFormats, neutralised } from '#api/http/response/export-formats.ts';

test('no text begins a cell with a formula, however a spreadsheet separates cells', () => {
  const marked = {
    '=1+1': "'=1+1",
    '\n=1+1': "'\n'=1+1",
    '\t@a': "'\t'@a",
    '＝1': "'＝1",
    'a;=cmd();b': "a;'=cmd();b",
    'a; +1+1': "a; '+1+1",
    'a;"=1+1': `a;"'=1+1`,
    'a\n-1-1\tb\t@x': "a\n'-1-1\tb\t'@x",
    '1;-5;+2.5': '1;-5;+2.5',
    '-5': '-5',
    'a=b, c@d;e': 'a=b, c@d;e',
  };
  for (const [text, shown] of Object.entries(marked)) expect(neutralised(text), JSON.stringify(text)).toBe(shown);
  expect(neutralised({ a: ';=1+1;' })).toBe(`{"a":";'=1+1;"}`);
  expect([null, -1, true].map(neutralised)).toEqual([null, -1, true]);
});

test('a value with a semicolon, a tab or a line end is one cell', async () => {
  async function* batches() {
    yield [{ a: 'x;y', b: 'x\ty', c: '\nx', d: 'plain' }];
  }
  const columns = ['a', 'b', 'c', 'd'].map((name) => ({ name, type: 'text' }));
  const parts = await Array.fromAsync(exportFormats.csv.write(columns, batches(), { keepsFormulas: false }));
  expect(parts.join('')).toBe('a,b,c,d\r\n"x;y","x\ty","\'\nx",plain\r\n');
});
