import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLane, IN_ORDER } from '#shared/concurrency/semaphore.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { tenantDatabase } from '#shared/messaging/queues/tenant-database.ts';
import { createAsking } from '#shared/messaging/rpc.ts';
import { readConfig } from '#shared/process/config.ts';
import { startPostgres } from '../embedded/postgres.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Figure } from './row.ts';

const TENANTS = Number(process.env.CROWD_TENANTS ?? 300);
const MAX_CONNECTIONS = Number(process.env.CROWD_MAX_CONNECTIONS ?? 200);
const ROUNDS = 5;
const AT_ONCE = 2;
const WORK = 'select pg_sleep(0.2)';

/**
 * Tenants that are all at work on one server with fewer connections, by two workers of which each may have three quarters of them.
 * Value: the slowest answer of all; floor: the median. Every question has to be answered.
 */
export async function crowd(environment: BenchEnvironment): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-bench-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const server = resources.use(
    await startPostgres({
      dir: join(dir, 'tenants'),
      log: join(dir, 'log'),
      database: 'postgres',
      settings: { max_connections: String(MAX_CONNECTIONS), reserved_connections: '5' },
      forTenants: true,
    }),
  );
  const config = readConfig(environment.env);
  const logger = createLogger({ level: 'warn' });
  const secrets = createKeyRing(config.secrets.keys);
  const backplane = resources.use(await createBackplane(config.backplane, logger));
  const { pool } = environment;
  const asking = resources.use(createAsking({ backplane, producer: createProducer(backplane), pool, secrets, logger }));
  for (let n = 0; n < 2; n += 1)
    await environment.startWorker({
      TENANT_DATABASES_URL: `one=${server.url}`,
      TENANT_DATABASES_CONNECTIONS: String(Math.round(MAX_CONNECTIONS * 0.75)),
    });
  const { rows } = await pool.query<{ id: string }>(
    `insert into tenant (id, tenant_title, creator_id) select gen_random_uuid(), 'T', gen_random_uuid() from generate_series(1, $1) returning id`,
    [TENANTS],
  );
  const execute = (tenantID: string, sql: string) =>
    asking.ask(
      tenantDatabase,
      {
        tenantID,
        operation: { kind: 'executeSQL', sql, params: [], readOnly: false, timeoutSeconds: 60, maxRows: 1 },
      },
      { lanes: { tenant: tenantID } },
    );
  const few = createLane({ places: 4 });
  await Promise.all(rows.map(({ id }) => few.run(IN_ORDER, () => execute(id, 'select 1'))));

  let failed = 0;
  const reasons: Record<string, number> = {};
  const waits = await Promise.all(
    rows.map(async ({ id }) => {
      const times: number[] = [];
      const one = async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const began = performance.now();
          await execute(id, WORK).catch((error: unknown) => {
            failed += 1;
            const reason = error instanceof Error ? error.message : String(error);
            reasons[reason] = (reasons[reason] ?? 0) + 1;
          });
          times.push(performance.now() - began);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, one));
      return times;
    }),
  );
  const all = waits.flat();
  const means = waits.map((times) => times.reduce((a, b) => a + b, 0) / times.length).sort((a, b) => a - b);
  const round = (ms: number) => Math.round(ms);
  const settings = {
    ...(await environment.settings()),
    tenants: TENANTS,
    maxConnections: MAX_CONNECTIONS,
    questions: all.length,
    failed,
    reasons,
    /** Mean of each tenant, sorted: fair if the last is near the first. */
    meansOfTenantsMs: means.map(round),
  };
  return [
    {
      figure: 'slowest answer of all, to the median',
      value: round(Math.max(...all)),
      unit: 'ms',
      floor: round(percentile(all, 50)),
      ratio: Number((Math.max(...all) / percentile(all, 50)).toFixed(2)),
      settings,
    },
    {
      figure: 'mean of the slowest tenant, to that of the fastest',
      value: round(means.at(-1) ?? Number.NaN),
      unit: 'ms',
      floor: round(means[0] ?? Number.NaN),
      ratio: Number(((means.at(-1) ?? Number.NaN) / (means[0] ?? 1)).toFixed(2)),
      settings: { failed },
    },
  ];
}
