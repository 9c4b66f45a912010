import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { type Backplane, createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer, type Producer } from '#shared/messaging/producer.ts';
import { type QueueName, queues } from '#shared/messaging/queues/index.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { eventsOf, type RunEventRow } from '#shared/messaging/realtime/run-events.ts';
import { type Config, readConfig } from '#shared/process/config.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import { createRuns, type Runs } from '#shared/runs/runs.ts';
import { createWorker, type WorkerContext } from '#workers/process/worker.ts';
import { workOffRemovals } from '#workers/tenant-database/databases/removals.ts';
import { createTenantServers } from '#workers/tenant-database/servers/servers.ts';
import { redisURL } from './backplane.ts';
import { freshDatabase } from './database.ts';
import { testLogger, testOAuth, testSecurity, testServers } from './environment.ts';
import { settle } from './settle.ts';

/** A database, a backplane and as many workers as asked for, without an API: for tests of what a run does. */
export interface Deployment extends AsyncDisposable {
  config: Config;
  env: Record<string, string>;
  pool: Pool;
  backplane: Backplane;
  producer: Producer;
  runs: Runs;
  tenantID: string;
  /** A worker of the queue of runs, unless other queues are named: on Postgres each queue takes three connections. */
  startWorker(settings?: Record<string, string>, queueNames?: readonly QueueName[]): Promise<WorkerContext>;
  saveVersion(graph: { nodes: object[]; edges: object[] }, options?: JsonObject, workflowID?: string): Promise<string>;
  saveWorkflow(
    graph: { nodes: object[]; edges: object[] },
    options?: JsonObject,
  ): Promise<{ workflowID: string; versionID: string }>;
  newRun(versionID: string, input?: JsonObject, more?: Partial<NewRun>): NewRun;
  settle(): Promise<void>;
  read(instanceID: string): Promise<RunRow>;
  /** One for each number, in order. */
  events(instanceID: string): Promise<EventRow[]>;
}

/** Queues of a worker when the deployment names none. */
export const allQueues: readonly QueueName[] = queues.map(({ name }) => name);

export interface RunRow {
  dispatched_at: Date | null;
  status: string;
  epoch: number;
  held_by: string | null;
  ready_at: Date | null;
  wake_at: Date | null;
  wake_seq: number;
  seq: number;
  losses: number;
  output: JsonObject | null;
  error: { code: string; message: string; nodeID: string | null; attempt: number | null } | null;
}

export interface EventRow {
  seq: number;
  node_id: string | null;
  attempt: number;
  status: string;
  exit: string | null;
  payload: JsonObject | null;
  created_at: Date;
}

export async function startDeployment(
  settings: Record<string, string> = {},
  logger: Logger = testLogger,
): Promise<Deployment> {
  await using resources = new AsyncDisposableStack();
  const database = resources.use(await freshDatabase());
  const env: Record<string, string> = {
    NODE_ENV: 'test',
    DATABASE_URL: database.url,
    ...(redisURL && { REDIS_URL: redisURL }),
    // One Redis serves every file of the run: each has its own prefix.
    BACKPLANE_PREFIX: `t${newID().replaceAll('-', '').slice(-20)}`,
    LOG_LEVEL: 'silent',
    ...testSecurity,
    ...testOAuth,
    TENANT_DATABASES_URL: `tenants=${testServers.tenantsURL}`,
    DATABASE_POOL: '5',
    SANDBOX_PROCESSES: '1',
    STALE_WORKFLOW_WINDOW: '0',
    ...settings,
  };
  const config = readConfig(env);
  const pool = createPool(config.db, testLogger);
  resources.defer(() => pool.end());
  const backplane = resources.use(await createBackplane(config.backplane, testLogger));
  resources.defer(() => dropTenantDatabases({ pool, config, backplane }));
  const producer = createProducer(backplane);
  const runs = createRuns({ pool, dispatchPool: pool, producer, messages: backplane.messages, logger: testLogger });
  const tenantID = newID();
  await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [
    tenantID,
    'A tenant',
    newID(),
  ]);

  const owned = resources.move();
  async function saveVersion(
    graph: { nodes: object[]; edges: object[] },
    options: JsonObject = {},
    workflowID: string | null = null,
  ) {
    const id = newID();
    await pool.query(
      'insert into workflow_version (id, tenant_id, workflow_id, nodes, edges, options) values ($1, $2, $3, $4, $5, $6)',
      [id, tenantID, workflowID, JSON.stringify(graph.nodes), JSON.stringify(graph.edges), JSON.stringify(options)],
    );
    return id;
  }

  return {
    config,
    env,
    pool,
    backplane,
    producer,
    runs,
    tenantID,
    async startWorker(more = {}, queueNames = [workflowRuns.name]) {
      return owned.use(await createWorker({ config: readConfig({ ...env, ...more }), logger, queueNames }));
    },
    saveVersion: (graph, options, workflowID) => saveVersion(graph, options, workflowID),
    async saveWorkflow(graph, options = {}) {
      const workflowID = newID();
      const versionID = await saveVersion(graph, options, workflowID);
      await pool.query(
        'insert into workflow (id, tenant_id, title, workflow_options, version_id, creator_id) values ($1, $2, $3, $4, $5, $6)',
        [workflowID, tenantID, 'A workflow', JSON.stringify(options), versionID, newID()],
      );
      return { workflowID, versionID };
    },
    newRun: (versionID, input = {}, more = {}) => ({
      tenantID,
      workflowID: null,
      versionID,
      caller: { type: 'system', id: tenantID, origin: 'direct' },
      input,
      timeoutMs: 3_600_000,
      ...more,
    }),
    settle: () => settle(pool),
    async read(instanceID) {
      const { rows } = await pool.query<RunRow>('select * from workflow_instance where id = $1', [instanceID]);
      if (!rows[0]) throw new Error(`No run ${instanceID}`);
      return rows[0];
    },
    async events(instanceID) {
      const { rows } = await pool.query<EventRow & RunEventRow>(
        'select *, node_id as "nodeID" from run_event where instance_id = $1 order by seq',
        [instanceID],
      );
      return rows.flatMap(eventsOf).map((event) => ({ ...event, node_id: event.nodeID }));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Drops the databases and roles of tenants, which belong to their server and outlive the test's own database. */
async function dropTenantDatabases({
  pool,
  config,
  backplane,
}: Pick<Deployment, 'pool' | 'config' | 'backplane'>): Promise<void> {
  const { messages } = backplane;
  await using servers = createTenantServers({ pool, messages, config: config.tenantDatabases, logger: testLogger });
  await pool.query('delete from tenant_database');
  await pool.query('update tenant_database_removal set next_try_at = now()');
  while ((await workOffRemovals({ pool, servers, logger: testLogger })) > 0);
}
