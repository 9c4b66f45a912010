import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { Permit, withReservation } from '#shared/concurrency/work-context.ts';
import { fileTypes } from '#shared/datasources/files/types.ts';
import { createReaders, type Readers } from '#workers/datasources/files/readers.ts';
import { testLogger } from '../../../support/environment.ts';
import { reservedBy } from '../../../support/reserved-bytes.ts';

const exec = promisify(execFile);
const endless = 'select sum(a.range * b.range) from range(10000000) a, range(10000000) b';

let folder: string;
let readers: Readers;
let stop: AbortController;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-test-'));
  await writeFile(join(folder, 'a.csv'), 'a\n1\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(() => {
  readers = createReaders(folder, testLogger, { maxAtOnce: 4, maxPerTenant: 2, idleMs: 60_000 });
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await readers[Symbol.asyncDispose]();
});

/** Runs the work as a worker does, in the flow of the tenant's creator. */
function read(flow: FlowKey, sql = 'select a from t') {
  const files = [{ path: join(folder, 'a.csv'), fileType: fileTypes.csv, name: 't' }];
  const request = { kind: 'duckdb' as const, files, sql, params: [], maxRows: 10 };
  return new Permit(createSemaphore({ permits: 1 }), flow).run(() =>
    readers.read({ tenantID: flow.tenantID, request, signal: stop.signal }),
  );
}

/** Processes of readers, oldest first. */
async function processes(): Promise<number[]> {
  const { stdout } = await exec('ps', ['-o', 'pid=,args=', '--sort=start_time', '--ppid', String(process.pid)]);
  const lines = stdout.split('\n').filter((line) => line.includes('files/reader/main.ts'));
  return lines.map((line) => Number.parseInt(line, 10));
}

test('a tenant reads at once while 25 tenants of one creator have 8 endless reads each', async () => {
  const slow = Array.from({ length: 25 * 8 }, (_, n) =>
    read({ tenantID: `busy ${n % 25}`, creatorID: 'ann' }, endless).catch((error: Error) => error.name),
  );

  expect(await read({ tenantID: 'own' })).toMatchObject({ data: [{ a: 1 }] });

  // Half of the processes for one creator, and not one of its reads has ended.
  expect(await processes()).toHaveLength(3);
  stop.abort();
  expect(new Set(await Promise.all(slow))).toEqual(new Set(['AbortError']));
});

test('a tenant in constant use keeps its process beside tenants that come and go', async () => {
  await read({ tenantID: 'own' });
  const [own] = await processes();

  for (let n = 0; n < 6; n += 1) {
    await read({ tenantID: `other ${n}` });
    await read({ tenantID: 'own' });
  }

  const all = await processes();
  expect(all).toHaveLength(4);
  expect(all).toContain(own);
});

test('a result counts in the memory budget of a worker before it is sent, and one that is too large is refused', async () => {
  const long = (length: number) => `select repeat('x', ${length}) as text from t`;
  const readAlone = (sql: string) => {
    const files = [{ path: join(folder, 'a.csv'), fileType: fileTypes.csv, name: 't' }];
    const request = { kind: 'duckdb' as const, files, sql, params: [], maxRows: 10 };
    return readers.read({ tenantID: 'tenant', request, signal: stop.signal });
  };

  expect(await reservedBy(() => readAlone(long(1_000_000)))).toBeGreaterThanOrEqual(1_000_000);

  const account = createMemoryBudget({ maxBytes: 1_000_000 });
  const flow = { tenantID: 'tenant' };
  using pinned = account.openReservation(flow);
  await expect(withReservation(flow, pinned, () => readAlone(long(1_000_000)))).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
  });
  expect(await readAlone('select a from t')).toMatchObject({ data: [{ a: 1 }] });
});
