import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { writeJSON } from '#shared/concurrency/write-json.ts';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { createClaims } from '#workers/engine/claim/claim.ts';
import type { ClaimRow } from '#workers/engine/state/claimed-row.ts';
import { createWithInput } from '#workers/engine/values/large-inputs.ts';

let deployment: Deployment;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  const end = { type: 'end', outputParameters: [{ name: 'length', sourceVariable: '{{ctx.length}}' }] };
  const length = code('return ctx.input.text.length', { outputVariable: 'length' });
  versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, length, end }, ['start>length', 'length:success>end']),
  );
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** Does not compress to less than half. */
const text = (length: number) => randomBytes(length / 2).toString('hex');

async function claimed(length: number): Promise<ClaimRow> {
  const { pool, runs, newRun } = deployment;
  const { instanceID } = await runs.accept(newRun(versionID, { text: text(length) }));
  const row = await createClaims(pool, newID).claim({ instanceID, epoch: 1 });
  return row ?? expect.fail('not claimed');
}

test('a claim leaves large inputs out, and they are read for one run of a creator at a time', async () => {
  const withInput = createWithInput(deployment.pool);
  const small = await claimed(1_000);
  const large = await Promise.all([claimed(200_000), claimed(200_000), claimed(200_000)]);
  expect([small, ...large].map(({ input }) => input !== null)).toEqual([true, false, false, false]);
  const [first, second, third] = large as [ClaimRow, ClaimRow, ClaimRow];
  const lengths: number[] = [];
  const entering = Promise.withResolvers<void>();
  const load = ({ input }: { input: { text?: unknown } }) => void lengths.push(String(input.text).length);

  const isFirstIn = withInput(first, 'one', async (row) => {
    load(row);
    await entering.promise;
    return true;
  });
  await eventually(() => expect(lengths).toEqual([200_000]));
  const isSecondIn = withInput(second, 'one', async (row) => load(row) ?? true);
  const ofAnother = withInput(third, 'another', async (row) => load(row) ?? true);
  const ofSmall = withInput(small, 'one', async (row) => load(row) ?? true);
  expect(await Promise.all([ofAnother, ofSmall])).toEqual([true, true]);
  // In vain: its turn does not come in time.
  expect(await isSecondIn).toBeUndefined();

  entering.resolve();
  expect(await isFirstIn).toBe(true);
  expect(await withInput(second, 'one', async (row) => load(row) ?? true)).toBe(true);
  expect(lengths.toSorted((a, b) => a - b)).toEqual([1_000, 200_000, 200_000, 200_000]);
});

test('runs with large inputs that are claimed together have them', async () => {
  const { runs, newRun } = deployment;
  const inputs = Array.from({ length: 8 }, (_, index) => ({ text: text(400_000 + 2 * index) }));
  const ids = await runs.acceptMany(inputs.map((input) => newRun(versionID, input)));
  await deployment.startWorker();

  for (const [index, id] of ids.entries())
    await eventually(async () =>
      expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED', output: { length: 400_000 + 2 * index } }),
    );
});

test('a large input is parsed and written in pieces', async () => {
  const { runs, newRun } = deployment;
  const input = { text: 'abc', long: 'ab"'.repeat(200_000), list: Array.from({ length: 100_000 }, () => ({})) };
  await writeJSON(input);
  using parse = vi.spyOn(JSON, 'parse');
  using stringify = vi.spyOn(JSON, 'stringify');
  const { instanceID } = await runs.accept(newRun(versionID, input));
  await eventually(async () =>
    expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED', output: { length: 3 } }),
  );

  // A long text is parsed at once, which is fast.
  const read = parse.mock.calls.filter(([text]) => !text.includes('ab\\"'));
  const texts = [...read.map(([text]) => text), ...stringify.mock.results.map(({ value }) => value)];
  expect(Math.max(...texts.map((text) => text?.length ?? 0))).toBeLessThan(150_000);
});
