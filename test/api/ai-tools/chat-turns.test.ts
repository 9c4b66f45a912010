import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { dropAnswer, endLostAnswer, keepReading } from '#api/ai/chat.ts';
import { claimCall, claimTurn, dropUnread, renewCall } from '#api/ai-tools/chat-turns.ts';
import { readMessages } from '#api/resources/ai-chat/messages.ts';
import { readQuotas } from '#shared/access/quotas.ts';
import { newID } from '#shared/core/ids.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { onPool } from '#shared/db/query.ts';
import { readConversation } from '#workers/ai/conversation.ts';
import { freshDatabase } from '../../support/database.ts';
import { testLogger } from '../../support/environment.ts';

let pool: Pool;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  const { url } = resources.use(await freshDatabase());
  pool = createPool({ url, poolSize: 2 }, testLogger);
  resources.defer(() => pool.end());
});
afterAll(() => resources.disposeAsync());
beforeEach(async () => {
  await pool.query('truncate ai_tool_call, ai_session cascade');
});

/** A tenant of the creator for which so many nodes ask for a tool. */
async function callsOf(creatorID: string, count: number): Promise<string> {
  const tenantID = newID();
  const caller = JSON.stringify({ type: 'user', id: creatorID, origin: 'workflow' });
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $2)`, [tenantID, creatorID]);
  await pool.query(
    `insert into ai_tool_call (id, tenant_id, turn_id, number, tool, input, input_digest, caller)
     select uuidv7(), $1, uuidv7(), 0, 'create_variable', '{"value":1}', '', $3 from generate_series(1, $2)`,
    [tenantID, count, caller],
  );
  return tenantID;
}

test('a creator has six calls under way over all tenants, a tenant four, and who has fewer comes first', async () => {
  const [many, one] = [newID(), newID()];
  const [first, second, third] = [await callsOf(many, 9), await callsOf(many, 9), await callsOf(many, 9)];
  const other = await callsOf(one, 9);

  const claimed: string[] = [];
  const claim = () => claimCall(pool, { free: 16 });
  for (let call = await claim(); call; call = await claim()) claimed.push(call.tenantID);

  const countOf = (tenantID: string) => claimed.filter((id) => id === tenantID).length;
  expect([first, second, third].map(countOf)).toEqual([2, 2, 2]);
  expect(countOf(other)).toBe(4);
  expect(claimed.slice(0, 4)).toEqual([first, other, second, other]);
});

test('of the places of a process, one stays for a creator who has no call under way', async () => {
  for (let creator = 0; creator < 8; creator += 1) await callsOf(newID(), 9);
  let free = 16;
  while (await claimCall(pool, { free })) free -= 1;
  const late = await callsOf(newID(), 9);

  expect(free).toBeGreaterThan(0);
  expect(free).toBeLessThan(8);
  expect(await claimCall(pool, { free })).toMatchObject({ tenantID: late });
});

/** An answer of a chat, which its client has read so many seconds ago; null: it goes on without one. */
async function anAnswer(tenantID: string, status = 'calling', readAgo: number | null = null): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(ANSWER, [
    tenantID,
    status,
    readAgo,
    JSON.stringify({ type: 'user', id: tenantID, origin: 'direct' }),
  ]);
  return rows[0]?.id ?? expect.fail('no answer');
}

const ANSWER = `
with session as (
  insert into ai_session (id, tenant_id, owner_id, chat_id) values (uuidv7(), $1, $1, uuidv7()::text) returning id)
insert into ai_answer (id, session_id, tenant_id, is_resumable, status, alive_until, caller, read_until)
select uuidv7(), id, $1, $3::int is null, $2, now() + interval '1 minute', $4, now() - make_interval(secs => $3) from session
returning id`;

test('an answer of a tenant with fewer under way goes on first', async () => {
  const [busy, other] = [newID(), newID()];
  for (const tenantID of [busy, busy, busy, other]) await anAnswer(tenantID);
  const claimed: (string | undefined)[] = [];
  for (let n = 0; n < 4; n += 1) claimed.push((await claimTurn(pool))?.tenantID);

  expect(claimed).toEqual([busy, other, busy, busy]);
});

test('an answer that no process sends to its client any more is not wanted, unless it goes on without one', async () => {
  const tenantID = newID();
  const [waits, streams, read] = [
    await anAnswer(tenantID, 'waiting', 1),
    await anAnswer(tenantID, 'streaming', 1),
    await anAnswer(tenantID, 'streaming', 1),
  ];
  const stored = [await anAnswer(tenantID, 'streaming'), await anAnswer(tenantID, 'done', 1), read];
  await keepReading(pool, read);

  expect((await dropUnread(pool)).sort()).toEqual([waits, streams].sort());
  const { rows } = await pool.query('select id, status, is_unwanted from ai_answer order by id');
  expect(rows).toEqual([
    { id: waits, status: 'cancelled', is_unwanted: true },
    { id: streams, status: 'streaming', is_unwanted: true },
    { id: read, status: 'streaming', is_unwanted: false },
    { id: stored[0], status: 'streaming', is_unwanted: false },
    { id: stored[1], status: 'done', is_unwanted: false },
  ]);
  expect(await dropUnread(pool)).toEqual([]);
});

test('a call that waits in an answer which is dropped or lost ends with it, and keeps no input', async () => {
  const tenantID = await callsOf(newID(), 4);
  const [unread, dropped, lost, open] = [
    await anAnswer(tenantID, 'calling', 1),
    await anAnswer(tenantID),
    await anAnswer(tenantID),
    await anAnswer(tenantID),
  ];
  const { rows: calls } = await pool.query<{ id: string }>('select id from ai_tool_call order by id');
  for (const [at, answerID] of [unread, dropped, lost, open].entries()) {
    const id = calls[at]?.id;
    await pool.query('update ai_tool_call set turn_id = $2 where id = $1', [id, answerID]);
    const piece = { type: 'tool-input-available', toolCallId: id, input: { value: 1 } };
    await pool.query('insert into ai_chunk (answer_id, number, tenant_id, chunks) values ($1, 1, $2, $3)', [
      ...[answerID, tenantID, JSON.stringify([piece])],
    ]);
  }
  await pool.query(`update ai_answer set alive_until = now() - interval '1 minute' where id = $1`, [lost]);

  await dropUnread(pool);
  await dropAnswer(pool, dropped);
  await endLostAnswer(pool, lost);

  const { rows } = await pool.query<{ status: string; input: string; chunks: string }>(
    'select c.status, c.input, k.chunks from ai_tool_call c join ai_chunk k on k.answer_id = c.turn_id order by c.id',
  );
  const stored = ({ status, input, chunks }: { status: string; input: string; chunks: string }) => [
    status,
    input,
    JSON.parse(chunks)[0].input,
  ];
  const removed = ['denied', '{}', {}];
  expect(rows.map(stored)).toEqual([removed, removed, removed, ['ready', '{"value":1}', { value: 1 }]]);
});

test('a call of a run that has ended is claimed by no process, and the process that has it is told', async () => {
  const tenantID = await callsOf(newID(), 3);
  const [open, ended] = [newID(), newID()];
  for (const [id, end] of [[open, null] as const, [ended, new Date()] as const])
    await pool.query(RUN, [id, tenantID, end]);
  const { rows: calls } = await pool.query<{ id: string }>('select id from ai_tool_call order by id');
  const runOf = async (at: number, run: string) =>
    pool.query('update ai_tool_call set instance_id = $2 where id = $1', [calls[at]?.id, run]);
  await runOf(0, ended);
  await runOf(1, open);

  const [first, second] = [await claimCall(pool, { free: 16 }), await claimCall(pool, { free: 16 })];
  expect([first?.id, second?.id]).toEqual([calls[1]?.id, calls[2]?.id]);
  const states = await pool.query('select status, attempts, input from ai_tool_call order by id');
  expect(states.rows).toEqual([
    { status: 'failed', attempts: 0, input: '{}' },
    { status: 'ready', attempts: 1, input: '{"value":1}' },
    { status: 'ready', attempts: 1, input: '{"value":1}' },
  ]);
  if (!first || !second) return expect.fail('nothing was claimed');
  expect([await renewCall(pool, first), await renewCall(pool, second)]).toEqual([true, true]);
  await runOf(1, ended);
  expect([await renewCall(pool, first), await renewCall(pool, second)]).toEqual([false, true]);
});

const RUN = `
insert into workflow_instance (id, tenant_id, version_id, status, caller, deadline_at, completed_at)
values ($1, $2, $1, case when $3::timestamptz is null then 'RUNNING' else 'CANCELLED' end, '{}', now(), $3)`;

test('pieces of answers count in the quota of chats, and calls of nodes in their own', async () => {
  const tenantID = await callsOf(newID(), 2);
  const answerID = await anAnswer(tenantID);
  const used = async () =>
    (await readQuotas(onPool(pool), ['aiChatBytes', 'aiNodeBytes'], tenantID)).map(({ used }) => used);
  expect(await used()).toEqual([0, 22]);
  await pool.query(`insert into ai_chunk (answer_id, number, tenant_id, chunks) values ($1, 1, $2, '[1,2,3]')`, [
    answerID,
    tenantID,
  ]);
  expect(await used()).toEqual([7, 22]);
});

test('of a long session the newest messages and calls are read, for a client and for a model', async () => {
  const id = newID();
  const caller = { type: 'user' as const, id, origin: 'direct' as const };
  const { rows } = await pool.query<{ id: string }>(SESSION, [id]);
  const sessionID = rows[0]?.id ?? '';
  const stored = async () => {
    const { messages, isCut } = await readMessages(pool, { tenantID: id, caller, chatID: 'a' });
    return [messages.map((message) => [message.id, message.parts.length]), isCut];
  };
  await pool.query(LONG, [sessionID, id, 1, 100]);
  const short = await stored();
  await pool.query(LONG, [sessionID, id, 4, 1_500_000]);
  using queries = vi.spyOn(pool, 'query');
  await readConversation(pool, { sessionID, messageID: '4' });
  const read = await Promise.all(queries.mock.results.map(async ({ value }) => (await value).rowCount));

  expect(short).toEqual([[['1', 2]], false]);
  // Those that are newer than the third have 1.5 MB, and those that are newer than the second 3 MB.
  expect(await stored()).toEqual([[3, 4].map((number) => [`${number}`, 2]), true]);
  expect(read).toEqual([2, 2]);
});

const SESSION = `insert into ai_session (id, tenant_id, owner_id, chat_id) values (uuidv7(), $1, $1, 'a') returning id`;
const LONG = `
with call as (
  insert into ai_tool_call (id, tenant_id, session_id, turn_id, number, tool, input, input_digest, caller, status, output)
  select uuidv7(), $2, $1, uuidv7(), g, 'list_workflows', '{}', '', '{}', 'done', '"' || repeat('x', $4) || '"' from generate_series(1, $3) g
  returning id, number)
insert into ai_message (session_id, number, tenant_id, role, message_id, parts)
select $1, number, $2, 'assistant', number::text,
  json_build_array(json_build_object('type', 'text', 'text', repeat('y', $4)), json_build_object('type', 'call', 'id', id))::text from call
on conflict (session_id, number) do update set parts = excluded.parts`;
