import { raw } from '@mikro-orm/postgresql';
import type { Condition } from '../tenant/visible-rows.ts';

/** Rows of a tenant in the order of an index, newest first. */
interface Newest {
  table: string;
  tenantID: string;
  /** The status of the rows; the index has it before the time. */
  status?: string;
  max: number;
}

/**
 * A condition that holds only for the newest rows of a tenant, so that a condition without an index reads no more rows
 * than these. It compares times and not ids, so that the planner can still stop at the limit of a list.
 */
export function amongNewest({ table, tenantID, status, max }: Newest): Condition {
  const [where, params] =
    status === undefined
      ? ['tenant_id = ?::uuid', [tenantID]]
      : ['tenant_id = ?::uuid and status = ?', [tenantID, status]];
  const oldest = `select created_at from ${table} where ${where} order by created_at desc offset ?::int limit 1`;
  const fragment = raw((alias) => `${alias}.created_at >= coalesce((${oldest}), '-infinity')`, [...params, max - 1]);
  return { [fragment.key]: [] };
}
