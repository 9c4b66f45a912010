import pg from 'pg';
import { expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { startDeployment } from '../../support/deployment.ts';
import { noops } from '../../support/graphs.ts';
import { eventually } from '../../support/settle.ts';

test('a deletion of a tenant that waits for a lock does not hold up the sweep of the engine', async () => {
  await using deployment = await startDeployment();
  const { pool, config, tenantID } = deployment;
  const isDeleted = newID();
  await pool.query(
    `insert into tenant (id, tenant_title, creator_id, deleting_at) values ($1, 'Gone', $1, now() - interval '1 hour')`,
    [isDeleted],
  );
  await using closing = new AsyncDisposableStack();
  const lockOwner = new pg.Client({ connectionString: config.db.url });
  await lockOwner.connect();
  // Its end gives the lock back.
  closing.defer(() => lockOwner.end());
  await lockOwner.query('begin; lock table policy_rule in share mode');
  await deployment.startWorker();
  const waiting = async () => {
    const { rows } = await lockOwner.query(
      `select from pg_locks where relation = 'policy_rule'::regclass and not granted and database = (select oid from pg_database where datname = current_database())`,
    );
    return rows.length;
  };
  await eventually(async () => expect(await waiting()).toBe(1));

  const versionID = await deployment.saveVersion(noops(1));
  const overdue: string[] = [];
  // Two rounds of the sweep, at least.
  for (let round = 0; round < 2; round += 1) {
    const id = newID();
    await pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, deadline_at, caller, status) values ($1, $2, $3, now(), '{}', 'WAITING')`,
      [id, tenantID, versionID],
    );
    overdue.push(id);
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'FAILED' }));
  }
  expect(await waiting()).toBe(1);

  await lockOwner.query('rollback');
  await eventually(async () =>
    expect((await pool.query('select from tenant where id = $1', [isDeleted])).rowCount).toBe(0),
  );
});
