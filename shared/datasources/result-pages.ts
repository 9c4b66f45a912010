import { z } from 'zod';
import { parseJSON } from '../concurrency/parse-json.ts';
import { AppError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { KeyRing } from '../core/key-ring.ts';
import type { Pool } from '../db/pool.ts';

/** The owner of a result. Only the caller that ran the query gets its pages, not others with the same permission. */
export interface ResultOwner {
  tenantID: string;
  /** The query, as rules name it: `dataquery:<id>`. */
  source: string;
  /** The user or the API key. */
  callerID: string;
}

/** Pages count from 1. The first is not stored: it is in the answer of the run. */
interface Position {
  resultID: string;
  page: number;
  pages: number;
}

/** Names the next page for a client. Contains the number of pages, so that a missing page is never taken for the end. */
export const ResultCursor = z
  .string()
  .regex(/^[\da-f-]{36}\.\d{1,7}\.\d{1,7}$/, 'must be the nextCursor of an answer')
  .transform((text): Position => {
    const [resultID = '', page, pages] = text.split('.');
    return { resultID, page: Number(page), pages: Number(pages) };
  });
export type ResultCursor = z.output<typeof ResultCursor>;

export function nextCursorOf({ resultID, page, pages }: Position): string | null {
  return page < pages ? `${resultID}.${page + 1}.${pages}` : null;
}

/** The context of a page. Pages are data of the tenant and therefore sealed. */
export function pageContext(resultID: string, page: number): string {
  return `result_page:${resultID}:${page}`;
}

/** Deletes a result whose last page has been read. */
export async function forgetResult(pool: Pool, resultID: string): Promise<void> {
  await pool.query('delete from result_page where result_id = $1', [resultID]);
}

/** Reads the rows of a page; NOT_FOUND if they have expired or belong to another caller. */
export async function readResultPage(
  { pool, secrets }: { pool: Pool; secrets: KeyRing },
  { tenantID, source, callerID }: ResultOwner,
  { resultID, page }: Pick<Position, 'resultID' | 'page'>,
): Promise<Json[]> {
  const { rows } = await pool.query<{ sealed: string }>(
    `select sealed from result_page
     where result_id = $1 and page = $2 and tenant_id = $3 and source = $4 and caller_id = $5 and expires_at > now()`,
    [resultID, page, tenantID, source, callerID],
  );
  const [row] = rows;
  const text = row && secrets.tryOpen(row.sealed, pageContext(resultID, page));
  if (text === undefined) throw new AppError('NOT_FOUND', 'Result page not found or expired: run the query again');
  // Safe: the worker has written it as a list.
  return (await parseJSON(text)) as Json[];
}
