import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool, PoolClient } from './pool.ts';

type Value = string | number | null;

/** One statement, on whatever connection it is bound to. */
export type Query = <Row extends object>(
  sql: string,
  params: readonly Value[],
) => Promise<{ rows: Row[]; rowCount: number | null }>;

export function onClient(client: PoolClient): Query {
  return (sql, params) => client.query(sql, [...params]);
}

/** Each statement is a transaction of its own. */
export function onPool(pool: Pool): Query {
  return (sql, params) => pool.query(sql, [...params]);
}

/** In the entity manager's transaction; with `$1` as for the pool, where it would want `?`. */
export function onEntities(em: EntityManager): Query {
  return async <Row extends object>(sql: string, params: readonly Value[]) => {
    const values: Value[] = [];
    const text = sql.replace(/\$(\d+)/g, (_placeholder, n) => {
      values.push(params[Number(n) - 1] ?? null);
      return '?';
    });
    const answer = await em
      .getConnection()
      .execute<{ affectedRows: number; rows: Row[] }>(text, values, 'run', em.getTransactionContext());
    return { rows: answer.rows, rowCount: answer.affectedRows };
  };
}

/** Runs `work` in the transaction the entity manager is in, else in one of its own, which also writes whatever is pending. */
export async function inEntityTransaction<T>(em: EntityManager, work: () => Promise<T>): Promise<T> {
  if (em.isInTransaction()) return work();
  await em.begin();
  try {
    const result = await work();
    await em.commit();
    return result;
  } catch (error) {
    // What failed matters, not that a broken connection cannot be rolled back either.
    await em.rollback().catch(() => em.resetTransactionContext());
    throw error;
  }
}
