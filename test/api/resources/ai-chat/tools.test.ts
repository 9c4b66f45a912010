import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AIProviderServer, startAIProvider } from '../../../servers/ai-provider.ts';
import { aChat, type ChatChunk, readChunks } from '../../../support/chat.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aDataQuery, anApiKey, aTenant, aWidget, aWorkflow, type TestTenant } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let provider: AIProviderServer;
let tenant: TestTenant;

beforeAll(async () => {
  provider = await startAIProvider();
  cluster = await startCluster({ apis: 2, workers: ['ai.calls'], settings: provider.settings });
});
beforeEach(async () => {
  tenant = await aTenant(cluster);
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const typesOf = (chunks: readonly ChatChunk[]) => chunks.map(({ type }) => type);
const sent = () => JSON.parse(provider.seen.at(-1)?.body ?? '{}');
const call = (name: string, args: object = {}) => ({ calls: [{ name, arguments: args }] });
const workflows = async () => {
  const { rows } = await cluster.pool.query('select id from workflow where tenant_id = $1', [tenant.id]);
  return rows.length;
};

test('a tool that reads is called at once, and its answer goes to the model as data', async () => {
  await aWorkflow(cluster, { tenant });
  provider.play({ pieces: ['Let me look.'], ...call('get_tenant_resource_summary') }, { pieces: ['One workflow.'] });
  const chat = aChat(cluster, tenant);
  const chunks = await chat.say('How many workflows are there?');
  const { messages, tools } = sent();
  const [, answer] = await chat.stored();

  expect(typesOf(chunks)).toEqual([
    ...['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'tool-input-available', 'finish-step'],
    'tool-output-available',
    ...['start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish'],
  ]);
  expect(messages.at(-1).role).toBe('tool');
  expect(messages.at(-1).content).toMatch(/^<data name="result of get_tenant_resource_summary">\n.*"workflow"/);
  expect(tools.map((tool: { function: { name: string } }) => tool.function.name)).toContain('search_tools');
  expect(answer?.parts.map(({ type, state }) => state ?? type)).toEqual([
    ...['text', 'output-available', 'step-start', 'text'],
  ]);
});

test('what a search finds can be called in the next step, with its form, and the input is checked', async () => {
  provider.play(
    call('search_tools', { query: 'cron job list' }),
    call('list_cron_jobs', { pageSize: 'many' }),
    call('list_cron_jobs', {}),
    { pieces: ['None.'] },
  );
  const chunks = await aChat(cluster, tenant).say('Which cron jobs are there?');
  const { tools, messages } = sent();
  const results = messages.flatMap(({ role, content }: { role: string; content: string }) =>
    role === 'tool' ? content : [],
  );

  expect(tools.map((tool: { function: { name: string } }) => tool.function.name)).toContain('list_cron_jobs');
  expect(JSON.stringify(tools).length).toBeLessThan(60_000);
  expect(results[0]).not.toContain('inputSchema');
  expect(results[1]).toContain('VALIDATION_ERROR');
  expect(chunks.filter(({ type }) => type === 'tool-output-available')).toHaveLength(2);
});

test('an answer ends at its limit of steps, also with a model that asks for tools which it is not offered', async () => {
  const last = Promise.withResolvers<void>();
  const again = call('list_workflows');
  provider.play({ pieces: ['I look.'], until: last.promise, ...again }, again, again);
  const begun = provider.seen.length;

  const saying = aChat(cluster, tenant).say('Look until you drop');
  await eventually(async () => {
    const late = `update ai_answer set step = 24 where tenant_id = $1 and status = 'streaming'`;
    expect((await cluster.pool.query(late, [tenant.id])).rowCount).toBe(1);
  });
  last.resolve();
  const chunks = await saying;

  expect(chunks.filter(({ type }) => type === 'tool-output-available')).toHaveLength(1);
  expect(chunks.at(-1)).toMatchObject({ type: 'error', errorText: expect.stringContaining('after 25 steps') });
  expect([provider.seen.length - begun, sent().tools]).toEqual([2, undefined]);
});

test('a tool that changes something waits for the confirmation in the row, and is done with it', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  provider.play(call('delete_workflow', { workflowID: workflow.id }), { pieces: ['It is gone.'] });
  const chat = aChat(cluster, tenant);
  const approvalAnswer = await chat.say('Delete it');
  const before = await workflows();
  const answered = await readChunks(await chat.decide(true));

  expect(typesOf(approvalAnswer).slice(-3)).toEqual(['finish-step', 'tool-approval-request', 'finish']);
  expect(before).toBe(1);
  expect(typesOf(answered).slice(0, 2)).toEqual(['start', 'tool-output-available']);
  expect(await workflows()).toBe(0);
  const { rows } = await cluster.pool.query(
    'select decided_by, attempts, status from ai_tool_call where tenant_id = $1',
    [tenant.id],
  );
  expect(rows).toEqual([{ decided_by: tenant.creator.id, attempts: 2, status: 'done' }]);
  await cluster.as(tenant.creator).in(tenant).delete('T/ai/chat/session');
  const entries = await cluster.pool.query(
    `select action, user_id, details - 'toolCallID' as details from audit_record where tenant_id = $1 and type = 'AI_TOOL_CALL'`,
    [tenant.id],
  );
  const details = { tool: 'delete_workflow', input: { workflowID: workflow.id }, reason: null };
  expect(entries.rows).toEqual([{ action: 'confirm', user_id: tenant.creator.id, details }]);

  // The queries of a widget are statements of the tenant, which may write.
  const widget = await aWidget(cluster, { tenant });
  provider.play(call('get_widget_data', { widgetID: widget.id }));
  expect(typesOf(await aChat(cluster, tenant).say('What does it show?')).at(-2)).toBe('tool-approval-request');
});

test('of the input of a call that is over no secret is kept, however it has ended', async () => {
  const keeps = call('create_variable', { name: 'rate', value: 'open-sesame' });
  provider.play(call('list_workflows', { password: 'open-sesame' }), keeps, { pieces: ['No.'] }, keeps, {
    pieces: ['Well.'],
  });
  const chat = aChat(cluster, tenant);
  await chat.say('Which workflows are there? And keep the rate');
  const { rows: done } = await cluster.pool.query(
    `select input, (select string_agg(chunks, '') from ai_chunk where answer_id = turn_id) as pieces
     from ai_tool_call where tenant_id = $1 and status = 'done'`,
    [tenant.id],
  );
  await readChunks(await chat.decide(false));
  await chat.say('Do keep it');
  await chat.say('Or do not');
  const { rows } = await cluster.pool.query(STORED, [tenant.id]);

  expect(done).toEqual([{ input: '{"password":"[REDACTED]"}', pieces: expect.stringContaining('[REDACTED]') }]);
  // The client of a waiting call shows all of its input until it is decided.
  expect(done[0].pieces.match(/open-sesame/g)).toHaveLength(1);
  expect(rows.map(({ state }) => state).sort()).toEqual(['denied', 'denied', 'deny', 'done']);
  for (const { input } of rows) expect(input).toContain('[REDACTED]');
});

const STORED = `
select status as state, input from ai_tool_call where tenant_id = $1
union all select action, details ->> 'input' from audit_record where tenant_id = $1 and type = 'AI_TOOL_CALL'`;

test('what a query was given is not in the trail, as it is not where the query is run by a request', async () => {
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant });
  provider.play(call('run_query', { dataQueryID, inputValues: { name: 'Ann' } }), { pieces: ['Not then.'] });
  const chat = aChat(cluster, tenant);
  await chat.say('Run it');
  await readChunks(await chat.decide(false));
  const { auditLogs } = (await cluster.as(tenant.creator).in(tenant).get('T/audit?type=AI_TOOL_CALL')).body;

  expect(auditLogs).toMatchObject([{ subType: 'deny', metadata: { tool: 'run_query', input: '[REDACTED]' } }]);
});

test('a no is told to the model, and so is that the user went on without an answer', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const deletes = call('delete_workflow', { workflowID: workflow.id });
  provider.play(deletes, { pieces: ['I leave it.'] }, deletes, { pieces: ['Then not.'] });
  const chat = aChat(cluster, tenant);
  await chat.say('Delete it');
  const denied = await readChunks(await chat.decide(false));
  const told = sent().messages.at(-1).content;
  await chat.say('Delete it, please');
  await chat.say('Something else');
  const toldAgain = sent().messages.at(-2).content;
  const stored = await chat.stored();

  expect(typesOf(denied).slice(0, 2)).toEqual(['start', 'tool-output-denied']);
  expect(told).toMatch(/did not confirm/);
  expect(toldAgain).toMatch(/did not confirm it: the answer was ended/);
  expect(stored.flatMap(({ parts }) => parts.flatMap(({ state }) => state ?? []))).toEqual([
    ...['output-denied', 'output-denied'],
  ]);
  expect(await workflows()).toBe(1);
});

test('a confirmation that comes twice is taken once, also in two processes', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  provider.play(call('clone_workflow', { workflowID: workflow.id }), { pieces: ['Cloned.'] });
  const chat = aChat(cluster, tenant);
  await chat.say('Clone it');
  const answers = await Promise.all([chat.decide(true), chat.decide(true)]);
  await Promise.all(answers.map((response) => response.text()));

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(await workflows()).toBe(2);
});

test('a plan is shown, and a question to the user is answered by the client', async () => {
  const steps = ['Look', 'Delete'].map((title, at) => ({ id: String(at), title }));
  provider.play(
    call('createPlan', { title: 'Clean up', steps }),
    call('updatePlan', { title: 'Clean up', steps: steps.slice(1) }),
    call('askUser', { kind: 'confirm', title: 'Really?' }),
    { pieces: ['As you like.'] },
  );
  const chat = aChat(cluster, tenant);
  const chunks = await chat.say('Clean up');
  const messages = await chat.stored();
  const last = messages.at(-1);
  const parts = last?.parts.map((part) =>
    part.toolName === 'askUser' ? { ...part, state: 'output-available', output: { confirmed: true } } : part,
  );
  const answered = await readChunks(await chat.send([{ ...last, parts }]));

  expect(chunks.flatMap(({ output, errorText }) => output ?? errorText ?? [])).toEqual([
    expect.objectContaining({ title: 'Clean up' }),
    expect.stringContaining('steps'),
  ]);
  expect(typesOf(answered)).toContain('tool-output-available');
  expect(sent().messages.at(-1).content).toContain('{"confirmed":true}');
});

test('a call belongs to its caller at the time of the call: a key that is revoked before the confirmation does nothing', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const key = await anApiKey(cluster, { tenant, can: ['ai.execute', 'workflow.delete', 'workflow.read'] });
  provider.play(call('delete_workflow', { workflowID: workflow.id }), { pieces: ['No.'] });
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Delete it' }] }];
  await cluster.withKey(key).in(tenant).post('T/ai/chat/stream', { id: 'a', messages });
  // As if it had been confirmed a moment before it was revoked.
  await cluster.as(tenant.creator).in(tenant).delete(`T/apikeys/${key.id}`);
  await cluster.pool.query(CONFIRM, [tenant.id]);

  await eventually(async () => {
    const { rows } = await cluster.pool.query('select status, output from ai_tool_call where tenant_id = $1', [
      tenant.id,
    ]);
    expect(rows).toEqual([{ status: 'failed', output: expect.stringMatching(/AUTH|API key/) }]);
  });
  expect(await workflows()).toBe(1);
});

const CONFIRM = `
with call as (update ai_tool_call set status = 'ready', decided_at = now() where tenant_id = $1 returning turn_id)
update ai_answer set status = 'calling', ended_at = null, alive_until = now() + interval '1 minute' from call where id = turn_id`;

test('a process that has gone: its call is done again once, and a step of a worker is begun again', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  provider.play(call('clone_workflow', { workflowID: workflow.id }), { pieces: ['Cloned.'] });
  const chat = aChat(cluster, tenant);
  await chat.say('Clone it');
  await readChunks(await chat.decide(true));
  // State of a process that has called the tool and could not say so.
  provider.play({ pieces: ['Still once.'] });
  await cluster.pool.query(FORGET_CALL, [tenant.id]);
  await eventually(async () => expect((await chat.stored()).at(-1)?.parts.at(-1)?.text).toBe('Still once.'));
  expect(await workflows()).toBe(2);
  const { rows } = await cluster.pool.query('select attempts from ai_tool_call where tenant_id = $1', [tenant.id]);
  expect(rows).toEqual([{ attempts: 3 }]);

  const last = Promise.withResolvers<void>();
  provider.play({ pieces: ['Hel', 'lo.'], until: last.promise }, { pieces: ['Hello again.'] });
  const saying = chat.say('Greet me');
  await eventually(async () => {
    const { rowCount } = await cluster.pool.query(LOSE_STEP, [tenant.id]);
    expect(rowCount).toBe(1);
  });
  const chunks = await saying;
  last.resolve();

  expect(typesOf(chunks)).toContain('reset-step');
  expect((await chat.stored()).at(-1)?.parts).toEqual([{ type: 'text', text: 'Hello again.' }]);
});

test('a confirmed tool that must not be repeated is called, and not again by a second process', async () => {
  const { id: workflowID, versionID } = await aWorkflow(cluster, { tenant });
  provider.play(call('restore_workflow_version', { workflowID, versionID }), { pieces: ['Restored.'] });
  const chat = aChat(cluster, tenant);
  await chat.say('Go back');
  const chunks = await readChunks(await chat.decide(true));
  const { rows: first } = await cluster.pool.query(STATUS, [tenant.id]);
  provider.play({ pieces: ['I cannot tell.'] });
  await cluster.pool.query(FORGET_CALL, [tenant.id]);
  await eventually(async () => expect((await chat.stored()).at(-1)?.parts.at(-1)?.text).toBe('I cannot tell.'));
  const { rows: second } = await cluster.pool.query(STATUS, [tenant.id]);

  expect(typesOf(chunks)).toContain('tool-output-available');
  expect(first).toEqual([{ status: 'done' }]);
  expect(second).toEqual([{ status: 'failed' }]);
  expect(JSON.stringify(sent().messages)).toContain('not known what was done');
});

const STATUS = 'select status from ai_tool_call where tenant_id = $1';

const FORGET_CALL = `
with call as (
  update ai_tool_call set status = 'ready', output = null, ended_at = null, claimed_until = now() where tenant_id = $1 returning turn_id)
update ai_answer set status = 'calling', ended_at = null, alive_until = now() + interval '1 minute', claimed_until = null
from call where id = turn_id`;

// The worker has written something, and its fence is another's now.
const LOSE_STEP = `
update ai_answer set alive_until = now() - interval '1 second', call_id = gen_random_uuid()
where tenant_id = $1 and status = 'streaming' and exists (select from ai_chunk where answer_id = ai_answer.id)`;

test('tools that are slow stop no tool of another creator, and no answer of a chat', async () => {
  const { pool } = cluster;
  async function slowCalls(creators: number, each: number): Promise<void> {
    for (let n = 0; n < creators; n += 1) {
      const { id, creator } = await aTenant(cluster);
      const caller = JSON.stringify({ type: 'user', id: creator.id, userID: creator.id, origin: 'direct' });
      const { id: workflowID } = await aWorkflow(cluster, { tenant: { id, creator } });
      // No worker takes the run that it waits for.
      await pool.query(SLOW_CALLS, [id, caller, JSON.stringify({ workflowID, wait: 60 }), each]);
    }
  }
  const running = async () => (await pool.query(RUNNING)).rowCount;
  await slowCalls(8, 4);
  await eventually(async () => expect(await running()).toBeGreaterThan(25));
  await sleep(1_000);
  provider.play(call('list_workflows'), { pieces: ['None.'] });
  const withTool = await aChat(cluster, tenant).say('Which workflows are there?');
  await slowCalls(7, 1);
  await eventually(async () => expect(await running()).toBe(32));
  provider.play({ pieces: ['Hello.'] });
  const without = await aChat(cluster, tenant).say('Greet me');
  await pool.query(`delete from ai_tool_call where tool = 'execute_workflow'`);

  expect(typesOf(withTool)).toContain('tool-output-available');
  expect([withTool, without].map((chunks) => chunks.at(-1)?.type)).toEqual(['finish', 'finish']);
});

const RUNNING = `select from ai_tool_call where tool = 'execute_workflow' and claimed_until > now()`;
const SLOW_CALLS = `
insert into ai_tool_call (id, tenant_id, turn_id, number, tool, input, input_digest, caller, is_granted)
select uuidv7(), $1, uuidv7(), 0, 'execute_workflow', $3, '', $2, true from generate_series(1, $4)`;

test('proposals change nothing, wait for no approval, and reach the client whole; the model is told what is wrong with one', async () => {
  const change = {
    workflowID: null,
    title: 'Orders',
    summary: 'Reads the orders.',
    steps: [
      {
        id: 'call',
        type: 'http',
        data: { url: 'https://api.example.com', headers: { authorization: '{{vars.key}}' } },
      },
    ],
    connections: [{ source: 'start', target: 'call' }],
  };
  const query = { datasourceID: null, title: 'All', summary: 'All of it.', dataQueryOptions: { query: 'select 1' } };
  const [wrong] = change.steps.map((step) => ({ ...change, steps: [{ ...step, type: 'teleport' }] }));
  const page = {
    ...{
      appPageID: null,
      title: 'Refunds',
      summary: 'A button.',
      widgets: [{ name: 'a', type: 'button', title: 'A' }],
    },
    sources: [{ alias: 'refund', workflowID: '01990d3e-5c00-7a10-8000-000000000009' }],
  };
  const badPage = {
    ...page,
    ...{ title: undefined, sources: [{ alias: 'refund' }], widgets: [{ name: 'a b', type: 'lever', title: 'A' }] },
  };
  const large = { ...query, dataQueryOptions: { query: 'x'.repeat(40_000) } };
  provider.play(
    call('proposeWorkflow', wrong),
    call('proposeWorkflow', change),
    call('proposeQuery', large),
    call('proposeQuery', query),
    call('proposePage', badPage),
    call('proposePage', page),
    { pieces: ['See above.'] },
  );
  const chunks = await aChat(cluster, tenant).say('Read the orders');
  const { messages } = sent();
  const results = messages.flatMap(({ role, content }: { role: string; content: string }) =>
    role === 'tool' ? content : [],
  );
  const shown = chunks.filter(({ type }) => type === 'tool-output-available').map(({ output }) => output);

  expect(typesOf(chunks)).not.toContain('tool-approval-request');
  expect(results).toEqual([
    expect.stringContaining('there is no kind of nodes "teleport"'),
    expect.stringContaining('The user sees it and decides'),
    expect.stringContaining('more than 30000 characters'),
    expect.stringContaining('The user sees it and decides'),
    expect.stringMatching(/one of query, dataQueryID and workflowID.*there is no type of widgets "lever"/s),
    expect.stringContaining('The user sees it and decides'),
  ]);
  expect(shown).toMatchObject([{ ...change, removedSteps: [] }, query, { ...page, removedWidgets: [] }]);
  expect((await cluster.as(tenant.creator).in(tenant).get('T/app-pages')).body.appPages).toEqual([]);
  expect(await workflows()).toBe(0);
});
