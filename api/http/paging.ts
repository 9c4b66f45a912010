import type { EntityManager, EntityName, FilterQuery, FindOptions, OrderDefinition } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { quote } from '#shared/quote.ts';

/** Query fields of a list: the contract's pages, or `limit` and `cursor`, which need no count. */
export function pageQuery({ pageSize, max }: { pageSize: number; max: number }) {
  return {
    page: z.coerce.number().int().min(1).max(1_000_000).default(1),
    pageSize: z.coerce.number().int().min(1).max(max).default(pageSize),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(max)
      .optional()
      .describe('The page size of a list that is read by `cursor`'),
    cursor: Cursor.optional().describe('The `nextCursor` of the page before'),
  };
}

/** The two ways of paging. */
export const standardPage = { pageSize: 20, max: 100 };
export const explorerPage = { pageSize: 1000, max: 1000 };

/** Fields of a list's answer beside its rows. */
export const pageFields = {
  totalCount: z
    .int()
    .optional()
    .meta({ description: 'Absent with `limit` or `cursor`', examples: [1] }),
  totalPages: z
    .int()
    .optional()
    .meta({ examples: [1] }),
  page: z
    .int()
    .optional()
    .meta({ examples: [1] }),
  pageSize: z.int().meta({ examples: [20] }),
  nextCursor: z
    .string()
    .nullable()
    .meta({ description: 'For `cursor`; null at the end of the list', examples: [null] }),
};

type PageFields = z.infer<z.ZodObject<typeof pageFields>>;

interface PageQuery {
  page: number;
  pageSize: number;
  limit?: number | undefined;
  cursor?: Position | undefined;
}

interface Listed {
  id: string;
}

interface Position {
  at: Date;
  id: string;
}

interface PageOf<E> {
  where: FilterQuery<E>;
  query: PageQuery;
  exclude?: readonly (keyof E & string)[];
  /** Column of the order, if not `createdAt`. */
  newestBy?: keyof E & string;
  /** Lists rows of every tenant. */
  filters?: { tenant: false };
}

/** A page of the matching rows, newest first. */
export async function findPage<E extends Listed>(
  em: EntityManager,
  entity: EntityName<E>,
  { where, query, exclude, filters, newestBy = 'createdAt' as keyof E & string }: PageOf<E>,
): Promise<{ rows: E[]; fields: PageFields }> {
  const { page, pageSize, limit, cursor } = query;
  const orderBy = [{ [newestBy]: 'desc' }, { id: 'desc' }] as unknown as OrderDefinition<E>;
  const options = { orderBy, exclude, ...(filters && { filters }) } as unknown as FindOptions<E>;

  if (limit !== undefined || cursor) {
    const size = limit ?? pageSize;
    const rows = await em.find(entity, after(where, newestBy, cursor), { ...options, limit: size + 1 });
    const shown = rows.slice(0, size);
    return {
      rows: shown,
      fields: { pageSize: size, nextCursor: rows.length > size ? cursorOf(shown, newestBy) : null },
    };
  }
  const [rows, totalCount] = await em.findAndCount(entity, where, {
    ...options,
    limit: pageSize,
    offset: (page - 1) * pageSize,
  });
  const totalPages = Math.ceil(totalCount / pageSize);
  const nextCursor = page < totalPages ? cursorOf(rows, newestBy) : null;
  return { rows, fields: { totalCount, totalPages, page, pageSize, nextCursor } };
}

/**
 * The driver returns milliseconds only, so the id decides within one millisecond. Rows of one statement share a time, and their
 * ids are in order.
 */
function after<E extends Listed>(
  where: FilterQuery<E>,
  moment: string,
  position: Position | undefined,
): FilterQuery<E> {
  if (!position) return where;
  const { at, id } = position;
  const next = new Date(at.getTime() + 1);
  // Only `next` can use the index; the rest filters its rows.
  const later = { [moment]: { $lt: next }, $or: [{ [moment]: { $lt: at } }, { id: { $lt: id } }] };
  return { $and: [where, later] } as unknown as FilterQuery<E>;
}

function cursorOf<E extends Listed>(rows: readonly E[], moment: keyof E): string | null {
  const last = rows.at(-1);
  const at = last?.[moment];
  return last && at instanceof Date ? Buffer.from(`${at.getTime()}.${last.id}`).toString('base64url') : null;
}

/** Later dates have a text form that Postgres does not parse. */
const YEAR_9999 = Date.UTC(9999, 0);

const Cursor = z
  .string()
  .max(100)
  .transform((text, check): Position => {
    const [ms = '', id = ''] = Buffer.from(text, 'base64url').toString().split('.');
    const isTime = /^\d+$/.test(ms) && Number(ms) < YEAR_9999;
    if (isTime && z.uuid().safeParse(id).success) return { at: new Date(Number(ms)), id };
    check.addIssue({
      code: 'custom',
      message: `expected the nextCursor of a page of this list, received ${quote(text)}`,
    });
    return z.NEVER;
  });

/** Condition of `search`: the title contains it, ignoring case; `%` and `_` are literal. */
export function containing(text: string): { $ilike: string } {
  return { $ilike: `%${text.replace(/[\\%_]/g, '\\$&')}%` };
}
