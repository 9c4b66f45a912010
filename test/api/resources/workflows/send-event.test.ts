import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import {
  FIND_REACHED,
  FIND_REMEMBERED,
  FIND_UNTOLD,
  FIND_WAITING_WORKFLOWS,
  GIVE_EVENT,
  HAS_LEFT,
  READ_EVENT_WAITS,
} from '#shared/runs/workflow-event-rows.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, type TestTenant, type TestUser } from '../../../support/factories.ts';
import { graph } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
const shape = graph(
  {
    start: { type: 'start' },
    wait: { type: 'waitForEvent', eventName: 'paid', eventKey: '{{ctx.input.key}}' },
    end: { type: 'end', outputParameters: [{ name: 'data', sourceVariable: '{{ctx.event}}' }] },
  },
  ['start>wait', 'wait:received>end'],
);

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const as = (user: TestUser) => cluster.as(user).in(tenant);
const send = (user: TestUser, body: object, headers: Record<string, string> = {}) =>
  as(user).post('T/workflows/events', { name: 'paid', ...body }, headers);

async function parked(workflowID: string, key: string | number): Promise<string> {
  const { body } = await as(tenant.creator).post(`T/workflows/${workflowID}/execute`, { args: { key } });
  const { instanceID } = body;
  await eventually(async () =>
    expect((await as(tenant.creator).get(`T/workflows/instances/${instanceID}`)).body).toMatchObject({
      status: 'WAITING',
      waiting: { reason: 'event', until: expect.any(String) },
      waitReason: {
        code: 'event',
        message: `waits for the event \`paid\` with key \`${key}\` at “wait”`,
        until: expect.any(String),
      },
    }),
  );
  return instanceID;
}

async function outputOf(instanceID: string): Promise<unknown> {
  const read = () => as(tenant.creator).get(`T/workflows/instances/${instanceID}`);
  await eventually(async () => expect((await read()).body.status).toBe('COMPLETED'));
  return (await read()).body.output;
}

test('an event reaches runs of workflows that its sender may execute, now and when it is remembered', async () => {
  const [open, closed] = [
    await aWorkflow(cluster, { tenant, ...shape }),
    await aWorkflow(cluster, { tenant, ...shape }),
  ];
  const member = await aMember(cluster, { tenant, rules: [{ object: `workflow:${open.id}`, action: 'execute' }] });
  const [one, two] = [await parked(open.id, 7), await parked(closed.id, 7)];

  expect(await send(member, { key: 7, data: { amount: 1 } })).toMatchObject({
    status: 200,
    body: { eventID: expect.any(String), reached: 1, runs: [{ instanceID: one, workflowID: open.id }] },
  });
  expect(await outputOf(one)).toEqual({ data: { amount: 1 } });
  // Remembered for the other workflow as well, and not taken there.
  const three = await parked(closed.id, '7');
  const { body } = await send(tenant.creator, { key: '7', data: 'theirs' });
  expect(body.runs.map(({ instanceID }: { instanceID: string }) => instanceID).sort()).toEqual([two, three].sort());
  for (const id of [two, three]) expect(await outputOf(id)).toEqual({ data: 'theirs' });

  const stranger = await aMember(cluster, { tenant, can: ['workflow.read'] });
  expect(await send(stranger, { key: 7 })).toMatchObject({ status: 403 });
});

test('a repeated request sends nothing again, also after a process that died before it had told the runs', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const key = newID();
  const first = await parked(id, key);
  const headers = { 'Idempotency-Key': newID() };
  const sent = await send(tenant.creator, { key, data: 1, rememberMinutes: 0 }, headers);
  expect(await outputOf(first)).toEqual({ data: 1 });
  const second = await parked(id, key);

  expect((await send(tenant.creator, { key, data: 1, rememberMinutes: 0 }, headers)).body).toEqual(sent.body);
  expect(await send(tenant.creator, { key, data: 2, rememberMinutes: 0 }, headers)).toMatchObject({ status: 409 });
  // As if it had ended after its first commit.
  await cluster.pool.query(
    `update idempotency set response = jsonb_build_object('eventID', response -> 'eventID') where key = $1`,
    [headers['Idempotency-Key']],
  );
  await cluster.pool.query('update workflow_event set is_told = false where id = $1', [sent.body.eventID]);
  const again = await send(tenant.creator, { key, data: 1, rememberMinutes: 0 }, headers);
  expect(again.body.eventID).toBe(sent.body.eventID);
  expect(again.body.runs).toHaveLength(2);
  expect(await outputOf(second)).toEqual({ data: 1 });
});

test('faults of an event are named by their fields, and its data has a limit', async () => {
  const { status, body } = await send(tenant.creator, { key: '', rememberMinutes: -1 });
  expect(status).toBe(400);
  expect(JSON.stringify(body.error.details)).toMatch(/key.*rememberMinutes/);
  const large = await send(tenant.creator, { key: 1, data: 'x'.repeat(1024 * 1024) });
  expect(large).toMatchObject({ status: 400, body: { error: { message: expect.stringContaining('data') } } });
});

test('remembered events of a tenant are bounded in number and bytes', async () => {
  const own = await aTenant(cluster);
  const set = (quota: string, max: number) =>
    cluster.pool.query('insert into quota (owner_id, name, max) values ($1, $2, $3)', [own.id, quota, max]);
  const post = (data: unknown) =>
    cluster.as(own.creator).in(own).post('T/workflows/events', { name: 'a', key: 'b', data });
  await set('events', 2);
  await set('eventBytes', 100);

  expect((await post('x')).status).toBe(200);
  expect(await post('x'.repeat(100))).toMatchObject({
    status: 429,
    body: { error: { code: 'QUOTA_EXCEEDED', details: { quota: 'eventBytes' } } },
  });
  expect((await post('y')).status).toBe(200);
  expect(await post('z')).toMatchObject({ status: 429, body: { error: { details: { quota: 'events' } } } });
});

test('an event is sent, and a wait looks for events, without reading the other waits and events', async () => {
  const { pool } = cluster.context;
  const [tenantID, eventID] = [newID(), newID()];
  const { rows } = await pool.query<{ id: string }>(FILL, [tenantID, eventID]);
  const [wait] = rows;
  const values = [tenantID, 'paid', 'key-77'];
  const stranger = '00000000-0000-0000-0000-000000000000';
  const statements: [string, string, unknown[]][] = [
    ['workflows', FIND_WAITING_WORKFLOWS, values],
    ['give', GIVE_EVENT, [...values, [stranger], eventID, 500]],
    ['left', HAS_LEFT, [...values, [stranger], eventID]],
    ['reached', FIND_REACHED, [eventID, 1000]],
    ['untold', FIND_UNTOLD, [500]],
    ['read', READ_EVENT_WAITS, [[wait?.id]]],
    ['remembered', FIND_REMEMBERED, [wait?.id, '-infinity', stranger, 100]],
  ];
  const client = await pool.connect();
  try {
    for (const analyzed of [false, true]) {
      // Before the first analysis the planner knows the tables by their size alone.
      if (analyzed) for (const table of ['event_wait', 'workflow_event']) await pool.query(`vacuum analyze ${table}`);
      for (const [name, text, parameters] of statements) {
        await client.query('begin');
        const answer = await client.query(`explain (analyze, buffers, format json) ${text}`, parameters);
        await client.query('rollback');
        const plan = answer.rows[0]['QUERY PLAN'][0].Plan;
        expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], `${name} ${JSON.stringify(plan)}`).toBeLessThan(
          200,
        );
      }
    }
  } finally {
    client.release();
  }
});

// One wait and one event for each key.
const FILL = `
with tenants as (insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $1)),
events as (
  insert into workflow_event (id, tenant_id, name, key, data, bytes, caller, is_told, remembered_until)
  select case n when 77 then $2::uuid else uuidv7() end, $1, 'paid', 'key-' || n, '{}', 2, '{}', true, now() + interval '1 hour'
  from generate_series(1, 100000) n),
waits as (
  insert into event_wait (id, tenant_id, instance_id, workflow_id, name, key, since)
  select uuidv7(), $1, uuidv7(), '00000000-0000-0000-0000-000000000000', 'paid', 'key-' || n, now() - interval '1 hour'
  from generate_series(1, 100000) n returning id, key)
select id from waits where key = 'key-77'`;
