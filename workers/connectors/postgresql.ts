import { isIP } from 'node:net';
import pg from 'pg';
import Cursor from 'pg-cursor';
import { type DatabaseTarget, readDatabaseURL } from '#shared/database-url.ts';
import type { postgresql } from '#shared/datasources/postgresql.ts';
import { AppError } from '#shared/errors.ts';
import type { Json } from '#shared/json.ts';
import { renderStatement } from '#shared/queries/statement.ts';
import type { Connector, QueryResult } from '../define.ts';
import { placeOf, reasonOf, upstreamError } from '../upstream-error.ts';

/** A pool of connections to one database, opened when it is asked something. */
export const connectPostgresql: Connector<typeof postgresql> = async (options, { outbound }) => {
  const target = targetOf(options);
  const [address = ''] = await outbound.resolve(target.host, AbortSignal.timeout(5_000));
  const pool = new pg.Pool({
    host: address,
    port: target.port,
    user: target.user,
    password: () => target.password,
    database: target.database,
    ssl:
      target.sslmode === 'disable'
        ? false
        : {
            ...(isIP(target.host) === 0 && { servername: target.host }),
            rejectUnauthorized: target.sslmode === 'verify-full',
          },
    max: 4,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    application_name: 'gantry',
  });
  pool.on('error', () => undefined);

  async function connect(): Promise<pg.PoolClient> {
    try {
      return await pool.connect();
    } catch (error) {
      throw upstreamError(reasonOf(error) ?? 'refused', placeOf(target.host, target.port), error);
    }
  }

  return {
    async test() {
      (await connect()).release();
    },
    async run({ statement }, { maxRows }) {
      if (!statement) throw new AppError('VALIDATION_ERROR', 'query: must be a text');
      const { sql, params } = renderStatement(statement, (index) => `$${index}`);
      const client = await connect();
      try {
        const cursor = client.query(new Cursor<Record<string, Json>>(sql, params));
        const rows = await cursor.read(maxRows + 1);
        await cursor.close();
        const result: QueryResult = { data: rows.slice(0, maxRows), rowCount: Math.min(rows.length, maxRows) };
        return { ...result, truncated: rows.length > maxRows };
      } catch (error) {
        if (error instanceof pg.DatabaseError)
          throw new AppError('DB_ERROR', error.message, { cause: error, details: { postgres_code: error.code } });
        throw error;
      } finally {
        client.release();
      }
    },
    async [Symbol.asyncDispose]() {
      await pool.end();
    },
  };
};

function targetOf(options: Parameters<typeof connectPostgresql>[0]): DatabaseTarget {
  if (options.connectionOption === 'connectionString') {
    const target = readDatabaseURL(options.connectionString);
    if (typeof target === 'string')
      throw new AppError('VALIDATION_ERROR', `datasourceOptions.connectionString: ${target}`);
    return target;
  }
  const { host, port, user, password, database, sslMode } = options.connectionDetails;
  const verified = sslMode === 'verify-ca' || sslMode === 'verify-full';
  const sslmode = verified ? 'verify-full' : sslMode === 'require' ? 'require' : 'disable';
  return { host, port, user, password, database, sslmode };
}
