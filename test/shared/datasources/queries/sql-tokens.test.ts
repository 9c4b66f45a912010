import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tokenize } from '#shared/datasources/queries/sql-tokens.ts';
import type { Dialect } from '#shared/datasources/types/define-datasource.ts';

const read = (sql: string, dialect: Dialect) =>
  [...tokenize(sql, dialect)]
    .filter(({ kind }) => kind !== 'space')
    .map(({ kind, text, isClosed }) => `${kind} ${text}${isClosed ? '' : ' …'}`);

const atoms = [
  "'",
  '"',
  '`',
  '[',
  ']',
  '\\',
  '--',
  '/*',
  '*/',
  '#',
  '\n',
  '\r',
  '$',
  '$a$',
  'E',
  'U&',
  ' ',
  'a1',
  'é',
  ';',
];
const dialects: readonly Dialect[] = ['postgresql', 'mysql', 'sqlite', 'duckdb'];

test('the tokens together are the original SQL, for any text', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...atoms), { maxLength: 30 }),
      fc.constantFrom(...dialects),
      (parts, dialect) => {
        const sql = parts.join('');
        const tokens = [...tokenize(sql, dialect)];

        expect(tokens.map(({ text }) => text).join('')).toBe(sql);
        expect(tokens.slice(0, -1).every(({ isClosed }) => isClosed)).toBe(true);
      },
    ),
    { numRuns: 2_000 },
  );
});

test.each<[string, Dialect, string[]]>([
  ["'it''s' x", 'postgresql', ["string 'it''s'", 'word x']],
  ["'a\\' x", 'postgresql', ["string 'a\\'", 'word x']],
  ["E'a\\' x' y", 'postgresql', ["string E'a\\' x'", 'word y']],
  ["'a\\' x' y", 'mysql', ["string 'a\\' x'", 'word y']],
  ['"a""b" \'c\'', 'postgresql', ['name "a""b"', "string 'c'"]],
  ['"a" `b``c`', 'mysql', ['string "a"', 'name `b``c`']],
  ['[a]] b', 'sqlite', ['name [a]', 'mark ]', 'word b']],
  ['U&"a" u&\'b\'', 'postgresql', ['name U&"a"', "string u&'b'"]],
  ['$a$ x $b$ $a$ y', 'postgresql', ['dollar $a$ x $b$ $a$', 'word y']],
  ['a$b$c', 'postgresql', ['word a$b$c']],
  ['$1', 'postgresql', ['mark $', 'word 1']],
  ['$a$', 'mysql', ['mark $', 'word a$']],
  ['/* a /* b */ c */ d', 'postgresql', ['comment /* a /* b */ c */', 'word d']],
  ['/* a /* b */ c', 'mysql', ['comment /* a /* b */', 'word c']],
  ['-- a\rb', 'postgresql', ['comment -- a', 'word b']],
  ['-- a\rb\nc', 'sqlite', ['comment -- a\rb', 'word c']],
  ['# a\nb', 'mysql', ['comment # a', 'word b']],
  ["'open", 'postgresql', ["string 'open …"]],
  ["E'open\\", 'postgresql', ["string E'open\\ …"]],
  ['/* open', 'postgresql', ['comment /* open …']],
  ['$$ open $', 'postgresql', ['dollar $$ open $ …']],
  ["x'", 'mysql', ['word x', "string ' …"]],
])('%s (%s)', (sql, dialect, tokens) => {
  expect(read(sql, dialect)).toEqual(tokens);
});
