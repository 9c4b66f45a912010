import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { rotateAllSecrets } from '#ops/rotate-all-secrets.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { openSecrets, sealSecrets, secret } from '#shared/core/schema/secret.ts';
import type { SealedColumn } from '#shared/db/sealed-columns.ts';
import { type Deployment, startDeployment } from '../support/deployment.ts';
import { testLogger } from '../support/environment.ts';

const Options = z.object({ host: z.string(), password: secret(z.string()) });
const column: SealedColumn = {
  kind: 'thing',
  table: 'thing',
  column: 'options',
  type: 'json',
  context: (id) => `thing:${id}:options`,
};
const [old, next] = ['k1', 'k2'].map((id) => ({ id, key: randomBytes(32) })) as [Key, Key];
const both = createKeyRing([next, old]);
type Key = { id: string; key: Buffer };

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
  await deployment.pool.query('create table thing (id uuid primary key, options jsonb)');
});
afterAll(() => deployment[Symbol.asyncDispose]());

function sealed(id: string, password: string, keys = [old]): string {
  const within = { secrets: createKeyRing(keys), context: column.context(id) };
  return JSON.stringify(sealSecrets(Options, { host: 'h', password }, within));
}

test('secrets inside JSON are encrypted again, row by row, and the rest of the JSON is kept', async () => {
  const { pool } = deployment;
  const ids = Array.from({ length: 450 }, () => newID());
  for (const id of ids) await pool.query('insert into thing values ($1, $2)', [id, sealed(id, `p-${id}`)]);
  await pool.query('insert into thing values ($1, null)', [newID()]);

  const first = await rotateAllSecrets(pool, { secrets: both, logger: testLogger, columns: [column] });
  const second = await rotateAllSecrets(pool, { secrets: both, logger: testLogger, columns: [column] });

  expect([first, second]).toEqual([
    { resealed: 450, failed: 0 },
    { resealed: 0, failed: 0 },
  ]);
  const { rows } = await pool.query<{ id: string; options: JsonObject }>(
    'select * from thing where options is not null',
  );
  const secrets = createKeyRing([next]);
  for (const { id, options } of rows)
    expect(openSecrets(Options, options, { secrets, context: column.context(id) })).toEqual({
      host: 'h',
      password: `p-${id}`,
    });
});

test('concurrent writes are never overwritten', async () => {
  const { pool } = deployment;
  const ids = Array.from({ length: 150 }, () => newID());
  for (const id of ids) await pool.query('insert into thing values ($1, $2)', [id, sealed(id, 'before')]);

  // A process that does not yet know the newest key.
  const write = async () => {
    for (const id of ids) await pool.query('update thing set options = $2 where id = $1', [id, sealed(id, 'after')]);
  };
  await Promise.all([rotateAllSecrets(pool, { secrets: both, logger: testLogger, columns: [column] }), write()]);

  const { rows } = await pool.query<{ id: string; options: JsonObject }>('select * from thing where id = any($1)', [
    ids,
  ]);
  for (const { id, options } of rows)
    expect(openSecrets(Options, options, { secrets: both, context: column.context(id) }).password).toBe('after');
});
