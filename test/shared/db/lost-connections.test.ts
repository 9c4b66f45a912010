import { expect, test } from 'vitest';
import { createPool } from '#shared/db/pool.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { freshDatabase } from '#test/support/database.ts';
import { testLogger } from '#test/support/environment.ts';

test('an entity manager that loses connections during transactions frees them in its pool', async () => {
  await using resources = new AsyncDisposableStack();
  const { url } = resources.use(await freshDatabase());
  const pool = createPool({ url, poolSize: 1 }, testLogger);
  resources.defer(() => pool.end());
  const orm = await createOrm({ url, poolSize: 2 }, testLogger);
  resources.defer(() => orm.close());

  for (const breakIn of [losingInTheMiddle, losingAtTheEnd, losingInTheMiddle, losingAtTheEnd, losingInTheMiddle])
    await expect(breakIn()).rejects.toThrow();

  const answers = await Promise.all([1, 2, 3].map(() => onEntities(orm.em.fork())('select 1 as one', [])));
  expect(answers.map(({ rows }) => rows)).toEqual([1, 2, 3].map(() => [{ one: 1 }]));

  function losingInTheMiddle(): Promise<void> {
    return orm.em.fork().transactional(async (em) => {
      await kill(em);
      await onEntities(em)('select 1', []);
    });
  }

  function losingAtTheEnd(): Promise<void> {
    const em = orm.em.fork();
    return inEntityTransaction(em, () => kill(em));
  }

  async function kill(em: typeof orm.em): Promise<void> {
    const { rows } = await onEntities(em)<{ pid: number }>('select pg_backend_pid() as pid', []);
    await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  }
});
