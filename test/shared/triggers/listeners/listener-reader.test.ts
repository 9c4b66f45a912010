import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import type { Pool } from '#shared/db/pool.ts';
import { createListenerReader } from '#shared/triggers/listeners/listener-reader.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** Counts the statements. */
function aCountedPool() {
  const state = { statements: 0 };
  const pool: Pool = new Proxy(deployment.pool, {
    get(target, key) {
      if (key === 'query') state.statements += 1;
      return Reflect.get(target, key, target);
    },
  });
  return Object.assign(state, { pool });
}

test('deliveries of one moment share one statement, and a change counts from the next on', async () => {
  const { pool } = deployment;
  const [tenantID, datasourceID, listenerID] = [newID(), newID(), newID()];
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'A', $1)`, [tenantID]);
  await pool.query(
    `insert into datasource (id, tenant_id, datasource_title, datasource_type, datasource_options, creator_id)
     values ($1, $2, 'A', 'webhook', '{}', $2)`,
    [datasourceID, tenantID],
  );
  await pool.query(
    `insert into listener (id, tenant_id, listener_title, listener_type, datasource_id, creator_id, status, endpoint_path, endpoint_shape)
     values ($1, $2, 'A', 'webhook', $3, $2, 'active', 'a', 'a')`,
    [listenerID, tenantID, datasourceID],
  );
  const counted = aCountedPool();
  const reader = createListenerReader({ pool: counted.pool, secrets: createKeyRing(deployment.config.secrets.keys) });
  /** Half of them by the path. Answers with the config that each has found, and the number of statements. */
  const burst = async () => {
    counted.statements = 0;
    const found = await Promise.all(
      Array.from({ length: 100 }, async (_, n) =>
        n % 2 === 0 ? reader.byID(listenerID) : (await reader.byPath(tenantID, ['a'], 'POST'))?.listener,
      ),
    );
    return { configs: [...new Set(found.map((one) => JSON.stringify(one?.config)))], statements: counted.statements };
  };

  // The versions, the paths, and the listener.
  expect(await burst()).toEqual({ configs: ['{}'], statements: 3 });
  expect(await burst()).toEqual({ configs: ['{}'], statements: 1 });
  await pool.query(`update listener set listener_config = '{"dedupBy": "none"}' where id = $1`, [listenerID]);
  expect(await burst()).toEqual({ configs: ['{"dedupBy":"none"}'], statements: 3 });
  await pool.query(`update listener set status = 'inactive' where id = $1`, [listenerID]);
  expect(await reader.byPath(tenantID, ['a'], 'POST')).toBeUndefined();
  expect(await reader.byID(listenerID)).toMatchObject({ status: 'inactive' });
});
