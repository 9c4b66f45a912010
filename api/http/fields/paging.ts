import {
  type EntityManager,
  type EntityName,
  type FilterQuery,
  type FindOptions,
  type OrderDefinition,
  type QBFilterQuery,
  raw,
} from '@mikro-orm/postgresql';
import { z } from 'zod';
import { quote } from '#shared/core/quote.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { onEntities } from '#shared/db/query.ts';
import { type Measured, requireFits, storedSize } from './page-size.ts';

/** Query fields of a list: the contract's pages, or `limit` and `cursor`, which need no count. */
export function pageQuery({ pageSize, max }: { pageSize: number; max: number }) {
  return {
    page: NumberText(z.int().min(1).max(1_000_000)).prefault(1),
    pageSize: NumberText(z.int().min(1).max(max)).prefault(pageSize),
    limit: NumberText(z.int().min(1).max(max)).optional().describe('The page size of a list that is read by `cursor`'),
    cursor: Cursor.optional().describe('The `nextCursor` of the page before'),
  };
}

/** Default and largest page sizes: of most lists, and of folders, which an explorer shows as a whole tree. */
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
  /** Columns that may be large: the page is refused if they are too large together. */
  large?: readonly (keyof E & string)[];
  /** Column of the order, if not `createdAt`. */
  newestBy?: keyof E & string;
  /** Lists rows of every tenant. */
  filters?: { tenant: false };
}

/** A page of the matching rows, newest first. */
export async function findPage<E extends Listed>(
  em: EntityManager,
  entity: EntityName<E>,
  { where, query, filters, newestBy = 'createdAt' as keyof E & string, ...columns }: PageOf<E>,
): Promise<{ rows: E[]; fields: PageFields }> {
  const { page, pageSize, limit, cursor } = query;
  const orderBy = [{ [newestBy]: 'desc' }, { id: 'desc' }] as unknown as OrderDefinition<E>;
  const options = { orderBy, ...(filters && { filters }) };

  if (limit !== undefined || cursor) {
    const size = limit ?? pageSize;
    const part = { where: after(where, newestBy, cursor), size, ...options, ...columns };
    const { rows, hasMore } = await findPart(em, entity, { ...part, offset: 0 });
    return { rows, fields: { pageSize: size, nextCursor: hasMore ? cursorOf(rows, newestBy) : null } };
  }
  const [{ rows }, totalCount] = await Promise.all([
    findPart(em, entity, { where, size: pageSize, offset: (page - 1) * pageSize, ...options, ...columns }),
    em.count(entity, where, { ...(filters && { filters }) }),
  ]);
  const totalPages = Math.ceil(totalCount / pageSize);
  const nextCursor = page < totalPages ? cursorOf(rows, newestBy) : null;
  return { rows, fields: { totalCount, totalPages, page, pageSize, nextCursor } };
}

interface Part<E> extends Pick<PageOf<E>, 'where' | 'exclude' | 'large' | 'filters'> {
  orderBy: OrderDefinition<E>;
  size: number;
  offset: number;
}

async function findPart<E extends Listed>(
  em: EntityManager,
  entity: EntityName<E>,
  { where, size, offset, exclude, large, orderBy, filters }: Part<E>,
): Promise<{ rows: E[]; hasMore: boolean }> {
  const options = { orderBy, exclude, ...(filters && { filters }) } as unknown as FindOptions<E>;
  if (!large) {
    const rows = await em.find(entity, where, { ...options, limit: size + 1, offset });
    return { rows: rows.slice(0, size), hasMore: rows.length > size };
  }
  const { tableName, props } = em.getMetadata().get(entity);
  const columns = props.flatMap(({ name, fieldNames }) => (large.some((one) => one === name) ? fieldNames : []));
  const select = em.createQueryBuilder(entity, 'listed');
  // Safe: every listed entity has an id, and the driver answers with the two columns of the select.
  select.select(['id', raw(`${storedSize(columns.map((name) => `listed.${name}`))} as stored`)] as never);
  // Safe: a list has no filter by primary keys alone.
  select.where(where as unknown as QBFilterQuery<E>);
  await select.applyFilters(filters);
  const found: Measured[] = await select
    .orderBy(orderBy)
    .limit(size + 1)
    .offset(offset)
    .execute('all', false);
  const shown = found.slice(0, size);
  await requireFits(onEntities(em), { table: tableName, columns, rows: shown });
  const ids = { id: { $in: shown.map(({ id }) => id) } } as unknown as FilterQuery<E>;
  const rows = shown.length === 0 ? [] : await em.find(entity, ids, { ...options });
  return { rows, hasMore: found.length > size };
}

/**
 * The condition of rows after a position. The driver returns milliseconds only, so the id decides within one millisecond: rows of one
 * statement share a time, and their ids are in order.
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

/** Postgres does not parse the text form of later dates. */
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
