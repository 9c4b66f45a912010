import type { Pool } from '#shared/db/pool.ts';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Plans?: PlanNode[];
}

/** Explains each statement on rows that it then really finds, and counts what the plan has read; for repeated statements the most. */
export function explaining(pool: Pool, rowsRead: Map<string, number>): Pool {
  return new Proxy(pool, {
    get(target, key) {
      if (key !== 'query') return Reflect.get(target, key, target);
      return async (statement: string | { text: string; values?: unknown[] }, parameters?: unknown[]) => {
        const text = typeof statement === 'string' ? statement : statement.text;
        const values = typeof statement === 'string' ? parameters : statement.values;
        const client = await target.connect();
        try {
          await client.query('begin');
          const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
            `explain (analyze, format json) ${text}`,
            values,
          );
          await client.query('rollback');
          const read = rows[0]?.['QUERY PLAN'][0]?.Plan;
          if (read) rowsRead.set(text, Math.max(rowsRead.get(text) ?? 0, rowsOf(read)));
        } finally {
          client.release();
        }
        return target.query(statement as string, parameters);
      };
    },
  });
}

function rowsOf(node: PlanNode): number {
  const rows = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  const own = node['Relation Name'] ? rows * node['Actual Loops'] : 0;
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), own);
}
