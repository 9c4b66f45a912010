import { expect, test } from 'vitest';
import { exportFormats } from '#api/http/response/export-formats.ts';
import { neutralised } from '#shared/core/csv.ts';

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
    '-Infinity': '-Infinity',
    '-$1,234.50': '-$1,234.50',
    '-1.234,50 €': '-1.234,50 €',
    '-€5': '-€5',
    "-1'234.5": "-1'234.5",
    '-$1+1': "'-$1+1",
    '-A1': "'-A1",
    '+$1,23,4;-1': "'+$1,23,4;-1",
    '-infinity()': "'-infinity()",
    '=$5': "'=$5",
  };
  for (const [text, shown] of Object.entries(marked)) expect(neutralised(text), JSON.stringify(text)).toBe(shown);
  expect(neutralised({ a: ';=1+1;' })).toBe(`{"a":";'=1+1;"}`);
  expect([null, -1, true].map(neutralised)).toEqual([null, -1, true]);
});

test('CSV begins with a byte order mark if it is asked for', async () => {
  async function* batches() {
    yield [{ ä: 'ü' }];
  }
  const columns = [{ name: 'ä', type: 'text' }];
  const written = async (bom?: boolean) =>
    (
      await Array.fromAsync(exportFormats.csv.write(columns, batches(), { keepsFormulas: false, ...(bom && { bom }) }))
    ).join('');
  expect(await written(true)).toBe('\uFEFFä\r\nü\r\n');
  expect(await written()).toBe('ä\r\nü\r\n');
});

test('a value with a semicolon, a tab or a line end is one cell', async () => {
  async function* batches() {
    yield [{ a: 'x;y', b: 'x\ty', c: '\nx', d: 'plain' }];
  }
  const columns = ['a', 'b', 'c', 'd'].map((name) => ({ name, type: 'text' }));
  const parts = await Array.fromAsync(exportFormats.csv.write(columns, batches(), { keepsFormulas: false }));
  expect(parts.join('')).toBe('a,b,c,d\r\n"x;y","x\ty","\'\nx",plain\r\n');
});
