import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { withReservation } from '#shared/concurrency/work-context.ts';
import { newID } from '#shared/core/ids.ts';
import { postgresql } from '#shared/datasources/types/postgresql.ts';
import { type OpenedDatasource, openDatasource } from '#test/support/connector.ts';
import { testServers } from '#test/support/environment.ts';

const MB = 1_000_000;
const ANSWERS = 16;
const CELL = 20 * MB;

const options = { connectionOption: 'connectionString', connectionString: testServers.datasourceURL };
let datasources: OpenedDatasource[];
beforeAll(async () => {
  // Each belongs to a tenant of its own, so that none waits for a connection of another.
  datasources = await Promise.all(Array.from({ length: ANSWERS }, () => openDatasource(postgresql, options)));
});
afterAll(async () => {
  for (const datasource of datasources) await datasource[Symbol.asyncDispose]();
});

function readCell(datasource: OpenedDatasource, bytes: number): Promise<unknown> {
  const query = `select repeat('x', ${bytes}) as cell`;
  return datasource.execute({ query }, {}, { signal: AbortSignal.timeout(50_000) });
}

/** Bytes that the process takes more at most while the work goes on. */
async function growthOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 2);
  try {
    await work();
    return most - before;
  } finally {
    clearInterval(timer);
  }
}

test('concurrent answers take no more memory than the budget, and all of them arrive', async () => {
  const account = createMemoryBudget({ maxBytes: 50 * MB, maxWaitMs: 50_000 });
  const growth = await growthOf(() =>
    Promise.all(
      datasources.map(async (datasource) => {
        const flow = { tenantID: newID() };
        using reserved = account.openReservation(flow);
        await withReservation(flow, reserved, () => readCell(datasource, CELL));
      }),
    ),
  );

  expect(account.used).toBe(0);
  // The driver's buffer and the text of a cell are in memory together: 150 to 210 MB. Without the limit it is 450 MB and more.
  expect(growth).toBeLessThan(300 * MB);
});

test('an answer larger than one request may reserve is refused before it arrives', async () => {
  const account = createMemoryBudget({ maxBytes: 50 * MB });
  await using datasource = await openDatasource(postgresql, options);
  const growth = await growthOf(async () => {
    const flow = { tenantID: newID() };
    using reserved = account.openReservation(flow);
    await expect(withReservation(flow, reserved, () => readCell(datasource, 100 * MB))).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: expect.stringContaining('HELD_MAX_BYTES'),
    });
  });

  expect(growth).toBeLessThan(30 * MB);
  expect(account.used).toBe(0);
});
