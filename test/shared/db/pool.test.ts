import { expect, test } from 'vitest';
import { isConnectionError } from '#shared/core/errors.ts';
import { createPool, inTransaction, type PoolClient } from '#shared/db/pool.ts';
import { freshDatabase } from '#test/support/database.ts';
import { testLogger, testServers } from '#test/support/environment.ts';

/** An uncaught exception fails the run of the tests, too. */
test('a connection that breaks between two statements fails its transaction and nothing else', async () => {
  await using resources = new AsyncDisposableStack();
  const { url } = resources.use(await freshDatabase());
  const pool = createPool({ url, poolSize: 2 }, testLogger);
  resources.defer(() => pool.end());
  const uncaught: Error[] = [];
  const listener = (error: Error) => void uncaught.push(error);
  process.on('uncaughtExceptionMonitor', listener);
  resources.defer(() => void process.off('uncaughtExceptionMonitor', listener));

  const work = inTransaction(pool, async (client) => {
    // Not `once` of node:events, which would listen for errors as well.
    const ended = new Promise((resolve) => client.once('end', resolve));
    await kill(client);
    await ended;
    await client.query('select 1');
  });

  await expect(work).rejects.toThrow('not queryable');
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  expect(uncaught).toEqual([]);

  async function kill(client: PoolClient): Promise<void> {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  }
});

test('an answer that does not come in time counts as a lost connection, so that a process that starts tries again', async () => {
  const pool = createPool({ url: testServers.databaseURL, poolSize: 1 }, testLogger, { answerMs: 50 });

  const error = await pool.query('select pg_sleep(2)').catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(Error);
  expect(isConnectionError(error)).toBe(true);
  await pool.end();
});
