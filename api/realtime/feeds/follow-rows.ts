import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';

interface News<Row> {
  /** Used in the log, and as the name of the prepared statement. */
  name: string;
  table: string;
  /** The column with the id of the tenant or user; each of them gets a share of a poll. */
  owner: string;
  /** SQL of the fields of a row. */
  fields: string;
  /** Ids of tenants or users whose rows may be sent to sockets of this process; while there are none, nothing is read. */
  wanted(): readonly string[];
  /** Delivers rows, in the order in which they were written. */
  deliver(rows: readonly Row[]): Promise<void>;
}

interface Needs {
  pool: Pool;
  logger: Logger;
  everyMs?: number;
}

const EVERY_MS = 500;
/** A row becomes visible when its transaction commits, so each poll goes back further than the one before. */
const OVERLAP_SECONDS = 15;
/** Rows of one owner, and of all, in a poll. */
const AT_ONCE = { ofOwner: 300, ofAll: 5_000 };

/**
 * Reads new rows of a table in each API process. No process tells the others of its changes, so none is lost with the process that has
 * committed it.
 */
export function followRows<Row>(news: News<Row>, { pool, logger, everyMs = EVERY_MS }: Needs): Disposable {
  const text = poll(news);
  /** When each row was read, by the clock of this process. */
  const seen = new Map<string, number>();
  let since: Date | null = null;
  let isBusy = false;

  async function read(): Promise<void> {
    const owners = news.wanted();
    if (owners.length === 0) {
      since = null;
      return;
    }
    const { rows } = await pool.query<{ now: Date; found: { id: string; row: Row }[] }>({
      name: news.name,
      text,
      values: [since, owners, [...seen.keys()], AT_ONCE.ofOwner, AT_ONCE.ofAll],
    });
    const [{ now, found } = { now: null, found: [] }] = rows;
    const readAt = performance.now();
    since = now;
    for (const [id, at] of seen) if (at < readAt - 2_000 * OVERLAP_SECONDS) seen.delete(id);
    for (const { id } of found) seen.set(id, readAt);
    if (found.length > 0) await news.deliver(found.map(({ row }) => row));
  }

  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    read()
      .catch((error) => logger.warn({ err: error, name: news.name }, 'news not read; the next poll will'))
      .finally(() => {
        isBusy = false;
      });
  }, everyMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const poll = ({ table, owner, fields }: Pick<News<unknown>, 'table' | 'owner' | 'fields'>) => `
select now() as now, coalesce((
  select json_agg(json_build_object('id', id, 'row', json_build_object(${fields})) order by created_at, id)
  from (
    select * from (
      select *, row_number() over (partition by ${owner} order by created_at, id) as n from ${table}
      where created_at > coalesce($1::timestamptz, now()) - interval '${OVERLAP_SECONDS} seconds'
        and ${owner} = any($2::uuid[]) and not (id::text = any($3::text[]))
    ) numbered
    where n <= $4 order by n limit $5
  ) fair
), '[]') as found`;
