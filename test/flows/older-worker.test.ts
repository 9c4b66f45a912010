import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

const PATIENCE_MS = 60_000;
const EACH = 20;

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
});
afterAll(() => deployment[Symbol.asyncDispose]());

const end = { type: 'end', outputParameters: [{ name: 'value', sourceVariable: '{{ctx.scriptResult}}' }] };
const known = graph({ start: { type: 'start' }, add: code('return ctx.input.n + 1;'), end }, [
  'start>add',
  'add:success>end',
]);
/** The kind of `label` is new; before it a person is asked, so that the run is continued by a worker that did not begin it. */
const unknown = graph(
  {
    start: { type: 'start' },
    ask: { type: 'approval' },
    add: code('return ctx.input.n + 1;'),
    label: { type: 'log', message: 'The value is {{ctx.scriptResult}}' },
    end,
  },
  ['start>ask', 'ask:approved>add', 'add:success>label', 'label>end'],
);

const older = () =>
  spawnNode(['--import', './test/support/older-worker.ts', 'workers/main.ts'], {
    ...deployment.env,
    WITHOUT_KINDS: 'log',
  });
const newer = () => spawnNode(['workers/main.ts'], deployment.env);

/** Returns when so many workers live, of which so many know the new kind. */
async function untilLive(workers: number, { knowing }: { knowing: number }): Promise<void> {
  await eventually(async () => {
    const { rows } = await deployment.pool.query(
      `select count(*) as workers, count(*) filter (where 'log' = any(kinds)) as knowing from worker_session
       where ended_at is null and expires_at > now()`,
    );
    expect(rows).toEqual([{ workers, knowing }]);
  }, PATIENCE_MS);
}

async function accept(shape: { nodes: object[]; edges: object[] }): Promise<string[]> {
  const versionID = await deployment.saveVersion(shape);
  return deployment.runs.acceptMany(Array.from({ length: EACH }, (_, n) => deployment.newRun(versionID, { n })));
}

async function statesOf(ids: readonly string[]) {
  const { rows } = await deployment.pool.query<{ status: string; n: number }>(
    'select status, count(*) as n from workflow_instance where id = any($1::uuid[]) group by 1 order by 1',
    [ids],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

async function approveAll(ids: readonly string[]): Promise<void> {
  await deployment.pool.query(
    `update collection_request set status = 'COMPLETED', submitted_data = '{"decision":"approve"}' where instance_id = any($1::uuid[])`,
    [ids],
  );
  await deployment.runs.wake(ids);
}

async function expectAllCompleted(ids: readonly string[]): Promise<void> {
  await eventually(async () => expect(await statesOf(ids)).toEqual({ COMPLETED: EACH }), PATIENCE_MS);
  for (const [n, id] of ids.entries())
    expect(await deployment.read(id)).toMatchObject({ output: { value: n + 1 }, error: null, losses: 0 });
}

test('beside a worker that does not know a kind of node, and after the others have gone, no run fails', async () => {
  await using first: Spawned = older();
  await using second: Spawned = newer();
  await untilLive(2, { knowing: 1 });

  const plain = await accept(known);
  const mixed = await accept(unknown);
  await expectAllCompleted(plain);
  await eventually(async () => expect(await statesOf(mixed)).toEqual({ WAITING: EACH }), PATIENCE_MS);
  await approveAll(mixed.slice(0, EACH / 2));
  await eventually(
    async () => expect(await statesOf(mixed)).toEqual({ COMPLETED: EACH / 2, WAITING: EACH / 2 }),
    PATIENCE_MS,
  );

  // A rollback: the only worker left does not know them.
  await second.kill('SIGTERM');
  await untilLive(1, { knowing: 0 });
  await approveAll(mixed.slice(EACH / 2));
  await eventually(async () => {
    const { rows } = await deployment.pool.query(
      'select count(*) as n from workflow_instance where id = any($1::uuid[]) and hand_backs > 0 and held_by is null and completed_at is null',
      [mixed],
    );
    expect(rows).toEqual([{ n: EACH / 2 }]);
  }, PATIENCE_MS);
  await expectAllCompleted(await accept(known));

  await using _third = newer();
  await expectAllCompleted(mixed);
  await first.kill('SIGTERM');
}, 240_000);
