import { expect, test } from 'vitest';
import { passedError } from '#shared/workflow/run-error.ts';

test('what later nodes see of an error has its place, and a message of a bounded length', () => {
  const frame = [{ nodeID: 'loop', iteration: 2 }];
  const cause = { code: 'NODE_FAILED', message: 'no luck' };

  const long = passedError({ code: 'X', message: '𝄞'.repeat(1_500), cause }, { nodeID: 'a', frame, attempt: 3 });
  const odd = passedError({ code: 'X', message: `x${'𝄞'.repeat(1_500)}` }, { nodeID: 'a', frame, attempt: 3 });

  expect(long).toEqual({ code: 'X', message: '𝄞'.repeat(1_000), nodeID: 'a', attempt: 3, frame, cause });
  expect(odd.message).toBe(`x${'𝄞'.repeat(999)}\uFFFD`);
});
