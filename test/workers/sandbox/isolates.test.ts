import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Runs the script like a host: isolated-vm needs a flag that this process does not have. */
async function inHost(script: string): Promise<unknown> {
  const source = `
    import { createIsolates } from '#workers/sandbox/isolates.ts';
    const isolates = createIsolates(() => {});
    const jobOf = (tenantID, memoryMB = 128, code = 'return 1') =>
      ({ id: 1, tenantID, code, names: [], args: '[]', timeoutMs: 1000, memoryMB, maxOutputBytes: 1000 });
    const run = (isolate, job) => isolate.run(job, () => 1000);
    const answer = await (async () => { ${script} })();
    process.stdout.write(JSON.stringify(answer), () => process.exit());`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-node-snapshot', '--input-type=module', '--eval', source],
    { cwd: new URL('../../..', import.meta.url) },
  );
  return JSON.parse(stdout);
}

test('an isolate is reused for the tenant it was made for, and for no other', async () => {
  const answer = await inHost(`
    const first = isolates.take(jobOf('a'));
    await run(first, jobOf('a'));
    isolates.give(first);
    const other = isolates.take(jobOf('b'));
    const small = isolates.take(jobOf('a', 16));
    const again = isolates.take(jobOf('a'));
    const second = isolates.take(jobOf('a'));
    return [again === first, other === first, small === first, second === first];`);

  expect(answer).toEqual([true, false, false, false]);
});

test('beyond 32 isolates the one idle longest is disposed', async () => {
  const answer = await inHost(`
    const all = Array.from({ length: 40 }, (_, i) => isolates.take(jobOf('t' + i)));
    for (const isolate of all) isolates.give(isolate);
    return all.map((isolate) => isolate.isDisposed);`);

  expect(answer).toEqual(Array.from({ length: 40 }, (_, i) => i < 8));
});

test('an isolate with a large heap after a call is not kept', async () => {
  const answer = await inHost(`
    const job = jobOf('a', 128, 'globalThis.big = new Array(6e6).fill(1.5); return 1');
    const isolate = isolates.take(job);
    const outcome = await run(isolate, job);
    isolates.give(isolate);
    return [outcome.kind, isolate.isDisposed, isolates.take(jobOf('a')) === isolate];`);

  expect(answer).toEqual(['value', true, false]);
});

test('many scripts run in one isolate', async () => {
  const answer = await inHost(`
    const isolate = isolates.take(jobOf('a'));
    const values = [];
    for (let i = 0; i < 60; i += 1) values.push((await run(isolate, jobOf('a', 128, 'return ' + (i % 25)))).json);
    return values;`);

  expect(answer).toEqual(Array.from({ length: 60 }, (_, i) => String(i % 25)));
});
