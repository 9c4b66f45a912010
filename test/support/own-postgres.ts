import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startPostgres } from '#ops/embedded/postgres.ts';

export interface OwnPostgres extends AsyncDisposable {
  readonly postgres: EmbeddedPostgres;
  /** For other files of the test. */
  readonly dir: string;
}

/** A Postgres of the test's own, which it may kill and restart. Its database is empty. `replicates`: it tells of changes. */
export async function startOwnPostgres({ replicates = false } = {}): Promise<OwnPostgres> {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-postgres-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const files = { dir: join(dir, 'postgres'), log: join(dir, 'log') };
  const settings = { fsync: 'off', ...(replicates && { wal_level: 'logical' }) };
  const options = { ...files, database: 'gantry', replicates, settings };
  const postgres = resources.use(await startPostgres(options));
  const owned = resources.move();
  return { postgres, dir, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
