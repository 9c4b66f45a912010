import { vi } from 'vitest';
import type { EntityManager } from '#shared/entities/orm.ts';

interface Statement {
  /** With `$1`, as a pool takes it. */
  sql: string;
  values: unknown[];
}

/** Statements that the entity manager sends to Postgres during the work. */
export async function statementsOf(em: EntityManager, work: () => Promise<unknown>): Promise<Statement[]> {
  const spy = vi.spyOn(em.getConnection(), 'execute');
  try {
    await work();
    return spy.mock.calls.map(([query, values = []]) => {
      let n = 0;
      return { sql: String(query).replace(/\?/g, () => `$${++n}`), values: Array.isArray(values) ? values : [] };
    });
  } finally {
    spy.mockRestore();
  }
}
