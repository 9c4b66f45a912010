import type { Pool } from 'pg';
import { expect, test } from 'vitest';
import { toAppError } from '#shared/core/errors.ts';
import { checkOutFairly } from '#shared/db/fair-checkout.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { User } from '#shared/entities/tables/user.ts';
import { freshDatabase } from '#test/support/database.ts';
import { testLogger } from '#test/support/environment.ts';

test('an entity manager that gets no connection fails with what is told to the client, not as a fault of ours', async () => {
  await using resources = new AsyncDisposableStack();
  const { url } = resources.use(await freshDatabase());
  const orm = await createOrm({ url, poolSize: 1 }, testLogger);
  resources.defer(() => orm.close());
  const pool: Pool = await orm.em.getConnection().getNativeClient();
  checkOutFairly(pool, { maxWaiting: 1, maxWaitMs: 10 });
  const checkedOut = await pool.connect();
  resources.defer(() => checkedOut.release());

  const reads = await Promise.allSettled([1, 2].map(() => orm.em.fork().count(User)));

  const codes = reads.map((read) => (read.status === 'rejected' ? toAppError(read.reason).code : read.status));
  expect(codes).toEqual(['UNAVAILABLE', 'RATE_LIMITED']);
});
