import { expect, test } from 'vitest';
import type { Pool } from '#shared/db/pool.ts';
import { newID } from '#shared/ids.ts';
import { createRuns } from '#shared/runs.ts';
import { createSweep } from '#workers/engine/sweep.ts';
import { startDeployment } from '../../support/deployment.ts';
import { testLogger } from '../../support/environment.ts';
import { addWaitingRuns } from '../../support/waiting-runs.ts';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Plans?: PlanNode[];
}

const WAITING = 20_000;
/** Of the window, which is full, a statement may read every run: 1.25 runs for each of 50 slots. */
const MOST_ROWS = 300;

test('no statement of a round reads the runs that only wait', async () => {
  await using deployment = await startDeployment();
  const { pool, producer, backplane, config } = deployment;
  await addWaitingRuns(deployment, WAITING);
  await pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 50, 't')`,
    [newID()],
  );
  const rowsRead = new Map<string, number>();
  const explained = explaining(pool, rowsRead);
  const runs = createRuns({
    pool: explained,
    dispatchPool: explained,
    producer,
    messages: backplane.messages,
    logger: testLogger,
  });
  const { leaseMs } = config.worker;
  const options = { runs, producer, backplane, logger: testLogger, leaseMs };
  await using sweep = createSweep({ ...options, pool: explained, leasePool: explained, onPressure: () => undefined });

  // The first round has every step of the sweep, and the second finds the window full.
  for (let round = 0; round < 2; round += 1) await sweep.once();

  expect(rowsRead.size).toBeGreaterThan(10);
  expect([...rowsRead].filter(([, rows]) => rows > MOST_ROWS)).toEqual([]);
});

/** Explains each statement on rows that it then really finds, and counts what the plan has read; for repeated statements the most. */
function explaining(pool: Pool, rowsRead: Map<string, number>): Pool {
  return new Proxy(pool, {
    get(target, key) {
      if (key !== 'query') return Reflect.get(target, key, target);
      return async (statement: string | { text: string; values?: unknown[] }, parameters?: unknown[]) => {
        const text = typeof statement === 'string' ? statement : statement.text;
        const values = typeof statement === 'string' ? parameters : statement.values;
        const client = await target.connect();
        try {
          await client.query('begin');
          const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
            `explain (analyze, format json) ${text}`,
            values,
          );
          await client.query('rollback');
          const read = rows[0]?.['QUERY PLAN'][0]?.Plan;
          if (read) rowsRead.set(text, Math.max(rowsRead.get(text) ?? 0, rowsOf(read)));
        } finally {
          client.release();
        }
        return target.query(statement as string, parameters);
      };
    },
  });
}

function rowsOf(node: PlanNode): number {
  const rows = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  const own = node['Relation Name'] ? rows * node['Actual Loops'] : 0;
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), own);
}
