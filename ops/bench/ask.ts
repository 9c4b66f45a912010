import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHTTPServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { createLogger } from '#shared/core/logger.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { queryRuns } from '#shared/messaging/queues/query-runs.ts';
import { tenantDatabase } from '#shared/messaging/queues/tenant-database.ts';
import { type Asking, createAsking } from '#shared/messaging/rpc.ts';
import { readConfig } from '#shared/process/config.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Figure } from './row.ts';

const QUESTIONS = Number(process.env.ASK_QUESTIONS ?? 300);
const WARM = 20;
const HANGING = 100;
const BUSY = { tenants: Number(process.env.ASK_TENANTS ?? 25), each: 8, seconds: 5 };

/** A question of one kind, quick or one that takes `BUSY.seconds`. */
interface Kind {
  name: string;
  /** Makes what the questions of a tenant need. Answers with the questions. */
  prepare(tenantID: string): Promise<Record<'quick' | 'slow', (signal?: AbortSignal) => Promise<unknown>>>;
}

/**
 * Cost of asking a worker: `select 1` in a tenant's database, alone, and while another tenant's database hangs. Then statements,
 * data queries and readers of files beside those of 25 tenants of one creator.
 */
export async function ask(environment: BenchEnvironment): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const config = readConfig(environment.env);
  const logger = createLogger({ level: 'warn' });
  const secrets = createKeyRing(config.secrets.keys);
  const backplane = resources.use(await createBackplane(config.backplane, logger));
  const { pool, tenantID } = environment;
  const asking = resources.use(createAsking({ backplane, producer: createProducer(backplane), pool, secrets, logger }));
  const slowServer = resources.use(await startSlowServer());
  await environment.startWorker({ OUTBOUND_ALLOW: '127.0.0.0/8' });

  const settings = { ...(await environment.settings()), questions: QUESTIONS, load: 'in the same run' };
  const round = (value: number) => Number(value.toFixed(2));
  const figure = (name: string, value: number, unit: string, floor: number, more = {}) => ({
    figure: name,
    value: round(value),
    unit,
    floor: round(floor),
    ratio: round(value / floor),
    settings: { ...settings, ...more },
  });
  const figures: Figure[] = [];
  const statements = statementsOf(asking);
  const { quick } = await statements.prepare(tenantID);
  await times(quick);
  const alone = await times(quick);
  const direct = await times(() => pool.query('select 1'));
  figures.push(figure('a statement by way of a worker', percentile(alone, 50), 'ms p50', percentile(direct, 50)));
  const besideHanging = await during(await hang(environment, { secrets, statements }), () => times(quick));
  figures.push(
    figure(
      `the same while ${HANGING} questions of another tenant hang`,
      percentile(besideHanging, 99),
      'ms p99',
      percentile(alone, 99),
    ),
  );
  for (const kind of [statements, requestsOf(asking, pool, slowServer.url), readsOf(asking, pool)]) {
    const own = await kind.prepare(tenantID);
    await times(own.quick);
    const before = await times(own.quick);
    const beside = await during(await keepBusy(environment, kind), () => times(own.quick));
    const after = await times(own.quick);
    figures.push(
      figure(
        `${kind.name} while ${BUSY.tenants} tenants of one creator have ${BUSY.each} slow ones each; mark: ratio below 5`,
        percentile(beside, 99),
        'ms p99',
        percentile([...before, ...after], 99),
        { p50: round(percentile(beside, 50)), p50Alone: round(percentile([...before, ...after], 50)) },
      ),
    );
  }
  return figures;
}

/** Ends what keeps the worker busy also when a measurement fails; the process would go on otherwise. */
async function during<T>(end: () => Promise<void>, measure: () => Promise<T>): Promise<T> {
  try {
    return await measure();
  } finally {
    await end();
  }
}

async function times(work: () => Promise<unknown>): Promise<number[]> {
  const all: number[] = [];
  for (let n = 0; n < WARM + QUESTIONS; n += 1) {
    const began = performance.now();
    await work();
    if (n >= WARM) all.push(performance.now() - began);
  }
  return all;
}

function statementsOf(asking: Asking): Kind {
  return {
    name: 'statements',
    async prepare(tenantID) {
      const question = (sql: string) => (signal?: AbortSignal) => {
        const limits = { params: [], readOnly: false, timeoutSeconds: 60, maxRows: 10 };
        const operation = { kind: 'executeSQL' as const, sql, ...limits };
        return asking.ask(
          tenantDatabase,
          { tenantID, operation },
          { lanes: { tenant: tenantID }, ...(signal && { signal }) },
        );
      };
      return { quick: question('select 1'), slow: question(`select pg_sleep(${BUSY.seconds})`) };
    },
  };
}

/** Asks a saved datasource of the tenant. */
function query(asking: Asking, tenantID: string, { id, type }: { id: string; type: string }, options: object) {
  return (signal?: AbortSignal) =>
    asking.ask(
      queryRuns,
      {
        tenantID,
        caller: { type: 'system', id: tenantID, origin: 'direct' },
        query: { kind: 'given', datasourceID: id, datasourceType: type, dataQueryOptions: { ...options } },
        inputs: {},
        mode: 'run',
        isFresh: true,
      },
      { lanes: { tenant: tenantID, target: id }, ...(signal && { signal }) },
    );
}

type Pool = BenchEnvironment['pool'];

async function saveDatasource(pool: Pool, tenantID: string, type: string, options: object) {
  const id = newID();
  await pool.query(
    `insert into datasource (id, tenant_id, creator_id, datasource_title, datasource_type, datasource_options, datasource_tags)
     values ($1, $2, $2, 'Measured', $3, $4, '[]')`,
    [id, tenantID, type, JSON.stringify(options)],
  );
  return { id, type };
}

/** Data queries over HTTP. */
function requestsOf(asking: Asking, pool: Pool, baseUrl: string): Kind {
  return {
    name: 'data queries',
    async prepare(tenantID) {
      const datasource = await saveDatasource(pool, tenantID, 'restapi', { baseUrl });
      const request = (apiEndpoint: string) => query(asking, tenantID, datasource, { httpVerb: 'GET', apiEndpoint });
      return { quick: request('/quick'), slow: request('/slow') };
    },
  };
}

/** Readers of files. The slow ones need a processor. */
function readsOf(asking: Asking, pool: Pool): Kind {
  const bytes = Buffer.from('a,b\n1,2\n');
  return {
    name: 'readers of files',
    async prepare(tenantID) {
      const id = newID();
      await pool.query(
        `insert into tenant_file (id, tenant_id, file_name, file_type, file_size, digest, creator_id, created_at)
         values ($1, $2, 'a.csv', 'text/csv', $3, $4, $2, now())`,
        [id, tenantID, bytes.length, createHash('sha256').update(bytes).digest('hex')],
      );
      await pool.query('insert into tenant_file_chunk (file_id, position, bytes) values ($1, 0, $2)', [id, bytes]);
      const files = [{ name: 't', fileInfo: { fileID: id, filePath: `tenant-files/${id}` } }];
      const datasource = await saveDatasource(pool, tenantID, 'duckdb', { files });
      const read = (options: object) => query(asking, tenantID, datasource, options);
      const endless = 'select sum(a.range * b.range) from range(10000000) a, range(10000000) b';
      return {
        quick: read({ query: 'select a from t' }),
        slow: read({ query: endless, timeoutSeconds: 600 }),
      };
    },
  };
}

/** Tenants of one creator with slow questions all the time. Answers with the function that ends them. */
async function keepBusy({ pool }: BenchEnvironment, kind: Kind): Promise<() => Promise<void>> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into tenant (id, tenant_title, creator_id) select gen_random_uuid(), 'busy', $1 from generate_series(1, $2) returning id`,
    [newID(), BUSY.tenants],
  );
  const questions = [];
  for (const { id } of rows) {
    const prepared = await kind.prepare(id);
    // The first statement of a tenant creates its database.
    await prepared.quick();
    questions.push(prepared);
  }
  const ended = new AbortController();
  const before = await claimsIn(pool);
  const askers = questions.flatMap(({ slow }) =>
    Array.from({ length: BUSY.each }, () => repeat(() => slow(ended.signal), ended.signal)),
  );
  // Sending them all at once is work too, and not what is measured.
  for (let waited = 0; waited < 60 && (await claimsIn(pool)) < before + askers.length; waited += 1) await sleep(500);
  return async () => {
    ended.abort();
    await Promise.all(askers);
  };
}

async function claimsIn(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from ask_claim');
  return rows[0]?.n ?? 0;
}

async function repeat(work: () => Promise<unknown>, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const began = performance.now();
    await work().catch(() => undefined);
    // A question that is refused at once must not become a loop that takes the processor.
    if (performance.now() - began < 100) await sleep(100);
  }
}

/** A tenant whose database accepts connections and never answers, with many requests to it. Answers with the function that ends them. */
async function hang(
  { pool }: BenchEnvironment,
  { secrets, statements }: { secrets: ReturnType<typeof createKeyRing>; statements: Kind },
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
  const { quick } = await statements.prepare(id);
  const ended = new AbortController();
  const askers = Array.from({ length: HANGING }, () => repeat(() => quick(ended.signal), ended.signal));
  return async () => {
    ended.abort();
    await Promise.all(askers);
    silent.close();
  };
}

/** An HTTP server that answers at once, or after `BUSY.seconds` under `/slow`. */
async function startSlowServer(): Promise<AsyncDisposable & { url: string }> {
  const server = createHTTPServer((request, response) => {
    setTimeout(() => response.end('{"n": 1}'), request.url?.endsWith('/slow') ? BUSY.seconds * 1_000 : 0);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
