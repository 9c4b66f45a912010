import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { aClaimedRun } from '#test/support/claimed-run.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { createReadWaits } from '#workers/engine/waits/wait-results.ts';
import { createWaitsAgain } from '#workers/engine/waits/waits-again.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** Wakes of a run whose waits take 20 ms to read, and what comes of them. */
function awake() {
  const run = aClaimedRun(noops(1), { id: newID() });
  run.begin();
  const seen = { reads: 0, applied: 0, givenUp: 0 };
  const { reread, readFirst } = createWaitsAgain({
    pool: deployment.pool,
    readWaits: async () => {
      seen.reads += 1;
      await sleep(20);
      return [];
    },
    logger: testLogger,
    apply: () => {
      seen.applied += 1;
    },
    onGivenUp: () => {
      seen.givenUp += 1;
    },
  });
  return { run, seen, reread, readFirst };
}

test('wakes that come while the waits of a run are read share one more read, and the run does not park before it', async () => {
  const { run, seen, reread, readFirst } = awake();
  reread(run);
  await eventually(() => expect(seen.reads).toBe(1));

  for (let wake = 0; wake < 40; wake += 1) reread(run);
  run.beginReading();
  readFirst(run);
  run.wait(run.state.begin()[0] as never, { kind: 'child', purpose: 'park', ms: null, ref: newID() }, () => undefined);
  await eventually(() => expect(seen.applied).toBe(1));
  run.rest();
  expect(run.takePending().release).toBe('none');
  await eventually(() => expect(seen.applied).toBe(2));
  run.rest();

  expect(seen).toEqual({ reads: 2, applied: 2, givenUp: 0 });
  expect(run.takePending().release).toBe('park');
  reread(run);
  await eventually(() => expect(seen.applied).toBe(3));
});

test('of the waits of an owned run those that are over or have reminders are read, and those for events', async () => {
  const { pool, tenantID } = deployment;
  const versionID = await deployment.saveVersion(noops(1));
  const [parent = '', ended = '', open = ''] = await deployment.runs.acceptMany([
    deployment.newRun(versionID),
    deployment.newRun(versionID),
    deployment.newRun(versionID),
  ]);
  await pool.query(`update workflow_instance set status = 'COMPLETED', completed_at = now() where id = $1`, [ended]);
  const questions = { pending: newID(), answered: newID(), late: newID(), reminded: newID() };
  await pool.query(
    `insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config, status, expires_at)
     select id, $1, $2, 'ask' || n, 'form', config, status, now() + late
     from unnest($3::uuid[], array['{}', '{}', '{}', '{"reminders":[]}']::jsonb[], array['PENDING', 'COMPLETED', 'PENDING', 'PENDING'],
       array['1 hour', null, '-1 second', null]::interval[]) with ordinality as r(id, config, status, late, n)`,
    [tenantID, parent, Object.values(questions)],
  );
  const maps = { open: newID(), over: newID() };
  await pool.query(
    `insert into run_map (id, instance_id, node_id, path, attempt, plan, scope, items, chunks, concurrency, max_result_size, outcome)
     select id, $1, 'map', 'p' || n, 1, '{}', '{}', 0, 0, 1, 1, outcome
     from unnest($2::uuid[], array[null, 'done']) with ordinality as r(id, outcome, n)`,
    [parent, Object.values(maps)],
  );
  const waits = [
    ['now', 'time', null, '-1 second'],
    ['later', 'time', null, '1 hour'],
    ['endedChild', 'child', ended, null],
    ['openChild', 'child', open, null],
    ...Object.entries(questions).map(([name, id]) => [name, 'input', id, null]),
    ['event', 'event', newID(), '1 hour'],
    ['openMap', 'chunks', maps.open, null],
    ['overMap', 'chunks', maps.over, null],
  ];
  await pool.query(
    `insert into run_wait (instance_id, node_id, kind, ref, due_at)
     select $1, name, kind, ref, now() + due from unnest($2::text[], $3::text[], $4::uuid[], $5::interval[]) as r(name, kind, ref, due)`,
    [parent, ...[0, 1, 2, 3].map((column) => waits.map((wait) => wait[column]))],
  );

  const [all, over] = await Promise.all(
    (['all', 'over'] as const).map((which) => createReadWaits(pool, async () => new Map(), which)(parent)),
  );

  expect(all).toHaveLength(waits.length);
  const names = over?.map(({ nodeID }) => nodeID).sort();
  expect(names).toEqual(['answered', 'endedChild', 'event', 'late', 'now', 'overMap', 'reminded']);
  const told = all?.filter(({ waitResult, question }) => waitResult !== null || question).map(({ nodeID }) => nodeID);
  expect(told?.sort()).toEqual(names?.filter((name) => name !== 'event'));
});
