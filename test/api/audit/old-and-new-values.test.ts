import { expect, test } from 'vitest';
import { sidesOf } from '#api/audit/old-and-new-values.ts';

const long = (end: string) => `${'a'.repeat(5_000)}${end}${'b'.repeat(5_000)}`;
/** As a flush has it, and as a statement of our own. */
const forms = [
  (text: string) => ({ value: { query: text } }),
  (text: string) => ({ json: JSON.stringify({ query: text }) }),
];

test('two sides that are too large are shown where they begin to differ', () => {
  for (const side of forms) {
    const { from, to } = sidesOf('options', { from: side(long('ONE')), to: side(long('OTHER!')) });
    expect(from).toEqual({ _truncated: expect.stringMatching(/^a{199,}ONEb+$/), _from: 4_811, _length: 10_015 });
    expect(to).toEqual({ _truncated: expect.stringMatching(/^a{199,}OTHER!b+$/), _from: 4_811, _length: 10_018 });
    expect(JSON.stringify([from, to]).length).toBeLessThan(4_000);
  }
});

test('a side that is small is shown whole, also beside a large one', () => {
  const { from, to } = sidesOf('text', { from: { value: 'aaa' }, to: { value: long('!') } });
  expect(from).toBe('aaa');
  expect(to).toMatchObject({ _from: 0, _length: 10_003 });
  expect(sidesOf('n', { to: { value: 1 } })).toEqual({ to: 1 });
  expect(sidesOf('n', { from: { value: undefined }, to: { value: 1 } })).toEqual({ from: null, to: 1 });
});

test('what is shown around a difference has no secrets', () => {
  const side = (password: string, more: string) => ({
    value: { text: 'a'.repeat(3_000), password, url: `https://ann:${password}@host/${more}` },
  });
  const shown = sidesOf('options', { from: side('sesame', 'one'), to: side('open', 'other') });
  expect(JSON.stringify(shown)).toMatch(/\[REDACTED\]@host\/one.*\[REDACTED\]@host\/other/);
  expect(JSON.stringify(shown)).not.toMatch(/sesame|open/);
  const secret = sidesOf('password', { from: { value: long('1') }, to: { value: long('2') } });
  expect(secret).toEqual({ from: '[REDACTED]', to: '[REDACTED]' });
});
