import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph, noops } from '#test/support/graphs.ts';
import { type HTTPServer, startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';

/** As long as a call takes, so that the third begins after more than the second that a run may be held while others wait. */
const CALL_MS = 600;

let deployment: Deployment;
let server: HTTPServer;
beforeAll(async () => {
  deployment = await startDeployment();
  server = await startHTTP((_request, response) => void setTimeout(() => response.end('{}'), CALL_MS));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await deployment[Symbol.asyncDispose]();
});

function calls() {
  const call = { type: 'http', method: 'GET', url: server.origin };
  return graph({ start: { type: 'start' }, a: call, b: call, c: call }, ['start>a', 'a:success>b', 'b:success>c']);
}

/** Runs a graph to its end. Answers how often the run was claimed. */
async function claimsOf(shape: { nodes: object[]; edges: object[] }, options: JsonObject = {}): Promise<number> {
  const versionID = await deployment.saveVersion(shape, options);
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  await eventually(async () => expect((await deployment.read(instanceID)).status).toBe('COMPLETED'));
  return (await deployment.read(instanceID)).epoch;
}

describe('a run', () => {
  let pressing: NodeJS.Timeout | undefined;
  let press: (isPressed: boolean) => void;
  beforeAll(async () => {
    const worker = await deployment.startWorker();
    press = (isPressed) => {
      clearInterval(pressing);
      worker.engine.setPressure(isPressed);
      // The sweep measures it again, once a second.
      if (isPressed) pressing = setInterval(() => worker.engine.setPressure(true), 1);
    };
  });
  afterAll(() => clearInterval(pressing));

  test('does not yield for the number of its nodes', async () => {
    press(true);

    // On a busy machine they may take longer than a second, after which the run yields.
    await eventually(async () => expect(await claimsOf(noops(1_000))).toBe(1));
    await eventually(async () => expect(await claimsOf(noops(250), { durability: 'node' })).toBe(1));
  });

  test('yields after a second while others wait', async () => {
    press(true);

    expect(await claimsOf(calls())).toBe(2);
  });

  test('is owned to its end while no other waits', async () => {
    press(false);

    expect(await claimsOf(noops(450))).toBe(1);
    expect(await claimsOf(calls())).toBe(1);
  });
});

test('runs that get no memory make those before them yield, and no more of them are dispatched than the window takes', async () => {
  await using crowded = await startDeployment({ WORKER_SLOTS: '2' });
  const versionID = await crowded.saveVersion(calls());
  const ids = await crowded.runs.acceptMany(Array.from({ length: 8 }, () => crowded.newRun(versionID)));
  let most = 0;
  await crowded.startWorker();

  await eventually(async () => {
    const { rows } = await crowded.pool.query<{ taken: number; open: number }>(
      `select count(*) filter (where dispatched_at is not null or held_by is not null) as taken,
              count(*) filter (where completed_at is null) as open from workflow_instance`,
    );
    most = Math.max(most, rows[0]?.taken ?? 0);
    expect(rows[0]?.open).toBe(0);
  });

  // 1.25 × 2 slots, rounded up, less the place that is kept for a tenant with nothing in flight.
  expect(most).toBe(2);
  const { rows } = await crowded.pool.query<{ n: number }>(
    'select count(*) as n from workflow_instance where id = any($1::uuid[]) and epoch > 1',
    [ids],
  );
  expect(rows[0]?.n).toBeGreaterThan(0);
});
