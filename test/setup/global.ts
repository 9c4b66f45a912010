import { createPool } from '#shared/db/pool.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { migrate } from '#shared/entities/schema.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { onServer, TEMPLATE } from '../support/database.ts';
import { testLogger, testServers } from '../support/environment.ts';

/** One migrated database, of which every test file makes copies. */
export default async function setup(): Promise<void> {
  await onServer(`drop database if exists ${TEMPLATE} with (force)`);
  await onServer(`create database ${TEMPLATE}`);
  const url = new URL(testServers.databaseURL);
  url.pathname = `/${TEMPLATE}`;
  const db = { url: url.href, poolSize: 2 };
  const pool = createPool(db, testLogger);
  const orm = await createOrm(db, testLogger);
  // Both passes share the template, so the queues' own schema is always in it.
  const backplane = await createBackplane({ prefix: 'gantry', databaseURL: url.href }, testLogger);
  await migrate(orm, pool, testLogger);
  await backplane.migrate();
  await backplane[Symbol.asyncDispose]();
  await orm.close();
  await pool.end();
  // The first connection after a change of the schema writes the file from which others read the catalogues; copies take it along.
  await onServer('select 1', { url: url.href });
}
