import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool, PoolClient } from './pool.ts';

type Value = string | number | boolean | null;

/** Runs one statement on the connection or pool that it is bound to. */
export type Query = <Row extends object>(
  sql: string,
  params: readonly Value[],
) => Promise<{ rows: Row[]; rowCount: number | null }>;

export function onClient(client: PoolClient): Query {
  return (sql, params) => client.query(sql, [...params]);
}

/** Runs statements on any connection of the pool: each is a transaction of its own. */
export function onPool(pool: Pool): Query {
  return (sql, params) => pool.query(sql, [...params]);
}

/** Runs statements in the entity manager's transaction, with `$1` as on a pool; the entity manager itself expects `?`. */
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

/** Work to be done after the commit of each transaction of `inEntityTransaction`. */
const afterwards = new WeakMap<object, (() => void)[]>();

/**
 * Does work once the entity manager's transaction is committed, and not at all if it is rolled back; at once outside of one. The
 * transaction has to be one of `inEntityTransaction`.
 */
export function afterCommit(em: EntityManager, work: () => void): void {
  const transaction = em.getTransactionContext<object>();
  if (!transaction) return work();
  const list = afterwards.get(transaction);
  if (!list) throw new Error('The transaction is not one of inEntityTransaction');
  list.push(work);
}

/** Runs `work` in the entity manager's transaction, or in a new one, which also writes pending changes of entities. */
export async function inEntityTransaction<T>(em: EntityManager, work: () => Promise<T>): Promise<T> {
  if (em.isInTransaction()) return work();
  await em.begin();
  const later: (() => void)[] = [];
  const transaction = em.getTransactionContext<object>();
  if (transaction) afterwards.set(transaction, later);
  const result = await committed(em, work);
  for (const one of later) one();
  return result;
}

async function committed<T>(em: EntityManager, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    await em.commit();
    return result;
  } catch (error) {
    // Throw the error of `work`, not that of a rollback on a broken connection.
    await em.rollback().catch(() => em.resetTransactionContext());
    throw error;
  }
}
