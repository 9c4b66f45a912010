import { type ListFilter, parseListFilter } from '../client/list-filter.ts';

/** The list that is shown of pages and dashboards, as it stands in the address. */
export interface AppView extends ListFilter {
  kind?: 'dashboards';
}

export function parseAppView(given: Record<string, unknown>): AppView {
  return { ...parseListFilter(given), ...(given.kind === 'dashboards' && { kind: 'dashboards' }) };
}

/** Parameters of a page that is opened: all that stands in its address. */
export function paramsOf(search: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...new URLSearchParams(search)].slice(0, MAX_PARAMS).map(([key, value]) => [key, plain(value)]),
  );
}

const MAX_PARAMS = 50;

/** The router writes a text that it would read as something else, such as one of digits, in quotes. */
function plain(value: string): string {
  try {
    const read: unknown = /^".*"$/s.test(value) ? JSON.parse(value) : value;
    return typeof read === 'string' ? read : value;
  } catch {
    return value;
  }
}
