import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, chain, type TestTenant, type TestWorkflow } from '../../../support/factories.ts';
import { code, graph, noop } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
/** Fails at `check` unless the input says `ok`. */
let picky: TestWorkflow;

const check = code('if (!ctx.input.ok) throw new Error("not ok"); return ctx.drawn;', { outputVariable: 'checked' });
const steps = { draw: code('return Math.random();', { outputVariable: 'drawn' }), check };
const outputs = { drawn: '{{ctx.drawn}}', checked: '{{ctx.checked}}' };

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
  picky = await aWorkflow(cluster, { tenant, ...chain(steps, outputs) });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);
const run = async (id: string, body: object = {}) =>
  (await api().post(`T/workflows/${id}/execute?wait=30`, body)).body.instanceID as string;
/** Its preview says the same, or is refused in the same words, unless there is a key, which a preview does not take. */
async function rerun(instanceID: string, body?: object, headers?: Record<string, string>) {
  const path = `T/workflows/instances/${instanceID}/rerun`;
  if (headers) return api().post(path, body, headers);
  const preview = await api().post(`${path}/preview`, body);
  const answer = await api().post(path, body);
  const { reused = [], changed, error } = answer.body;
  expect(preview).toMatchObject({
    status: answer.status,
    body: answer.status === 200 ? { reused, changed } : { error: { code: error.code, message: error.message } },
  });
  const executed: string[] = preview.body.executed ?? [];
  expect([...reused].filter((nodeID) => executed.includes(nodeID))).toEqual([]);
  expect(executed).toEqual(expect.arrayContaining(changed ?? []));
  return answer;
}
const read = async (instanceID: string) => (await api().get(`T/workflows/instances/${instanceID}`)).body;

async function ended(instanceID: string) {
  await eventually(async () => expect(await read(instanceID)).toMatchObject({ completedAt: expect.any(String) }));
  return read(instanceID);
}

interface Event {
  nodeID: string;
  status: string;
  reusedFrom?: string;
  output: unknown;
  seq: number;
}

const executed = ({ timeline }: { timeline: Event[] }) =>
  timeline.filter(({ status, reusedFrom }) => status === 'RUNNING' && !reusedFrom).map(({ nodeID }) => nodeID);

test('from the failed node: results before it are taken over and marked, and it runs with the new input', async () => {
  const failed = await run(picky.id, { args: { a: 1 }, tags: ['march'] });
  const before = await read(failed);

  const answer = await rerun(failed, { from: 'failed', args: { ok: true } });

  expect(answer).toMatchObject({
    status: 200,
    body: { instanceID: expect.any(String), rerunOf: failed, reused: ['start', 'draw'], changed: [] },
  });
  const after = await ended(answer.body.instanceID);
  const drawn = before.timeline.find(({ nodeID, status }: Event) => nodeID === 'draw' && status === 'SUCCESS').output
    .drawn;
  expect(after).toMatchObject({ status: 'COMPLETED', rerunOf: failed, tags: ['march'], input: { ok: true } });
  expect(after.output).toEqual({ drawn, checked: drawn });
  expect(executed(after)).toEqual(['check', 'end']);
  expect(after.timeline.map(({ seq }: Event) => seq)).toEqual(after.timeline.map((_: Event, n: number) => n + 1));
  const reused = after.timeline.filter(({ reusedFrom }: Event) => reusedFrom);
  expect(reused).toMatchObject([
    { nodeID: 'start', status: 'SUCCESS', reusedFrom: failed },
    { nodeID: 'draw', status: 'SUCCESS', reusedFrom: failed },
  ]);
  const { instances } = (await api().get(`T/workflows/instances?rerunOf=${failed}`)).body;
  expect(instances).toMatchObject([{ instanceID: after.instanceID }]);
});

test('a large result is shown by its length and its beginning, and can be taken over', async () => {
  const list = `const list = []; for (let n = 0; n < 9_000; n += 1) list.push(Math.random()); return list;`;
  const large = { list: code(list, { outputVariable: 'list' }), last: code('return ctx.list.at(-1);') };
  const { id } = await aWorkflow(cluster, { tenant, ...chain(large, { last: '{{ctx.scriptResult}}' }) });
  const first = await ended(await run(id));
  const ofList = ({ timeline }: { timeline: Event[] }) =>
    timeline.find(({ nodeID, status }) => nodeID === 'list' && status === 'SUCCESS');
  const whole = ofList((await api().get(`T/workflows/instances/${first.instanceID}?outputs=full`)).body);
  const text = JSON.stringify(whole?.output);

  const again = await ended((await rerun(first.instanceID, { from: { nodeID: 'last' } })).body.instanceID);

  const brief = { output: null, outputOmitted: true, outputLength: text.length, outputPreview: text.slice(0, 200) };
  expect(ofList(first)).toMatchObject(brief);
  expect(ofList(again)).toMatchObject({ ...brief, reusedFrom: first.instanceID });
  expect(again.output).toEqual({ last: JSON.parse(text).list.at(-1) });
});

test('a result that was taken over twice stays that of the run that computed it', async () => {
  const first = await run(picky.id);
  const second = (await rerun(first, { from: 'failed' })).body.instanceID;
  expect(await ended(second)).toMatchObject({ status: 'FAILED', error: { nodeID: 'check' } });

  const third = (await rerun(second, { from: { nodeID: 'check' }, inputValues: { ok: 1 } })).body;

  expect(third.rerunOf).toBe(second);
  const after = await ended(third.instanceID);
  expect(after.status).toBe('COMPLETED');
  expect(after.timeline.slice(0, 2)).toMatchObject([{ reusedFrom: first }, { reusedFrom: first }]);
});

test('from the start: everything is computed again, with the input and the version of the run', async () => {
  const one = await run(picky.id, { args: { ok: true } });

  const { body } = await rerun(one);

  expect(body).toMatchObject({ reused: [], changed: [] });
  const [before, after] = [await read(one), await ended(body.instanceID)];
  expect(after).toMatchObject({ status: 'COMPLETED', input: { ok: true }, versionID: before.versionID });
  expect(after.output.drawn).not.toBe(before.output.drawn);
  expect(after.timeline.some(({ reusedFrom }: Event) => reusedFrom)).toBe(false);
});

test('from a node: it and everything behind it runs again, and what lies beside it does not', async () => {
  const value = (name: string) => code('return Math.random();', { outputVariable: name });
  const drawn = graph(
    {
      start: { type: 'start' },
      left: value('left'),
      right: value('right'),
      join: noop,
      end: {
        type: 'end',
        outputParameters: ['left', 'right'].map((name) => ({ name, sourceVariable: `{{ctx.${name}}}` })),
      },
    },
    ['start>left', 'start>right', 'left>join', 'right>join', 'join:yes>end'],
  );
  const { id } = await aWorkflow(cluster, { tenant, ...drawn });
  const before = await read(await run(id));

  const { body } = await rerun(before.instanceID, { from: { nodeID: 'right' } });

  expect(body.reused.sort()).toEqual(['left', 'start']);
  const after = await ended(body.instanceID);
  expect(after.output.left).toBe(before.output.left);
  expect(after.output.right).not.toBe(before.output.right);
});

test('from a node that the results before it lead past is refused, and possible from the node that decides', async () => {
  const isBig = { id: 'big', conditions: [{ operator: 'equals', leftValue: '{{ctx.input.size}}', rightValue: 'big' }] };
  const answer = (text: string) => code(`return "${text}";`, { outputVariable: 'answer' });
  const nodes = { start: { type: 'start' }, choose: { type: 'condition', branches: [isBig] }, big: answer('big') };
  const end = { type: 'end', outputParameters: [{ name: 'answer', sourceVariable: '{{ctx.answer}}' }] };
  const { id } = await aWorkflow(cluster, {
    tenant,
    ...graph({ ...nodes, small: answer('small'), end }, [
      'start>choose',
      'choose:big>big',
      'choose:default>small',
      'big>end',
      'small>end',
    ]),
  });
  const before = await run(id, { args: { size: 'big' } });
  const args = { size: 'little' };

  expect(await rerun(before, { from: { nodeID: 'small' }, args })).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringMatching(/^from\.nodeID: the branches of the run lead past "small"/) } },
  });
  const { body } = await rerun(before, { from: { nodeID: 'choose' }, args });
  expect((await ended(body.instanceID)).output).toEqual({ answer: 'small' });
  expect((await rerun(before, { from: { nodeID: 'end' } })).body.reused).toEqual(['start', 'choose', 'big']);
});

test('with another version, nodes are taken over only if they and those before them are as they were', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain(steps, outputs) });
  const failed = await run(id);
  const fixed = { ...steps, check: { ...check, code: 'return ctx.drawn;' } };
  await api().patch(`T/workflows/${id}`, chain(fixed, outputs));
  const other = { draw: { ...steps.draw, code: 'return 7;' }, check: fixed.check };
  const draft = await api().patch(`T/workflows/${id}`, { ...chain(other, outputs), draft: true });

  const published = (await rerun(failed, { from: 'failed', version: 'published' })).body;
  const named = (await rerun(failed, { from: 'failed', version: draft.body.workflow.versionID })).body;
  const numbered = (await rerun(failed, { from: 'failed', version: 1 })).body;

  expect(published).toMatchObject({ reused: ['start', 'draw'], changed: [] });
  expect(await ended(published.instanceID)).toMatchObject({ status: 'COMPLETED', versionNumber: 2 });
  expect(named).toMatchObject({ reused: ['start'], changed: ['draw'] });
  expect((await ended(named.instanceID)).output).toEqual({ drawn: 7, checked: 7 });
  expect(await ended(numbered.instanceID)).toMatchObject({ status: 'FAILED', versionNumber: 1 });
});

test('of a run that was cancelled, what had not ended is executed', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 60 } }) });
  const cancelled = (await api().post(`T/workflows/${id}/execute`, {})).body.instanceID;
  const stop = (instanceID: string) => api().delete(`T/workflows/instances/${instanceID}/stop`);
  await eventually(async () => expect(await read(cancelled)).toMatchObject({ status: 'WAITING' }));
  await stop(cancelled);

  const { body } = await rerun(cancelled, { from: 'failed' });

  expect(body).toMatchObject({ reused: ['start'], changed: [] });
  await stop(body.instanceID);
});

test('a re-run that cannot begin says why', async () => {
  const slow = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 60 } }) });
  const open = (await api().post(`T/workflows/${slow.id}/execute`)).body.instanceID;
  const done = await run(picky.id, { args: { ok: true } });
  const issuesOf = async (body: object) => {
    const { status, body: answered } = await rerun(done, body);
    return [status, answered.error.details?.issues.map(({ path }: { path: string[] }) => path.join('.'))];
  };

  expect(await rerun(open, { from: 'failed' })).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
  expect(await rerun(done, { from: 'failed' })).toMatchObject({ status: 409 });
  expect(await rerun(done, { version: newID() })).toMatchObject({ status: 404 });
  expect(await issuesOf({ from: { nodeID: 'none' } })).toEqual([400, ['from.nodeID']]);
  expect(await issuesOf({ from: { nodeID: 'check', frame: [{ nodeID: 'check', iteration: 1 }] } })).toEqual([
    400,
    ['from.frame'],
  ]);
  expect(await issuesOf({ from: 'somewhere' })).toEqual([400, ['from']]);
  expect(await issuesOf({ args: 1 })).toEqual([400, ['args']]);
  const tested = await api().post('T/workflows/test', chain());
  expect(await rerun(tested.body.instanceID)).toMatchObject({ status: 409 });
  await cluster.pool.query('delete from run_event where instance_id = $1 and seq < 3', [done]);
  const removed = await rerun(done, { from: { nodeID: 'check' } });
  expect(removed).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining('no longer kept') } },
  });
  expect(await rerun(done)).toMatchObject({ status: 200 });
});

test('the same request with an Idempotency-Key starts one re-run, also at once', async () => {
  const failed = await run(picky.id);
  const key = { 'Idempotency-Key': newID() };
  const body = { from: 'failed', args: { ok: true } };

  const [one, other] = await Promise.all([rerun(failed, body, key), rerun(failed, body, key)]);

  expect(one.status).toBe(200);
  expect(other.body).toEqual(one.body);
  const { instances } = (await api().get(`T/workflows/instances?rerunOf=${failed}`)).body;
  expect(instances).toHaveLength(1);
  expect(await rerun(failed, { from: 'start' }, key)).toMatchObject({ status: 409 });
});

test('a re-run needs the permissions to execute the workflow and to read the run', async () => {
  const failed = await run(picky.id);
  const [reader, executor] = [
    await aMember(cluster, { tenant, can: ['workflow.read'] }),
    await aMember(cluster, { tenant, can: ['workflow.execute'] }),
  ];
  const elsewhere = await aTenant(cluster);
  const path = `T/workflows/instances/${failed}/rerun`;

  expect((await cluster.as(reader).in(tenant).post(path)).status).toBe(403);
  expect((await cluster.as(executor).in(tenant).post(path)).status).toBe(403);
  expect((await cluster.as(elsewhere.creator).in(elsewhere).post(path)).status).toBe(404);
  const own = await cluster.as(executor).in(tenant).post(`T/workflows/${picky.id}/execute?wait=30`);
  const again = await cluster.as(executor).in(tenant).post(`T/workflows/instances/${own.body.instanceID}/rerun`);
  expect(again.status).toBe(200);
});
