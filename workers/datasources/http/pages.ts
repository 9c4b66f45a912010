import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json } from '#shared/core/json.ts';
import type { Pagination } from '#shared/datasources/types/restapi.ts';
import { asText } from '#shared/workflow/templates/expressions.ts';
import { type HTTPResponse, whereOf } from '../../outbound/fetch.ts';
import { saySent } from '../../outbound/upstream-error.ts';
import { readBody } from './body.ts';
import { maskIn } from './status.ts';

type Paged = Exclude<Pagination, { type: 'none' }>;

/** A page as the server has sent it, with the texts that no message repeats. */
export interface AnsweredPage extends HTTPResponse {
  secrets: readonly string[];
}

/** Fetches one page. The cursor is set if it is not part of the URL. */
export type FetchPage = (url: URL, cursor: string | null) => Promise<AnsweredPage>;

interface PageAddress {
  url: URL;
  cursor: string | null;
}

/** Limit of all pages of one call together. */
const MAX_PAGES_BYTES = 50_000_000;

/** Reads the items page by page, up to `maxRows`. */
export async function readPages(
  first: URL,
  pagination: Paged,
  { fetchPage, maxRows }: { fetchPage: FetchPage; maxRows: number },
): Promise<{ rows: Json[]; isMore: boolean }> {
  const rows: Json[] = [];
  let bytes = 0;
  const asked = new Set<string>();
  let secrets: readonly string[] = [];
  let address: PageAddress | undefined = { url: begin(first, pagination), cursor: null };
  for (let page = 0; address && page < pagination.maxPages; page += 1) {
    const { url, cursor }: PageAddress = address;
    if (asked.has(keyOf(address))) throw repeated(address, secrets);
    asked.add(keyOf(address));
    const response: AnsweredPage = await saySent(page > 0, async () => fetchPage(url, cursor));
    bytes += response.body.length;
    if (bytes > MAX_PAGES_BYTES)
      throw new AppError(
        'UPSTREAM_FAILED',
        `The pages of ${whereOf(address.url)} are larger than ${MAX_PAGES_BYTES / 1_000_000} MB together`,
        {
          retry: false,
          details: { reason: 'too-large' },
        },
      );
    const answer = await readBody(response);
    const items = itemsOf(answer, pagination.itemsPath, response);
    for (const item of items) rows.push(item);
    if (rows.length > maxRows) return { rows: rows.slice(0, maxRows), isMore: true };
    address = nextOf(address, pagination, { answer, items, page, response });
    secrets = response.secrets;
    if (rows.length === maxRows && saysWhetherThereIsMore(pagination)) break;
  }
  return { rows, isMore: address !== undefined };
}

function keyOf({ url, cursor }: PageAddress): string {
  return `${url.href} ${cursor ?? ''}`;
}

/** The page after this one; undefined at the end. */
function nextOf(address: PageAddress, pagination: Paged, page: Page): PageAddress | undefined {
  const isEmpty = page.items.length === 0;
  if (isEmpty && !saysWhetherThereIsMore(pagination)) return undefined;
  const next = nextPage(address, pagination, page);
  // Feeds that are polled end so: an empty page, which is also its own next page.
  return next && isEmpty && keyOf(next) === keyOf(address) ? undefined : next;
}

/** The error for a page that was read before: to stop would lose the rest of the rows, to go on would repeat rows. */
function repeated({ url, cursor }: PageAddress, secrets: readonly string[]): AppError {
  const link = cursor === null ? `${url.pathname}${url.search}` : `the cursor ${JSON.stringify(cursor)}`;
  return new AppError(
    'UPSTREAM_FAILED',
    `The pages of ${whereOf(url)} go in a circle: the next one is ${maskIn(link, secrets).slice(0, MAX_LINK)}, which was read before`,
    { retry: false, details: { reason: 'repeated-page' } },
  );
}

/** Characters of a link in a message. */
const MAX_LINK = 500;

function begin(url: URL, pagination: Paged): URL {
  if (pagination.type === 'page')
    return withParams(url, {
      [pagination.pageParam]: pagination.firstPage,
      ...(pagination.sizeParam !== undefined &&
        pagination.pageSize !== undefined && { [pagination.sizeParam]: pagination.pageSize }),
    });
  if (pagination.type === 'offset')
    return withParams(url, {
      [pagination.offsetParam]: url.searchParams.get(pagination.offsetParam) ?? 0,
      [pagination.limitParam]: pagination.pageSize,
    });
  return url;
}

/** Whether an answer says for certain that there is a next page. With the other types, a next page may turn out to be empty. */
function saysWhetherThereIsMore({ type }: Paged): boolean {
  return type === 'cursor' || type === 'link';
}

interface Page {
  answer: Json;
  items: readonly Json[];
  page: number;
  response: AnsweredPage;
}

/** Address of the next page, if there is one. */
function nextPage(
  address: PageAddress,
  pagination: Paged,
  { answer, items, page, response }: Page,
): PageAddress | undefined {
  const { url } = address;
  switch (pagination.type) {
    case 'page': {
      const isLast = pagination.sizeParam !== undefined && items.length < (pagination.pageSize ?? 0);
      return isLast ? undefined : atURL(withParams(url, { [pagination.pageParam]: pagination.firstPage + page + 1 }));
    }
    case 'offset': {
      const isLast = items.length < pagination.pageSize;
      const offset = Number(url.searchParams.get(pagination.offsetParam)) + pagination.pageSize;
      return isLast ? undefined : atURL(withParams(url, { [pagination.offsetParam]: offset }));
    }
    case 'cursor':
      return afterCursor(address, pagination, answer);
    case 'link': {
      const next =
        pagination.path === '' ? nextLink(response, url) : linked(at(answer, pagination.path), response, url);
      return next && atURL(next);
    }
  }
}

/** A page whose cursor, if it has one, is part of the URL. */
function atURL(url: URL): PageAddress {
  return { url, cursor: null };
}

function afterCursor(
  { url }: PageAddress,
  { cursorParam, cursorIn, cursorPath, morePath }: Extract<Paged, { type: 'cursor' }>,
  answer: Json,
): PageAddress | undefined {
  if (morePath !== '' && !YES.has(at(answer, morePath))) return undefined;
  const cursor = asText(at(answer, cursorPath));
  if (cursor === '' || cursor === 'false') return undefined;
  return cursorIn === 'body' ? { url, cursor } : atURL(withParams(url, { [cursorParam]: cursor }));
}

/** How answers write that there are more. */
const YES: ReadonlySet<unknown> = new Set([true, 'true', 1, '1']);

function withParams(url: URL, params: Record<string, string | number>): URL {
  const next = new URL(url);
  for (const [name, value] of Object.entries(params)) next.searchParams.set(name, String(value));
  return next;
}

function itemsOf(answer: Json, path: string, { url }: HTTPResponse): readonly Json[] {
  const items = at(answer, path);
  if (Array.isArray(items)) return items;
  if (items === null || items === undefined) return [];
  const where = path === '' ? 'The answer' : `"${path}" in the answer`;
  throw new AppError('UPSTREAM_FAILED', `${where} of ${whereOf(url)} is not a list`, { retry: false });
}

/** Reads a path such as `data.items` from an answer; `data.-1` is the last element. Own properties only. */
export function at(answer: Json, path: string): Json | undefined {
  let found: Json | undefined = answer;
  for (const key of path === '' ? [] : path.split('.')) {
    if (Array.isArray(found)) found = /^-?\d+$/.test(key) ? found.at(Number(key)) : undefined;
    else found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}

/** RFC 8288: `<https://…?page=2>; rel="next"`. */
function nextLink({ headers, url }: HTTPResponse, requested: URL): URL | undefined {
  for (const [, target = '', parameters = ''] of (headers.link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    if (!/;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\b)/i.test(parameters)) continue;
    return linked(target, { url }, requested);
  }
  return undefined;
}

function linked(target: Json | undefined, { url }: Pick<HTTPResponse, 'url'>, requested: URL): URL | undefined {
  if (target === undefined || target === null || target === '' || target === false) return undefined;
  if (typeof target !== 'string')
    throw new AppError(
      'UPSTREAM_FAILED',
      `The next page of ${whereOf(requested)} is not a URL, but ${kindOf(target)}`,
      {
        retry: false,
      },
    );
  const next = URL.parse(target, url);
  if (!next || next.origin !== requested.origin)
    throw new AppError('UPSTREAM_FAILED', `The next page of ${whereOf(requested)} is on another server`, {
      retry: false,
    });
  return next;
}

function kindOf(value: Json): string {
  return typeof value === 'object' ? 'an object or a list' : `a ${typeof value}`;
}
