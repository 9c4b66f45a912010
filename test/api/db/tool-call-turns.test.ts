import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimCall } from '#api/db/ai-turns.ts';
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
  for (let call = await claimCall(pool); call; call = await claimCall(pool)) claimed.push(call.tenantID);

  const countOf = (tenantID: string) => claimed.filter((id) => id === tenantID).length;
  expect([first, second, third].map(countOf)).toEqual([2, 2, 2]);
  expect(countOf(other)).toBe(4);
  expect(claimed.slice(0, 4)).toEqual([first, other, second, other]);
});
