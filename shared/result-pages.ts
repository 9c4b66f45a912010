import { z } from 'zod';
import type { KeyRing } from './crypto.ts';
import type { Pool } from './db/pool.ts';
import { AppError } from './errors.ts';
import type { Json } from './json.ts';

/** Whose result it is: pages are for the one who asked, and for nobody else who may ask the same. */
export interface ResultOwner {
  tenantID: string;
  /** What was asked, as rules name it: `dataquery:<id>`. */
  source: string;
  /** The user or the API key. */
  callerID: string;
}

/** Pages count from 1, and the first is never kept: it is in the answer of the run. */
interface Position {
  resultID: string;
  page: number;
  pages: number;
}

/** What a client hands back to get the next page. How many there are is in it, so that a missing one is never taken for the end. */
export const ResultCursor = z
  .string()
  .regex(/^[\da-f-]{36}\.\d{1,7}\.\d{1,7}$/, 'must be a nextCursor of an answer')
  .transform((text): Position => {
    const [resultID = '', page, pages] = text.split('.');
    return { resultID, page: Number(page), pages: Number(pages) };
  });
export type ResultCursor = z.output<typeof ResultCursor>;

export function nextCursorOf({ resultID, page, pages }: Position): string | null {
  return page < pages ? `${resultID}.${page + 1}.${pages}` : null;
}

/** Pages are the tenant's data, and sealed like everything of it that is kept on the side. */
export function pageContext(resultID: string, page: number): string {
  return `result_page:${resultID}:${page}`;
}

/** For whoever has read all of it. */
export async function forgetResult(pool: Pool, resultID: string): Promise<void> {
  await pool.query('delete from result_page where result_id = $1', [resultID]);
}

/** The rows of a page; NOT_FOUND when they are no longer kept, or are somebody else's. */
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
  if (!row) throw new AppError('NOT_FOUND', 'This page is not kept, or no longer: ask again');
  return JSON.parse(secrets.open(row.sealed, pageContext(resultID, page)));
}
