import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createAsking } from '#shared/ask.ts';
import { createBackplane } from '#shared/backplane/index.ts';
import { readConfig } from '#shared/config.ts';
import { createKeyRing } from '#shared/crypto.ts';
import { newID } from '#shared/ids.ts';
import { createLogger } from '#shared/logger.ts';
import { createProducer } from '#shared/producer.ts';
import { tenantDatabase } from '#shared/queues/tenant-database.ts';
import { sealedColumns } from '#shared/sealed-columns.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Row } from './row.ts';

const QUESTIONS = 1_000;
const WARM = 50;
const HANGING = 100;
const SLEEPERS = { tenants: 25, each: 8, seconds: 5 };

/** Cost of asking a worker: `select 1` in a tenant's database, alone, and while tenants of another creator keep it busy. */
export const ask: Row = async (environment) => {
  await using resources = new AsyncDisposableStack();
  const keys = `k1:${randomBytes(32).toString('base64')}`;
  const env = { ...environment.env, SECRETS_KEYS: keys };
  const config = readConfig(env);
  const logger = createLogger({ level: 'warn' });
  const secrets = createKeyRing(config.secrets.keys);
  const backplane = resources.use(await createBackplane(config.backplane, logger));
  const { pool, tenantID } = environment;
  const asking = resources.use(createAsking({ backplane, producer: createProducer(backplane), pool, secrets, logger }));
  await environment.startWorker({ SECRETS_KEYS: keys, OUTBOUND_ALLOW: '127.0.0.0/8' });

  function question(tenant: string, signal?: AbortSignal, sql = 'select 1'): Promise<unknown> {
    const operation = {
      kind: 'executeSQL' as const,
      sql,
      params: [],
      readOnly: false,
      timeoutSeconds: 60,
      maxRows: 10,
    };
    return asking.ask(
      tenantDatabase,
      { tenantID: tenant, operation },
      { lanes: { tenant }, ...(signal && { signal }) },
    );
  }

  const asked = () => times(() => question(tenantID));
  await asked();
  const alone = await asked();
  const direct = await times(() => pool.query('select 1'));
  const hanging = await hang(environment, secrets, question);
  const meanwhile = await asked();
  await hanging();
  const sleeping = await sleep(environment, question);
  const besideSleepers = await asked();
  await sleeping();

  const settings = { ...(await environment.settings()), questions: QUESTIONS };
  const round = (value: number) => Number(value.toFixed(2));
  const figure = (name: string, value: number, unit: string, floor: number) => ({
    figure: name,
    value: round(value),
    unit,
    floor: round(floor),
    ratio: round(value / floor),
    settings,
  });
  return [
    figure('a statement by way of a worker', percentile(alone, 50), 'ms p50', percentile(direct, 50)),
    figure(
      `the same while ${HANGING} questions of another tenant hang`,
      percentile(meanwhile, 99),
      'ms p99',
      percentile(alone, 99),
    ),
    figure(
      `the same while ${SLEEPERS.tenants} tenants of one creator have ${SLEEPERS.each} × pg_sleep each; mark: ratio below 5`,
      percentile(besideSleepers, 99),
      'ms p99',
      percentile(alone, 99),
    ),
  ];
};

async function times(work: () => Promise<unknown>): Promise<number[]> {
  const all: number[] = [];
  for (let n = 0; n < WARM + QUESTIONS; n += 1) {
    const began = performance.now();
    await work();
    if (n >= WARM) all.push(performance.now() - began);
  }
  return all;
}

/** Tenants of one creator whose statements sleep all the time. Answers with the function that ends them. */
async function sleep(
  { pool }: BenchEnvironment,
  question: (tenantID: string, signal: AbortSignal, sql: string) => Promise<unknown>,
): Promise<() => Promise<void>> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into tenant (id, tenant_title, creator_id) select gen_random_uuid(), 'sleeps', $1 from generate_series(1, $2) returning id`,
    [newID(), SLEEPERS.tenants],
  );
  const ended = new AbortController();
  // The first statement of a tenant creates its database.
  for (const { id } of rows) await question(id, ended.signal, 'select 1');
  const askers = rows.flatMap(({ id }) =>
    Array.from({ length: SLEEPERS.each }, async () => {
      const sql = `select pg_sleep(${SLEEPERS.seconds})`;
      while (!ended.signal.aborted) await question(id, ended.signal, sql).catch(() => undefined);
    }),
  );
  return async () => {
    ended.abort();
    await Promise.all(askers);
  };
}

/** A tenant whose database accepts connections and never answers, with many requests to it. Answers with the function that ends them. */
async function hang(
  { pool }: BenchEnvironment,
  secrets: ReturnType<typeof createKeyRing>,
  question: (tenantID: string, signal: AbortSignal) => Promise<unknown>,
): Promise<() => Promise<void>> {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const id = newID();
  const url = secrets.seal(`postgres://user:password@127.0.0.1:${port}/d`, sealedColumns.tenantDBURL.context(id));
  await pool.query('insert into tenant (id, tenant_title, creator_id, tenant_db_url) values ($1, $2, $3, $4)', [
    id,
    'hangs',
    newID(),
    url,
  ]);
  const ended = new AbortController();
  const askers = Array.from({ length: HANGING }, async () => {
    while (!ended.signal.aborted) await question(id, ended.signal).catch(() => undefined);
  });
  return async () => {
    ended.abort();
    await Promise.all(askers);
    silent.close();
  };
}
