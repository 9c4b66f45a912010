import { type RawQueryFragment, raw } from '@mikro-orm/postgresql';
import type { ObjectScope, VisibilityFilter } from '#shared/access/policy/rule-index.ts';
import { plainArray, textArray } from '#shared/db/array.ts';

/** A condition for the entity manager, to be spread into its other conditions. */
export type Condition = Record<symbol, never[]>;

/**
 * Narrows a list to the rows that every given filter contains. The number of parameters does not depend on the number of
 * rows: few ids are sent as one array, and many are looked up in the rules.
 */
export function visibleRows(visibilityFilters: readonly VisibilityFilter[], column = 'id'): Condition {
  const conditions = visibilityFilters
    .flatMap((filter) => [allowed(filter), denied(filter)])
    .filter((sql) => sql !== null);
  return Object.fromEntries(
    conditions.map(({ sql, params }) => {
      const fragment: RawQueryFragment = raw((alias) => sql.replaceAll('%row', `${alias}.${column}`), params);
      return [fragment.key, []];
    }),
  );
}

interface Sql {
  /** `%row` is the column with the id. */
  sql: string;
  params: string[];
}

function allowed(filter: VisibilityFilter): Sql | null {
  if (filter.allow.everything) return null;
  return anyOf(reached(filter, 'allow'));
}

function denied(filter: VisibilityFilter): Sql | null {
  if (filter.deny.everything) return { sql: 'false', params: [] };
  const parts = reached(filter, 'deny');
  if (parts.length === 0) return null;
  const { sql, params } = anyOf(parts);
  return { sql: `not ${sql}`, params };
}

function anyOf(parts: readonly Sql[]): Sql {
  if (parts.length === 0) return { sql: 'false', params: [] };
  return { sql: `(${parts.map(({ sql }) => sql).join(' or ')})`, params: parts.flatMap(({ params }) => params) };
}

function reached(filter: VisibilityFilter, effect: 'allow' | 'deny'): Sql[] {
  const { ids, prefixes }: ObjectScope = filter[effect];
  const parts: Sql[] = [];
  if (ids === null) parts.push(ruled(filter, effect));
  // The object of a rule may be no id; then it matches no row.
  const real = ids?.filter((id) => uuid.test(id)) ?? [];
  if (real.length > 0) parts.push({ sql: '%row = any(?::uuid[])', params: [plainArray(real)] });
  if (prefixes.length > 0) parts.push(begunWith(prefixes));
  return parts;
}

/** A rule names one object, so the unique index finds it. The planner may also read all rules of the subjects at once. */
function ruled({ tenantID, type, action, principals }: VisibilityFilter, effect: string): Sql {
  return {
    sql: `?::text || %row::text in (
      select object from policy_rule
      where tenant_id = ?::uuid and kind = 'rule' and subject = any(?::text[]) and action in (?, '*') and effect = ?)`,
    params: [`${type}:`, tenantID, textArray(principals), action, effect],
  };
}

function begunWith(prefixes: readonly string[]): Sql {
  const lengths = new Set(prefixes.map(({ length }) => length));
  return {
    sql: 'exists (select from unnest(?::int[]) as length where left(%row::text, length) = any(?::text[]))',
    params: [plainArray([...lengths]), textArray(prefixes)],
  };
}

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
