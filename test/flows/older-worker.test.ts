import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

const EACH = 4;

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

/** In the midst of the new kind: it waits for its event. */
const awaiting = graph(
  {
    start: { type: 'start' },
    wait: { type: 'waitForEvent', eventName: 'approved', eventKey: '{{ctx.input.n}}' },
    add: code('return ctx.input.n + 1;'),
    end,
  },
  ['start>wait', 'wait:received>add', 'add:success>end'],
);
/** In the midst of the new kind: its only chunk is a run that asks a person. */
const mapping = graph(
  {
    start: { type: 'start' },
    each: { type: 'map', sourceVariable: ['{{ctx.input.n}}'] },
    ask: { type: 'approval' },
    add: code('return ctx.input.n + 1;'),
    first: code('return ctx.mapResults[0];'),
    end,
  },
  ['start>each', 'each:map>ask', 'ask:approved>add', 'each:completed>first', 'first:success>end'],
);
const NEW_KINDS = ['log', 'map', 'waitForEvent'];

const older = () =>
  spawnNode(['--import', './test/flows/older-worker.ts', 'workers/main.ts', 'workflow.runs'], {
    ...deployment.env,
    WITHOUT_KINDS: NEW_KINDS.join(),
  });
const newer = () => deployment.startWorker();

/** Returns when so many workers live, of which so many know the new kind. */
async function untilLive(workers: number, { knowing }: { knowing: number }): Promise<void> {
  await eventually(async () => {
    const { rows } = await deployment.pool.query(
      `select count(*) as workers, count(*) filter (where kinds::text[] && $1::text[]) as knowing from worker_session
       where ended_at is null and expires_at > now()`,
      [NEW_KINDS],
    );
    expect(rows).toEqual([{ workers, knowing }]);
  });
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

/** Gives the runs, or the chunks of their maps, what they wait for. */
async function answerAll(ids: readonly string[]): Promise<void> {
  const { rows } = await deployment.pool.query<{ id: string }>(ANSWER, [ids]);
  await deployment.runs.wake(rows.map(({ id }) => id));
}

const ANSWER = `
with approved as (
  update collection_request set status = 'COMPLETED', submitted_data = '{"decision":"approve"}'
  where instance_id in (select id from workflow_instance where id = any($1::uuid[]) or parent_id = any($1::uuid[]))
  returning instance_id as id
), event as (
  insert into workflow_event (id, tenant_id, name, key, data, bytes, caller, is_told, remembered_until)
  select uuidv7(), tenant_id, name, key, '{}', 2, '{}', true, now() from event_wait where instance_id = any($1::uuid[]) and is_open
  returning id, key
), given as (
  update event_wait w set is_open = false, event_id = event.id from event
  where w.key = event.key and w.instance_id = any($1::uuid[]) and w.is_open returning w.instance_id as id
)
select id from approved union all select id from given`;

/** Returns when so many questions are open and so many events are waited for. */
async function untilAsked(questions: number, events: number): Promise<void> {
  await eventually(async () => {
    const { rows } = await deployment.pool.query(
      `select (select count(*) from collection_request where status = 'PENDING') as questions,
         (select count(*) from event_wait where is_open) as events`,
    );
    expect(rows).toEqual([{ questions, events }]);
  });
}

async function expectAllCompleted(ids: readonly string[]): Promise<void> {
  await eventually(async () => expect(await statesOf(ids)).toEqual({ COMPLETED: ids.length }));
  for (const [n, id] of ids.entries())
    expect(await deployment.read(id)).toMatchObject({ output: { value: (n % EACH) + 1 }, error: null, losses: 0 });
}

test('beside a worker that does not know kinds of nodes, and after the others have gone, no run fails', async () => {
  await using first: Spawned = older();
  const second = await newer();
  await untilLive(2, { knowing: 1 });

  const plain = await accept(known);
  const before = await accept(unknown);
  const amid = [...(await accept(awaiting)), ...(await accept(mapping))];
  await expectAllCompleted(plain);
  await untilAsked(2 * EACH, EACH);
  const mixed = [...before, ...amid];
  await eventually(async () => expect(await statesOf(mixed)).toEqual({ WAITING: mixed.length }));
  const isEven = (_: string, n: number) => n % 2 === 0;
  const now = mixed.filter(isEven);
  await answerAll(now);
  await eventually(async () => expect(await statesOf(now)).toEqual({ COMPLETED: now.length }));

  // A rollback: the only worker left does not know them.
  await second[Symbol.asyncDispose]();
  await untilLive(1, { knowing: 0 });
  const later = mixed.filter((id, n) => !isEven(id, n));
  await answerAll(later);
  await eventually(async () => {
    const { rows } = await deployment.pool.query(
      `select count(*) as n from workflow_instance where (id = any($1::uuid[]) or parent_id = any($1::uuid[]))
         and hand_backs <> 0 and held_by is null and completed_at is null`,
      [later],
    );
    expect(rows).toEqual([{ n: later.length }]);
  });
  expect(await statesOf(later)).not.toHaveProperty('FAILED');
  await expectAllCompleted(await accept(known));

  await newer();
  await expectAllCompleted(mixed);
  await first.kill('SIGTERM');
}, 240_000);
