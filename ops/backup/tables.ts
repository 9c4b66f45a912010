/** The tables of the truth database: which are in a backup, and in which order they are loaded. */
import type { ClientBase } from 'pg';

/**
 * Not in a backup: what belongs to running processes, and sign-ins: sessions, and links
 * that could be used a second time. Tables that a crash may empty (caches, rate limits) are
 * left out because they are unlogged; the queues are in a schema of their own, and are filled from the truth.
 */
const LEFT_OUT: readonly string[] = [
  'schema_migration',
  'deployment_restore',
  'ask_claim',
  'dispatch_turn',
  'file_garbage',
  'operator_session',
  'sign_in_link',
  'sign_in_record',
  'socket_io_attachments',
  'sweep',
  'tenant_server',
];

export interface Table {
  name: string;
  columns: string[];
  /** The column whose values Postgres assigns, if there is one. */
  identity: string | null;
}

/** Tables of a backup, each after those that its foreign keys name. */
export async function readTables(client: ClientBase): Promise<Table[]> {
  const { rows } = await client.query<Table & { needs: string[] }>(TABLES, [LEFT_OUT]);
  const ordered: Table[] = [];
  const waiting = new Map(rows.map((row) => [row.name, row]));
  while (waiting.size > 0) {
    const next = [...waiting.values()].filter(
      ({ name, needs }) => !needs.some((one) => one !== name && waiting.has(one)),
    );
    if (next.length === 0) throw new Error(`Foreign keys of ${[...waiting.keys()].join(', ')} form a circle`);
    for (const { name, columns, identity } of next) {
      ordered.push({ name, columns, identity });
      waiting.delete(name);
    }
  }
  return ordered;
}

const TABLES = `
select c.relname as name,
  (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
  (select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attidentity <> '') as identity,
  array(select f.relname::text from pg_constraint k join pg_class f on f.oid = k.confrelid
        where k.conrelid = c.oid and k.contype = 'f') as needs
from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence = 'p' and c.relname <> all($1)
order by c.relname`;
