import { requireQuota } from '#shared/access/quotas.ts';
import { parseJSON } from '#shared/concurrency/parse-json.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json } from '#shared/core/json.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { forgetResult, pageContext, type ResultOwner } from '#shared/datasources/result-pages.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient } from '#shared/db/query.ts';

/** Stores a result in pages while it comes in, so that at most one page is in memory. */
export interface ResultPages extends AsyncDisposable {
  add(rows: readonly Json[]): Promise<void>;
  /** The first page, which is not stored, and the number of pages. Disposing before this deletes the stored pages. */
  finish(): Promise<{ resultID: string; pages: number; firstPage: Json[]; totalCount: number }>;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
}

/** A page ends early when its rows are large. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_RESULT_BYTES = 256 * 1024 * 1024;
/** Results of one tenant; a new one replaces the oldest. */
const MAX_RESULTS = 10;

export function createResultPages({ pool, secrets }: Needs, owner: ResultOwner, rowsPerPage: number): ResultPages {
  const resultID = newID();
  let firstPage: string | undefined;
  let pages = 0;
  let texts: string[] = [];
  let pageBytes = 0;
  let resultBytes = 0;
  let totalCount = 0;
  let isFinished = false;

  async function endPage(): Promise<void> {
    const text = `[${texts.join(',')}]`;
    texts = [];
    pageBytes = 0;
    pages += 1;
    if (pages === 1) firstPage = text;
    else await storePage(text);
  }

  async function storePage(text: string): Promise<void> {
    if (pages === 2) await pool.query(EVICT_OLDEST, [owner.tenantID, MAX_RESULTS - 1]);
    const sealed = secrets.seal(text, pageContext(resultID, pages));
    await inTransaction(pool, async (client) => {
      const query = onClient(client);
      await requireQuota(query, { quota: 'resultPages', ownerID: owner.tenantID });
      await requireQuota(query, { quota: 'resultBytes', ownerID: owner.tenantID, amount: sealed.length });
      await client.query(INSERT_PAGE, [resultID, pages, owner.tenantID, owner.source, owner.callerID, sealed]);
    });
  }

  return {
    async add(rows) {
      for (const row of rows) {
        if (texts.length === rowsPerPage || pageBytes > MAX_PAGE_BYTES) await endPage();
        const text = JSON.stringify(row);
        texts.push(text);
        pageBytes += text.length;
        resultBytes += text.length;
        totalCount += 1;
        if (resultBytes > MAX_RESULT_BYTES)
          throw new AppError(
            'PAYLOAD_TOO_LARGE',
            `The result is larger than ${MAX_RESULT_BYTES} bytes: ask for less, or for fewer rows with maxRows`,
          );
      }
    },
    async finish() {
      if (texts.length > 0) await endPage();
      if (pages > 1) await pool.query(START_CLOCK, [resultID]);
      isFinished = true;
      // Safe: it was written above.
      return { resultID, pages, firstPage: (await parseJSON(firstPage ?? '[]')) as Json[], totalCount };
    },
    async [Symbol.asyncDispose]() {
      if (!isFinished && pages > 1) await forgetResult(pool, resultID);
    },
  };
}

// Ids of results are in order of creation.
const EVICT_OLDEST = `
delete from result_page where tenant_id = $1 and result_id in (
  select result_id from result_page where tenant_id = $1 group by result_id order by result_id desc offset $2)`;

// The expiry is at first later than the end of the longest query; the retention of a result begins when it is complete.
const INSERT_PAGE = `
insert into result_page (result_id, page, tenant_id, source, caller_id, sealed, expires_at)
values ($1, $2, $3, $4, $5, $6, now() + interval '2 hours')`;

const START_CLOCK = `update result_page set expires_at = now() + interval '10 minutes' where result_id = $1`;
