import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Ending, endTree } from '#shared/runs/end-tree.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { noops } from '#test/support/graphs.ts';

/** Without a worker, whose sweep would end what is left of a tree a second later. */
let deployment: Deployment;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  versionID = await deployment.saveVersion(noops(1));
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** A run and its descendants, `width` children each, level by level. */
async function aTree(depth: number, width: number): Promise<string[][]> {
  const levels: string[][] = [[newID()]];
  for (let level = 1; level < depth; level += 1) levels.push(Array.from({ length: width ** level }, () => newID()));
  for (const [level, ids] of levels.entries()) {
    const parents = ids.map((_, at) => levels[level - 1]?.[Math.floor(at / width)] ?? null);
    await deployment.pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, status, epoch, deadline_at, caller, parent_id)
       select id, $3, $4, 'RUNNING', 1, now() + interval '1 hour', '{}', parent
       from unnest($1::uuid[], $2::uuid[]) as r(id, parent)`,
      [ids, parents, deployment.tenantID, versionID],
    );
  }
  return levels;
}

const error = { code: 'RUN_TIMEOUT', message: 'It took too long', nodeID: null, attempt: null };
const endAll = async (ending: Ending) => (await Array.fromAsync(endTree(deployment.pool, ending))).flat();
const read = (ids: readonly string[]) => Promise.all(ids.map((id) => deployment.read(id)));

test('a run ends with all of its descendants, parents first, and only the run itself has the error', async () => {
  const levels = await aTree(4, 2);
  const [root = []] = levels;

  // Without an open node an error that names nodes names none.
  const ending = { tenantID: null, ids: root, status: 'FAILED', error, namesNodes: true } as const;
  const ended = await endAll(ending);

  expect(ended).toHaveLength(15);
  let from = 0;
  for (const ids of levels) {
    expect(ended.slice(from, from + ids.length).sort()).toEqual([...ids].sort());
    from += ids.length;
  }
  const [first, ...others] = await read(ended);
  expect(first).toMatchObject({ status: 'FAILED', error, epoch: 2, completed_at: expect.any(Date) });
  for (const row of others) expect(row).toMatchObject({ status: 'CANCELLED', error: null, epoch: 2 });
});

test('an error that names nodes has those that run before those that wait, and says how many more there are', async () => {
  const [[root = ''] = [], [child = ''] = []] = await aTree(2, 1);
  const states = { a: 'SUSPENDED', b: 'RUNNING', c: 'SUCCESS', d: 'RUNNING', e: 'SUSPENDED', 'f "g"': 'RUNNING' };
  await deployment.pool.query(
    `insert into run_event (instance_id, seq, node_id, iteration, attempt, status)
     select $1, n, key, 0, n, value from json_each_text($2) with ordinality as e(key, value, n)`,
    [root, JSON.stringify(states)],
  );
  await deployment.pool.query('update workflow_instance set seq = 6 where id = $1', [root]);

  const ending = { tenantID: null, ids: [root], status: 'FAILED', error, namesNodes: true } as const;
  await endAll(ending);

  expect((await deployment.read(root)).error).toEqual({
    ...error,
    message: 'It took too long. It was at "b", "d", "f \\"g\\"" and 2 more',
    nodeID: 'b',
    attempt: 2,
    frame: [],
  });
  expect(await deployment.read(child)).toMatchObject({ status: 'CANCELLED', error: null });
});

test('descendants of a run that has ended before are ended', async () => {
  const levels = await aTree(3, 1);
  const [root = '', child = '', grandchild = ''] = levels.flat();
  await deployment.pool.query(`update workflow_instance set status = 'COMPLETED', completed_at = now() where id = $1`, [
    root,
  ]);

  expect(await endAll({ tenantID: null, ids: [root], status: 'CANCELLED', error: null })).toEqual([child, grandchild]);
  expect((await read([root, child, grandchild])).map(({ status }) => status)).toEqual([
    'COMPLETED',
    'CANCELLED',
    'CANCELLED',
  ]);
});

test('of a thousand descendants at most 500 end in one transaction, each with the events of its own nodes', async () => {
  const [root = [], children = []] = await aTree(2, 1_100);
  await deployment.pool.query(
    `insert into run_event (instance_id, seq, node_id, iteration, attempt, status)
     select id, n, 'n' || n, 0, 1, 'RUNNING' from unnest($1::uuid[]) with ordinality as r(id, at), generate_series(1, at % 3) n`,
    [children],
  );
  await deployment.pool.query(
    'update workflow_instance set seq = at % 3 from unnest($1::uuid[]) with ordinality as r(id, at) where workflow_instance.id = r.id',
    [children],
  );

  const pages = await Array.fromAsync(
    endTree(deployment.pool, { tenantID: null, ids: root, status: 'CANCELLED', error: null }),
  );

  expect(pages.map(({ length }) => length)).toEqual([1, 500, 500, 100]);
  const { rows } = await deployment.pool.query(
    `select i.seq::int, count(*)::int as runs, min(e.events)::int as min, max(e.events)::int as max
     from workflow_instance i,
       lateral (select count(*) filter (where status = 'CANCELLED') as events from run_event where instance_id = i.id) e
     where i.id = any($1::uuid[]) group by 1 order by 1`,
    [children],
  );
  expect(rows).toEqual([
    { seq: 1, runs: 366, min: 1, max: 1 },
    { seq: 3, runs: 367, min: 2, max: 2 },
    { seq: 5, runs: 367, min: 3, max: 3 },
  ]);
});

test('a run of another tenant stays as it is', async () => {
  const [[root = ''] = []] = await aTree(1, 1);

  expect(await endAll({ tenantID: newID(), ids: [root], status: 'CANCELLED', error: null })).toEqual([]);

  expect(await deployment.read(root)).toMatchObject({ status: 'RUNNING', epoch: 1 });
});
