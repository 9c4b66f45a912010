import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AwaitedRuns, createAwaitedRuns } from '#api/streams/awaited-runs.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import { createCompletionNotices, type NotifyCompletion, type RunOutcome } from '#shared/runs/completion-notices.ts';
import { testLogger } from '#test/support/environment.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { eventually } from '../../support/settle.ts';

/** Longer than any test may take: a wait that ends only with its time fails the test. */
const TIMEOUT_MS = 600_000;

let deployment: Deployment;
let awaited: AwaitedRuns;
let notifyCompletion: NotifyCompletion;
const here = new AbortController().signal;

beforeAll(async () => {
  deployment = await startDeployment();
  const { pool, backplane } = deployment;
  awaited = createAwaitedRuns({ pool, messages: backplane.messages, logger: testLogger });
  notifyCompletion = createCompletionNotices(backplane.messages, testLogger);
  await subscribed(awaited.channel);
});

afterAll(async () => {
  await awaited[Symbol.asyncDispose]();
  await deployment[Symbol.asyncDispose]();
});

let run: { tenantID: string; instanceID: string };
beforeEach(async () => {
  run = { tenantID: deployment.tenantID, instanceID: await aRun() };
});

test('the outcome comes with the message, without a read', async () => {
  using expected = awaited.expect(run);
  const waiting = expected.outcome(TIMEOUT_MS, here);

  // In Postgres the run goes on: only the message can have brought the outcome.
  notifyCompletion(awaited.channel, { instanceID: run.instanceID, outcome: completed({ n: 1 }) });

  expect(await waiting).toEqual(completed({ n: 1 }));
});

test('an outcome that came before the wait is not lost', async () => {
  using expected = awaited.expect(run);
  const heard = nextMessage(awaited.channel);
  notifyCompletion(awaited.channel, { instanceID: run.instanceID, outcome: completed('early') });
  await heard;

  expect(await expected.outcome(TIMEOUT_MS, here)).toEqual(completed('early'));
});

test('an outcome that is too large for a message is read', async () => {
  const output = 'ä'.repeat(5_000);
  using expected = awaited.expect(run);
  const waiting = expected.outcome(TIMEOUT_MS, here);
  await endInPostgres(run.instanceID, output);
  const heard = nextMessage(awaited.channel);

  notifyCompletion(awaited.channel, { instanceID: run.instanceID, outcome: completed(output) });

  expect(await heard).toEqual([{ instanceID: run.instanceID }]);
  expect(await waiting).toEqual(completed(output));
});

test('the ends of many runs are all told, however large they are together', async () => {
  const ids = Array.from({ length: 100 }, () => newID());
  const outputs = new Map(ids.map((id, n) => [id, 'ä'.repeat(19 * n)]));
  const waits = ids.map((instanceID) => awaited.expect({ ...run, instanceID }));
  const outcomes = Promise.all(waits.map((wait) => wait.outcome(TIMEOUT_MS, here)));

  for (const [instanceID, output] of outputs)
    notifyCompletion(awaited.channel, { instanceID, outcome: completed(output) });

  const lengths = (await outcomes).map((outcome) => String(outcome?.output).length);
  expect(lengths).toEqual([...outputs.values()].map(({ length }) => length));
  for (const wait of waits) wait[Symbol.dispose]();
});

test('a message with a text that Postgres cannot store has the text that Postgres has', async () => {
  using expected = awaited.expect(run);
  const waiting = expected.outcome(TIMEOUT_MS, here);

  notifyCompletion(awaited.channel, { instanceID: run.instanceID, outcome: completed('cut \ud83d, \u0000') });

  expect(await waiting).toEqual(completed('cut \ufffd, \ufffd'));
});

test('a lost message is made good by a read', async () => {
  using expected = awaited.expect(run);
  const waiting = expected.outcome(TIMEOUT_MS, here);

  await endInPostgres(run.instanceID, { n: 2 });

  expect(await waiting).toEqual(completed({ n: 2 }));
});

test('a wait that is shorter than the comparison still finds the run that has ended', async () => {
  await endInPostgres(run.instanceID, 'done');
  using expected = awaited.expect(run);

  expect(await expected.outcome(1, here)).toEqual(completed('done'));
});

test('the end of a run that no worker holds is told at once', async () => {
  await using slow = createAwaitedRuns({ ...needs(), compareMs: 3_600_000 });
  await subscribed(slow.channel);
  using expected = slow.expect(run);
  const waiting = expected.outcome(TIMEOUT_MS, here);

  await deployment.runs.end({ tenantID: run.tenantID, ids: [run.instanceID], status: 'CANCELLED', error: null });

  expect(await waiting).toEqual({ status: 'CANCELLED', output: null, error: null });
});

test('a run that may have ended before is read at once', async () => {
  await endInPostgres(run.instanceID, 'before');
  await using slow = createAwaitedRuns({ ...needs(), compareMs: 3_600_000 });
  using expected = slow.expect(run);

  expected.poll();

  expect(await expected.outcome(TIMEOUT_MS, here)).toEqual(completed('before'));
});

test('the run of another tenant is not read', async () => {
  await endInPostgres(run.instanceID, 'secret');
  using expected = awaited.expect({ ...run, tenantID: newID() });
  expected.poll();

  expect(await expected.outcome(1_500, here)).toBeUndefined();
});

test('a wait ends with its time, with its client, and with the process', async () => {
  using expected = awaited.expect(run);
  expect(await expected.outcome(20, here)).toBeUndefined();

  const ended = new AbortController();
  using left = awaited.expect(run);
  const waiting = left.outcome(TIMEOUT_MS, ended.signal);
  ended.abort();
  expect(await waiting).toBeUndefined();

  await using other = createAwaitedRuns(needs());
  using one = other.expect(run);
  const interrupted = one.outcome(TIMEOUT_MS, here);
  other.drain();
  using late = other.expect(run);
  expect(await interrupted).toBeUndefined();
  expect(await late.outcome(TIMEOUT_MS, here)).toBeUndefined();
});

test('a wait outlasts an outage of Postgres, and its end does not wait for Postgres', async () => {
  const { state, pool } = observed(deployment.pool);
  await using other = createAwaitedRuns({ ...needs(), pool, compareMs: 50 });
  state.is = 'failing';
  using expected = other.expect(run);
  const waiting = expected.outcome(TIMEOUT_MS, here);
  await endInPostgres(run.instanceID, 'kept');
  await eventually(() => expect(state.asked).toBeGreaterThan(1));
  state.is = 'silent';
  using short = other.expect(run);
  expect(await short.outcome(1, here)).toBeUndefined();
  state.is = 'there';

  expect(await waiting).toEqual(completed('kept'));
});

test('a process whose clients do not wait asks nothing', async () => {
  const { state, pool } = observed(deployment.pool);
  await using other = createAwaitedRuns({ ...needs(), pool, compareMs: 5 });
  {
    using expected = other.expect(run);
    await eventually(() => expect(state.asked).toBeGreaterThan(1));
    expect(await expected.outcome(1, here)).toBeUndefined();
  }
  state.asked = 0;
  const heard = nextMessage(awaited.channel);
  notifyCompletion(awaited.channel, { instanceID: newID(), outcome: completed(null) });
  await heard;

  expect(state.asked).toBe(0);
});

function needs() {
  return { pool: deployment.pool, messages: deployment.backplane.messages, logger: testLogger };
}

async function aRun(): Promise<string> {
  const id = newID();
  await deployment.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, deadline_at, caller)
     values ($1, $2, $1, 'RUNNING', now() + interval '1 day', '{}')`,
    [id, deployment.tenantID],
  );
  return id;
}

async function endInPostgres(id: string, output: Json): Promise<void> {
  await deployment.pool.query(
    `update workflow_instance set status = 'COMPLETED', completed_at = now(), output = $2 where id = $1`,
    [id, JSON.stringify(output)],
  );
}

function completed(output: Json): RunOutcome {
  return { status: 'COMPLETED', output, error: null };
}

function nextMessage(channel: string): Promise<unknown> {
  return new Promise((resolve) => {
    const unsubscribe = deployment.backplane.messages.subscribe(channel, (message) => {
      unsubscribe();
      resolve(message);
    });
  });
}

/** A subscription begins in the background. */
async function subscribed(channel: string): Promise<void> {
  const { messages } = deployment.backplane;
  let isHeard = false;
  const unsubscribe = messages.subscribe(channel, () => {
    isHeard = true;
  });
  await eventually(async () => {
    await messages.publish(channel, []);
    expect(isHeard).toBe(true);
  });
  unsubscribe();
}

/** The pool, with a count of its queries; it fails, or does not answer, on request. */
function observed(real: Pool) {
  const state: { asked: number; is: 'there' | 'failing' | 'silent' } = { asked: 0, is: 'there' };
  const query = (...args: unknown[]) => {
    state.asked += 1;
    if (state.is === 'failing') return Promise.reject(new Error('Connection terminated'));
    if (state.is === 'silent') return new Promise(() => undefined);
    return Reflect.apply(real.query, real, args);
  };
  return { state, pool: { query } as unknown as Pool };
}
