import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { newID } from '#shared/core/ids.ts';
import { startAIProvider } from '#test/servers/ai-provider.ts';
import { readChunks } from '#test/support/chat.ts';
import { createClient } from '#test/support/client.ts';
import { startCluster } from '#test/support/cluster.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { aTenant, chain } from '#test/support/factories.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

const said = (text: string, id: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] });

test('a chat goes on after its API process was killed with a tool, and after its worker was', async () => {
  await using provider = await startAIProvider();
  const port = await freePort();
  const baseURL = `http://127.0.0.1:${port}`;
  const keyFile = join(tmpdir(), `gantry-test-issuer-${newID()}.json`);
  const settings = { PORT: String(port), DEV_ISSUER_KEY_FILE: keyFile, ...provider.settings };
  await using deployment = await startDeployment(settings);
  const { pool, env } = deployment;
  const startAPI = async () => {
    const api = spawnNode(['api/main.ts'], env);
    await eventually(async () => expect((await fetch(`${baseURL}/ready`)).ok).toBe(true));
    return api;
  };
  await using firstWorker = spawnNode(['workers/main.ts', 'ai.calls'], env);
  await using firstAPI = await startAPI();
  const { token } = (await createClient(baseURL, async () => ({})).post('/dev/token', { email: 'a@example.test' }))
    .body;
  const authorization = `Bearer ${token}`;
  const user = createClient(baseURL, async () => ({ authorization }));
  const tenantID: string = (await user.post('/api/v1/tenants', { tenantTitle: 'Chats' })).body.tenant.id;
  const who = user.in({ id: tenantID });
  const graph = { workflowNodes: [{ id: 'start', type: 'start', data: {} }], workflowEdges: [] };
  const { workflow } = (await who.post('T/workflows', { title: 'Cloned', ...graph })).body;
  const send = (messages: object[], resumable = true) =>
    fetch(`${baseURL}/api/v1/tenants/${tenantID}/ai/chat/stream`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'a', messages, resumable }),
    });
  const stored = async () => (await who.get('T/ai/chat/session?id=a')).body.messages;
  const workflows = async () =>
    (await pool.query('select from workflow where tenant_id = $1', [tenantID])).rowCount ?? 0;
  const hasWaiter = (statement: string) =>
    eventually(async () => {
      const { rowCount } = await pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
        [`%${statement}%`],
      );
      expect(rowCount).toBeGreaterThan(0);
    });

  const last = Promise.withResolvers<void>();
  provider.play(
    { calls: [{ name: 'clone_workflow', arguments: { workflowID: workflow.id } }] },
    { pieces: ['Cloned.'] },
    { pieces: ['Hel', 'lo.'], until: last.promise },
    { pieces: ['Hello again.'] },
  );
  await readChunks(await send([said('Clone it', 'm1')]));
  const answerMessage = (await stored()).at(-1);
  const parts = answerMessage.parts.map((part: { approval: object }) => ({
    ...part,
    state: 'approval-responded',
    approval: { ...part.approval, approved: true },
  }));
  // It is killed when the tool has done its work, and has not said so.
  const [ofTool, ofRow] = [await pool.connect(), await pool.connect()];
  await ofTool.query('begin; lock table workflow in share mode');
  const confirming = send([{ ...answerMessage, parts }])
    .then((response) => response.text())
    .catch(() => undefined);
  await hasWaiter('"workflow"');
  await ofRow.query('begin; select from ai_tool_call for update');
  await ofTool.query('rollback');
  await hasWaiter('update ai_tool_call set status');
  expect(await workflows()).toBe(2);
  await firstAPI.kill('SIGKILL');
  await confirming;
  await ofRow.query('rollback');
  for (const client of [ofTool, ofRow]) client.release();
  await eventually(async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'gantry.api' and state <> 'idle'`,
    );
    expect(rowCount).toBe(0);
  });
  // Statements that its connection had sent are done by the server: the end of the call is that of a process that died before it.
  await pool.query(`update ai_tool_call set status = 'ready', output = null, ended_at = null, claimed_until = now()`);
  await using secondAPI = await startAPI();
  await eventually(async () => expect((await stored()).at(-1).parts.at(-1).text).toBe('Cloned.'));
  expect(await workflows()).toBe(2);
  const calls = await pool.query('select status, attempts - asked_attempts as tries from ai_tool_call');
  expect(calls.rows).toEqual([{ status: 'done', tries: 2 }]);

  const answer = await send([said('Greet me', 'm2')]);
  const reading = readChunks(answer);
  await eventually(async () => {
    expect((await pool.query(STREAMS)).rowCount).toBe(1);
  });
  await firstWorker.kill('SIGKILL');
  await deployment.startWorker({}, ['ai.calls']);
  // Its lease would last for seconds.
  await pool.query(`update ai_answer set alive_until = now() - interval '1 second' where status = 'streaming'`);
  const chunks = await reading;
  last.resolve();
  expect(chunks.map(({ type }) => type)).toEqual(expect.arrayContaining(['reset-step', 'finish']));
  expect((await stored()).at(-1).parts).toEqual([{ type: 'text', text: 'Hello again.' }]);
  const { usage } = (await who.get('T/ai/usage')).body;
  expect(usage).toMatchObject({ calls: { used: 0 }, days: [{ calls: 4 }] });
  // The reservation of the worker that was killed counts as used.
  expect(usage.today.used).toBeGreaterThan(8_000);

  // The client of a process that is killed has gone, although no process could say so.
  const never = Promise.withResolvers<void>();
  provider.play({ pieces: ['Hel', 'lo.'], until: never.promise });
  const abandoned = provider.abandoned();
  const cut = send([said('Greet me again', 'm3')], false)
    .then((response) => response.text())
    .catch(() => undefined);
  const readUntil = `update ai_answer set read_until = now() where status = 'streaming' and read_until > now()`;
  await eventually(async () => expect((await pool.query(STREAMS)).rowCount).toBe(1));
  await secondAPI.kill('SIGKILL');
  await cut;
  expect((await pool.query(readUntil)).rowCount).toBe(1);
  await eventually(() => expect(provider.abandoned()).toBe(abandoned + 1));
  never.resolve();
});

const STREAMS = `select from ai_answer a where status = 'streaming' and exists (select from ai_chunk where answer_id = a.id)`;

test('the tool of an ai node is called once, although the worker of the node was killed meanwhile', async () => {
  await using provider = await startAIProvider();
  const settings = { ...provider.settings, WORKER_SESSION_SECONDS: '2' };
  await using cluster = await startCluster({ workers: false, settings });
  await using first = spawnNode(['workers/main.ts', 'workflow.runs'], cluster.env);
  const tenant = await aTenant(cluster);
  const admin = cluster.as(tenant.creator).in(tenant);
  const node = { type: 'ai', prompt: 'Go', tools: ['create_variable'] };
  const saved = await admin.post('T/workflows', {
    title: 'Asks',
    ...chain({ ask: node }, { answer: '{{ctx.aiAnswer}}' }),
  });
  const call = { name: 'create_variable', arguments: { name: 'rate', value: 1 } };
  provider.play({ calls: [call] }, { calls: [call] }, { pieces: ['Added.'] });
  const { pool } = cluster;
  const blocker = await pool.connect();
  await blocker.query('begin; lock table tenant_variable in share mode');

  const { instanceID } = (await admin.post(`T/workflows/${saved.body.workflow.id}/execute`, { args: {} })).body;
  await eventually(async () => {
    const begun = await pool.query(`select from ai_tool_call where tool = 'create_variable' and attempts > 0`);
    expect(begun.rowCount).toBe(1);
  });
  await first.kill('SIGKILL');
  await blocker.query('rollback');
  blocker.release();
  await cluster.startWorker();
  await eventually(async () => {
    const { body } = await admin.get(`T/workflows/instances/${instanceID}`);
    expect(body).toMatchObject({ status: 'COMPLETED', output: { answer: 'Added.' } });
  });

  expect((await admin.get('T/variables')).body.variables).toHaveLength(1);
  const calls = await pool.query(`select status from ai_tool_call where tool = 'create_variable'`);
  expect(calls.rows).toEqual([{ status: 'done' }]);
  // The model was asked again, by the second worker; what the killed one had reserved counts.
  expect(provider.seen).toHaveLength(3);
});
