import { expect, test } from 'vitest';
import { newID } from '#shared/ids.ts';
import { startDeployment } from '../../support/deployment.ts';

test("operators' records, their sessions and expired limits are deleted after their periods", async () => {
  await using deployment = await startDeployment();
  const { pool } = deployment;
  const operatorID = newID();
  await pool.query(`insert into operator (id, email, password_hash) values ($1, 'op@example.test', 'x')`, [operatorID]);
  for (const days of [399, 401])
    await pool.query(
      `insert into operator_audit (id, operator_id, action, path, created_at) values ($1, $2, 'BOARD', $3, now() - make_interval(days => $4))`,
      [newID(), operatorID, `/${days}`, days],
    );
  for (const days of [89, 91])
    await pool.query(
      `insert into operator_session (id, operator_id, token_hash, ip_address, network, user_agent, expires_at)
       values ($1, $2, sha256(convert_to($3, 'UTF8')), '', '', $3, now() - make_interval(days => $4))`,
      [newID(), operatorID, String(days), days],
    );
  for (const seconds of [-60, 60])
    await pool.query('insert into rate_limit values ($1, 1, (extract(epoch from now()) + $2) * 1000)', [
      seconds,
      seconds,
    ]);

  await deployment.startWorker();

  const left = async () => {
    const { rows } = await pool.query<{ what: string }>(
      `select path as what from operator_audit union all select user_agent from operator_session union all select key from rate_limit`,
    );
    return rows.map(({ what }) => what).sort();
  };
  await expect.poll(left, { timeout: 10_000 }).toEqual(['/399', '60', '89']);
});
