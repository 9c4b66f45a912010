import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createSemaphore, type Semaphore } from '#shared/concurrency/semaphore.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { createBackplane, type JobWorker } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { datasourceTests } from '#shared/messaging/queues/datasource-tests.ts';
import { defineRPC, rpcContext } from '#shared/messaging/queues/define-rpc.ts';
import type { AnyQueue, AnyRPC } from '#shared/messaging/queues/index.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { createRPC, type RPC } from '#shared/messaging/rpc.ts';
import { createFlowKeys } from '#shared/tenants/creators.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { answerRequests } from '#workers/processors/answer-requests.ts';
import { createCancels } from '#workers/processors/cancels.ts';
import { consume, type ProcessorContext } from '#workers/processors/consume.ts';
import { createJobStats } from '#workers/processors/job-stats.ts';
import { startRedis } from '../servers/redis.ts';
import { redisURL } from '../support/backplane.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { type Deployment, startDeployment } from '../support/deployment.ts';
import { testLogger, testServers } from '../support/environment.ts';
import { aUser } from '../support/factories.ts';
import { spawnNode } from '../support/process.ts';
import { eventually } from '../support/settle.ts';
import { startTCP } from '../support/tcp.ts';

/** A queue that only this test has, served by the code of the real queues. */
const sums = defineRPC({
  name: 'test.sums',
  request: z.object({
    numbers: z.array(z.number()),
    ms: z.number().default(0),
    pad: z.number().default(0),
    needsConnection: z.boolean().default(false),
  }),
  response: z.object({ sum: z.number(), pad: z.string() }),
  timeoutMs: 5_000,
  maxConcurrent: { who: 2 },
  isShort: ({ numbers }) => numbers.length === 1,
});
// The type is that of the service's table of queues, but no called code reads the table.
const sumRequests = sums as unknown as typeof datasourceTests;
type Sum = z.output<typeof sums.response>;

let deployment: Deployment;
let context: ProcessorContext;
let rpc: ReturnType<typeof createRPC>;
const begun: number[][] = [];

beforeAll(async () => {
  deployment = await startDeployment();
  rpc = newRPC();
  context = {
    pool: deployment.pool,
    secrets: createKeyRing(deployment.config.secrets.keys),
    messages: deployment.backplane.messages,
    outbound: createOutbound(deployment.config.outbound),
    cancels: createCancels(deployment.backplane.messages),
    flowKeys: createFlowKeys(deployment.pool),
    jobs: createJobStats(),
    answering: createSemaphore({ permits: 100 }),
    bytes: createMemoryBudget(deployment.config.heldBytes),
    logger: testLogger,
  } as ProcessorContext;
});
afterAll(async () => {
  context.cancels[Symbol.dispose]();
  await rpc[Symbol.asyncDispose]();
  await deployment[Symbol.asyncDispose]();
});

function newRPC(backplane = deployment.backplane) {
  const { producer, pool, config } = deployment;
  return createRPC({ backplane, producer, pool, secrets: createKeyRing(config.secrets.keys), logger: testLogger });
}

async function ask(request: z.input<typeof sums.request>, options = {}): Promise<Sum> {
  return (await rpc.request(sumRequests, request as never, options)) as unknown as Sum;
}

function startAnswering(more: Partial<ProcessorContext> = {}): AsyncDisposable {
  const processor = answerRequests(
    sums as unknown as AnyRPC,
    (async ({ request, signal }: never, own: { connections?: Semaphore }) => {
      const { numbers, ms, pad, needsConnection } = request as z.output<typeof sums.request>;
      begun.push(numbers);
      if (needsConnection) (await own.connections?.acquirePermit({ tenantID: 'any' }, signal))?.();
      if (numbers.length === 0) throw new AppError('CONFLICT', 'There is nothing to add', { details: { numbers } });
      if (numbers[0] === -1) throw new Error('a secret of the inside');
      await new Promise((resolve, reject) => {
        setTimeout(resolve, ms);
        (signal as AbortSignal).addEventListener('abort', () => reject((signal as AbortSignal).reason));
      });
      return { sum: numbers.reduce((a, b) => a + b, 0), pad: 'x'.repeat(pad) };
    }) as never,
  );
  const worker: JobWorker = consume(deployment.backplane, {
    definition: sums as unknown as AnyQueue,
    processor: processor as never,
    concurrency: sums.concurrency ?? 8,
    leaseMs: 30_000,
    context: { ...context, ...more },
    logger: testLogger,
  });
  return { [Symbol.asyncDispose]: () => worker.close() };
}

/** Jobs that have not ended. */
async function jobsOf(name: string): Promise<unknown[]> {
  return deployment.backplane.queue(name).getJobs(['waiting', 'active', 'delayed']);
}

describe('with a worker', () => {
  let worker: AsyncDisposable;
  beforeAll(() => {
    worker = startAnswering();
  });
  afterAll(() => worker[Symbol.asyncDispose]());

  test('answers a request, and leaves nothing of it behind but that it was answered', async () => {
    expect(await ask({ numbers: [1, 2, 3] })).toEqual({ sum: 6, pad: '' });

    await eventually(async () => expect(await jobsOf('test.sums')).toEqual([]));
    const stored = await deployment.backplane.queue('test.sums').getJobs(['completed', 'failed']);
    expect(stored).toMatchObject([{ data: { sealed: '' }, returnvalue: { outcome: 'answered' } }]);
    const { rows } = await deployment.pool.query('select from ask_reply');
    expect(rows).toEqual([]);
  });

  test('gives each of many concurrent requests its own response', async () => {
    const sums = await Promise.all(Array.from({ length: 40 }, (_, n) => ask({ numbers: [n, n] })));

    expect(sums.map(({ sum }) => sum)).toEqual(Array.from({ length: 40 }, (_, n) => 2 * n));
  });

  test.each([4_000, 4_200, 5_000, 100_000, 2_000_000])('delivers an answer of %i characters whole', async (pad) => {
    expect((await ask({ numbers: [1], pad })).pad).toHaveLength(pad);

    const { rows } = await deployment.pool.query('select from ask_reply');
    expect(rows).toEqual([]);
  });

  test('reports an answer that is too large as an error', async () => {
    await expect(ask({ numbers: [1], pad: 17 * 1024 * 1024 })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });

  test('delivers an error of the worker as the same error', async () => {
    await expect(ask({ numbers: [] })).rejects.toMatchObject({
      name: 'AppError',
      code: 'CONFLICT',
      status: 409,
      message: 'There is nothing to add',
      details: { numbers: [] },
    });
  });

  test('hides the details of an unexpected error', async () => {
    const error = await ask({ numbers: [-1] }).catch((thrown) => thrown);

    expect(error).toMatchObject({ code: 'INTERNAL_ERROR', status: 500 });
    expect(JSON.stringify([error.message, error.details])).not.toContain('secret');
  });

  test('reports an unknown outcome when the worker is too slow, and aborts the work', async () => {
    await expect(ask({ numbers: [1], ms: 60_000 }, { timeoutMs: 300 })).rejects.toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      status: 504,
      message: expect.stringContaining('unknown'),
      details: { begun: true },
    });
    await eventually(async () => expect(await jobsOf('test.sums')).toEqual([]));
  });

  test('stops waiting for a client that disconnected', async () => {
    const client = new AbortController();
    setTimeout(() => client.abort(), 100);

    await expect(ask({ numbers: [1], ms: 60_000 }, { signal: client.signal, timeoutMs: 60_000 })).rejects.toThrow(
      'went away',
    );
    // The worker is told as well, long before the deadline.
    await eventually(async () => expect(await jobsOf('test.sums')).toEqual([]));
    await expect(ask({ numbers: [77] }, { signal: AbortSignal.abort() })).rejects.toThrow('went away');
  });

  test('limits the concurrent requests of one key: further ones wait, those of other keys do not, and a long queue is refused', async () => {
    const keyed = (who: string) => ({ limitKeys: { who } });
    const hold = new AbortController();
    const owned = { ...keyed('a'), signal: hold.signal, timeoutMs: 60_000 };
    const both = Promise.allSettled([1, 2].map((n) => ask({ numbers: [n], ms: 60_000 }, owned)));
    let isAnswered = false;
    const third = ask({ numbers: [3] }, { ...keyed('a'), timeoutMs: 60_000 }).then(() => {
      isAnswered = true;
    });

    expect(await ask({ numbers: [4] }, keyed('b'))).toMatchObject({ sum: 4 });
    expect(isAnswered).toBe(false);
    hold.abort();
    await Promise.all([both, third]);

    const slow = Array.from({ length: 42 }, () =>
      ask({ numbers: [1], ms: 5_000 }, { ...keyed('c'), timeoutMs: 3_000 }),
    );
    const line = Promise.allSettled(slow);
    await expect(ask({ numbers: [5] }, keyed('c'))).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfter: 1 });
    const begun = (await line).map(({ reason }: PromiseSettledResult<Sum> & { reason?: AppError }) => reason?.details);
    expect(begun.filter((details) => (details as { begun: boolean }).begun)).toHaveLength(2);
    expect(begun.filter((details) => !(details as { begun: boolean }).begun)).toHaveLength(40);
    expect(await ask({ numbers: [6] }, keyed('c'))).toMatchObject({ sum: 6 });
  });

  test('answers a request once when it is delivered twice', async () => {
    const [askID, mark] = [newID(), Math.random()];
    const sealed = context.secrets.seal(JSON.stringify({ numbers: [mark] }), rpcContext(askID, 'question'));
    const payload = { askID, replyTo: 'asks.nobody', deadline: Date.now() + 5_000, sealed };
    const process = answerRequests(
      sums as unknown as AnyRPC,
      (async () => {
        begun.push([mark]);
        return { sum: 0, pad: '' };
      }) as never,
    );
    const job = { payload, signal: new AbortController().signal };

    await Promise.all([process(job, context), process(job, context), process(job, context)]);

    expect(begun.filter(([number]) => number === mark)).toHaveLength(1);
  });

  test('does not open a request with another id or altered bytes', async () => {
    const askID = newID();
    const sealed = context.secrets.seal(JSON.stringify({ numbers: [4242] }), rpcContext(newID(), 'question'));
    const process = answerRequests(
      sums as unknown as AnyRPC,
      (async () => {
        begun.push([4242]);
        return { sum: 0, pad: '' };
      }) as never,
    );
    await process(
      {
        payload: { askID, replyTo: 'asks.nobody', deadline: Date.now() + 5_000, sealed },
        signal: new AbortController().signal,
      },
      context,
    );

    expect(begun).not.toContainEqual([4242]);
  });
});

describe('with a worker that has few permits', () => {
  const permits = 10;
  /** Work that ends when the test says so. */
  const long = { ms: 60_000, numbers: [1, 1] };
  let clients: AbortController;

  beforeEach(() => {
    clients = new AbortController();
    begun.length = 0;
  });

  async function tenantsOf(creatorID: string, count: number): Promise<string[]> {
    const { rows } = await deployment.pool.query<{ id: string }>(
      `insert into tenant (id, tenant_title, creator_id) select gen_random_uuid(), 'A tenant', $1 from generate_series(1, $2) returning id`,
      [creatorID, count],
    );
    return rows.map(({ id }) => id);
  }

  function askFor(tenantID: string, request: z.input<typeof sums.request>): Promise<unknown> {
    const options = { limitKeys: { tenant: tenantID }, signal: clients.signal, timeoutMs: 60_000 };
    return ask(request, options).catch((error: AppError) => error);
  }

  test('answers a tenant at once while 25 tenants of one creator have 8 slow requests each', async () => {
    const answering = createSemaphore({ permits, dynamicLimit: 1 });
    await using _worker = startAnswering({ answering });
    const others = await tenantsOf(newID(), 25);
    const [own = ''] = await tenantsOf(newID(), 1);
    const slow = others.flatMap((id) => Array.from({ length: 8 }, () => askFor(id, long)));
    await eventually(async () => expect(answering.used + answering.waiting).toBe(200));

    expect(await askFor(own, { numbers: [5, 6] })).toMatchObject({ sum: 11 });

    // One creator has no more permits than are left free, and not one of its requests has ended.
    const counts = [permits / 2, 200 - permits / 2];
    await eventually(async () => expect([answering.used, answering.waiting]).toEqual(counts));
    // Questions that wait for their turn are withdrawn with their client, long before their deadline.
    clients.abort();
    await Promise.all(slow);
    await eventually(async () => expect([answering.used, answering.waiting]).toEqual([0, 0]));
    expect(begun.filter(([first]) => first === 1)).toHaveLength(permits / 2);
  });

  test('keeps permits for short work when many creators have taken the others', async () => {
    const answering = createSemaphore({ permits, permitsForShort: 2, dynamicLimit: 1 });
    await using _worker = startAnswering({ answering });
    const tenants = (await Promise.all(Array.from({ length: 20 }, () => tenantsOf(newID(), 1)))).flat();
    const slow = tenants.map((id) => askFor(id, long));
    await eventually(async () => expect([answering.used, answering.waiting]).toEqual([8, 12]));

    const [own = ''] = await tenantsOf(newID(), 1);
    expect(await askFor(own, { numbers: [7] })).toMatchObject({ sum: 7 });

    clients.abort();
    await Promise.all(slow);
  });

  test('answers others with the permit of a request that waits for a connection', async () => {
    const answering = createSemaphore({ permits: 1 });
    const connections = createSemaphore({ permits: 1 });
    const [first = '', second = ''] = await tenantsOf(newID(), 2);
    await connections.acquire({ tenantID: first });
    await using _worker = startAnswering({ answering, ...({ connections } as object) });
    const waits = askFor(first, { numbers: [2, 2], needsConnection: true });
    await eventually(async () => expect(connections.waiting).toBe(1));

    expect(await askFor(second, { numbers: [3, 3] })).toMatchObject({ sum: 6 });
    expect(connections.waiting).toBe(1);

    connections.release({ tenantID: first });
    expect(await waits).toMatchObject({ sum: 4 });
    await eventually(async () => expect([answering.used, connections.used]).toEqual([0, 0]));
  });
});

describe('without a worker', () => {
  test('reports in time that no work was done, and none is done later', async () => {
    const mark = Math.random();
    await expect(ask({ numbers: [mark] }, { timeoutMs: 400 })).rejects.toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      message: expect.stringContaining('nothing was done'),
      details: { begun: false },
    });
    await eventually(async () => expect(await jobsOf('test.sums')).toEqual([]));

    await using _worker = startAnswering();
    expect(await ask({ numbers: [1] })).toMatchObject({ sum: 1 });
    expect(begun).not.toContainEqual([mark]);
  });

  test('shows nothing of the request in the job', async () => {
    const asked = rpc
      .request(datasourceTests, { kind: 'url', url: 'postgres://u:topsecret@10.0.0.1/d' }, { timeoutMs: 1_000 })
      .catch(() => undefined);
    let seen = '';
    await eventually(async () => {
      const jobs = (await jobsOf('datasource.tests')) as { data: unknown; opts: unknown }[];
      expect(jobs).toHaveLength(1);
      seen = JSON.stringify(jobs.map(({ data, opts }) => ({ data, opts })));
    });

    expect(seen).not.toContain('topsecret');
    expect(seen).not.toContain('10.0.0.1');
    expect(seen).toContain('"sealed":"gs1.');
    await asked;
  });

  test('drops a request whose deadline has passed', async () => {
    const askID = newID();
    const sealed = context.secrets.seal(JSON.stringify({ numbers: [9] }), rpcContext(askID, 'question'));
    const process = answerRequests(
      sums as unknown as AnyRPC,
      (async () => {
        begun.push([99]);
        return { sum: 0, pad: '' };
      }) as never,
    );

    await process(
      {
        payload: { askID, replyTo: 'asks.nobody', deadline: Date.now() - 1, sealed },
        signal: new AbortController().signal,
      },
      context,
    );

    expect(begun).not.toContainEqual([99]);
  });
});

test('reports a queue that refuses a request as unavailable, and does not send it later', async () => {
  const words = new Error('Reached the max retries per request limit');
  const producer = createProducer({ ...deployment.backplane, add: () => Promise.reject(words) });
  const { backplane, pool, config } = deployment;
  const secrets = createKeyRing(config.secrets.keys);
  await using refused = createRPC({ backplane, producer, pool, secrets, logger: testLogger });

  await expect(refused.request(sumRequests, { numbers: [1] } as never)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    status: 503,
    retryAfter: 1,
    message: 'The queue does not answer',
    cause: words,
  });
});

test('a request of another type does not compile', () => {
  const wrong = (rpc: RPC) => [
    // @ts-expect-error a request without its URL
    rpc.request(datasourceTests, { kind: 'url' }),
    // @ts-expect-error a queue of jobs without an answer
    rpc.request(workflowRuns, { instanceID: newID(), epoch: 1 }),
  ];

  expect(wrong).toBeTypeOf('function');
});

describe('two processes sending requests', () => {
  test('each get the responses to their own requests', async () => {
    await using worker = startAnswering();
    await using backplane = await createBackplane(deployment.config.backplane, testLogger);
    await using other = newRPC(backplane);
    await new Promise((resolve) => setTimeout(resolve, 200));

    const requests = Array.from({ length: 20 }, (_, n) =>
      n % 2
        ? ask({ numbers: [n], pad: 5_000 })
        : (other.request(sumRequests, { numbers: [n] } as never) as unknown as Promise<Sum>),
    );

    expect((await Promise.all(requests)).map(({ sum }) => sum)).toEqual(requests.map((_, n) => n));
    expect(worker).toBeDefined();
  });
});

describe('requests over HTTP', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ apis: 2, workers: false });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test('reports an unknown outcome when the worker is killed, and no other worker repeats the work', async () => {
    await using database = await startTCP();
    const user = await aUser(cluster);
    // A short lease, so that the next worker finds the abandoned job.
    const short = { WORKER_SESSION_SECONDS: '1' };
    await using worker = spawnNode(['workers/main.ts', 'datasource.tests'], { ...cluster.env, ...short });
    await eventually(async () => {
      expect((await cluster.pool.query('select from worker_session')).rowCount).toBe(1);
    });
    const {
      messaging: { producer },
    } = cluster.context;
    const url = `postgres://u:p@127.0.0.1:${database.port}/d`;
    const asked = producer
      .request(datasourceTests, { kind: 'url', url }, { timeoutMs: 10_000 })
      .catch((error) => error);
    await database.connected;

    await worker.kill('SIGKILL');
    await using _another = await cluster.startWorker(short, ['datasource.tests']);
    await eventually(async () => {
      expect(await cluster.backplane.queue('datasource.tests').getJobs(['waiting', 'active', 'delayed'])).toEqual([]);
    });

    expect(await asked).toMatchObject({ code: 'UPSTREAM_TIMEOUT', details: { begun: true } });
    expect(database.connections()).toBe(1);
    expect(user).toBeDefined();
  });

  test('without Redis sends nothing, and tells the client to retry later', async ({ skip }) => {
    if (!redisURL) skip('only the Redis backplane has a Redis to lose');
    const dir = await mkdtemp(join(tmpdir(), 'gantry-ask-'));
    await using redis = await startRedis({ dir });
    await using lonely = await startCluster({ workers: false, settings: { REDIS_URL: redis.url } });
    const user = await aUser(lonely);
    const ask = () => lonely.as(user).patch('/api/v1/tenants/dbtest', { tenantDBURL: testServers.datasourceURL });
    await redis.kill9();

    for (let n = 0; n < 2; n += 1) {
      const response = await ask();
      expect(response).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
      expect(response.headers.get('retry-after')).toBe('1');
    }
    await rm(dir, { recursive: true, force: true });
  });

  test('lets one worker answer both processes', async () => {
    await cluster.startWorker({}, ['datasource.tests']);
    const user = await aUser(cluster);
    const tenantDBURL = testServers.datasourceURL;

    const answers = await Promise.all(
      cluster.apis.flatMap(({ baseURL }) =>
        [1, 2].map(() => cluster.as(user, { baseURL }).patch('/api/v1/tenants/dbtest', { tenantDBURL })),
      ),
    );

    for (const response of answers)
      expect(response).toMatchObject({ status: 200, body: { success: true, connectionResult: true } });
  });
});
