/**
 * SQL for a sum over the table `c` of `pg_class` and over the tables whose rows are its rows, too: its partitions, and those that
 * inherit from it. In the expression each of them is `part`.
 */
export function sumOverParts(expression: string): string {
  return `(
    with recursive parts(oid) as (
      select c.oid
      union select i.inhrelid from pg_catalog.pg_inherits i join parts on parts.oid = i.inhparent)
    select pg_catalog.sum(${expression}) from parts join pg_catalog.pg_class part on part.oid = parts.oid)`;
}

/** Rows by the last analysis; null if no part was analysed. A partitioned table has no rows of its own, but counts those of its parts. */
export const estimatedRows = sumOverParts(
  `case when part.relkind <> 'p' and part.reltuples >= 0 then part.reltuples::float8 end`,
);
