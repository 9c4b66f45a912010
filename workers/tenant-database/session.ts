import type { TenantClient } from './open.ts';

/** What a statement may take when nothing else is said. */
const STATEMENT_MS = 60_000;

/**
 * What reading values and quoting rely on, whatever the role or the database has set for itself. As a statement and not at
 * connecting: a pooler in between takes statements only.
 */
const SETTINGS: Record<string, string> = {
  standard_conforming_strings: 'on',
  client_encoding: 'UTF8',
  datestyle: 'ISO, YMD',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  lock_timeout: '0',
  statement_timeout: String(STATEMENT_MS),
  idle_in_transaction_session_timeout: '60000',
};

const PREPARE = Object.entries(SETTINGS)
  .map(([name, value]) => `set ${name} to '${value}'`)
  .join('; ');

export async function prepareSession(client: TenantClient): Promise<void> {
  await client.query(PREPARE);
}

/** As new, but for what `prepareSession` does: no transaction, no settings, no temporary tables, no locks, no prepared statements of whoever had it before. */
export async function resetSession(client: TenantClient): Promise<void> {
  if (client.getTransactionStatus() !== 'I') await client.query('rollback');
  await client.query('discard all');
}

/** Runs `work` in a transaction of its own. */
export async function inTenantTransaction<T>(client: TenantClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    // Whoever gives the connection back rolls back what this could not.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

export async function limitStatements(client: TenantClient, ms: number): Promise<void> {
  await client.query("select set_config('statement_timeout', $1, false)", [String(ms)]);
}
