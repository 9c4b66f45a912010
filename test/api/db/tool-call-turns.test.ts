import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { claimCall, claimTurn } from '#api/db/ai-turns.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { newID } from '#shared/ids.ts';
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
     select uuidv7(), $1, uuidv7(), 0, 'list_workflows', '{}', '', $3 from generate_series(1, $2)`,
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

test('an answer of a tenant with fewer under way goes on first', async () => {
  const [busy, other] = [newID(), newID()];
  for (const tenantID of [busy, busy, busy, other]) {
    const { rows } = await pool.query<{ id: string }>(
      `insert into ai_session (id, tenant_id, owner_id, chat_id) values (uuidv7(), $1, $1, uuidv7()::text) returning id`,
      [tenantID],
    );
    await pool.query(
      `insert into ai_answer (id, session_id, tenant_id, is_resumable, status, alive_until, caller)
       values (uuidv7(), $1, $2, false, 'calling', now() + interval '1 minute', $3)`,
      [rows[0]?.id, tenantID, JSON.stringify({ type: 'user', id: tenantID, origin: 'direct' })],
    );
  }
  const claimed: (string | undefined)[] = [];
  for (let n = 0; n < 4; n += 1) claimed.push((await claimTurn(pool))?.tenantID);

  expect(claimed).toEqual([busy, other, busy, busy]);
});
