import { expect, test } from 'vitest';
import { cleanFileName } from '#shared/datasources/files/file-name.ts';

const FAMILY = '👩‍👩‍👧';
const ENGLAND = '\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}';

test.each([
  [`${FAMILY}.csv`, `${FAMILY}.csv`],
  ['می\u200Cخواهم.csv', 'می\u200Cخواهم.csv'],
  [`${ENGLAND}.png`, `${ENGLAND}.png`],
  ['a\u202Egpj.csv', 'agpj.csv'],
  ['a/b\\c\0\u200B.csv', 'abc.csv'],
  ['\u0007', 'file'],
  [`${'x'.repeat(300)}.csv`, `${'x'.repeat(251)}.csv`],
  [`${'x'.repeat(245)}${FAMILY}.csv`, `${'x'.repeat(245)}.csv`],
  [`${'x'.repeat(254)}😀`, 'x'.repeat(254)],
  [`${'x'.repeat(300)}. no extension`, 'x'.repeat(255)],
])('the name %j of a file is %j', (name, expected) => {
  expect(cleanFileName(name)).toBe(expected);
});
