import { Button, Checkbox, Group, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Cell } from '../../../ui/cell.tsx';
import { cellText } from '../../../ui/cell-text.ts';
import { isObject } from '../../../ui/is-object.ts';
import { compareKeys, type SortKey, sortKeyOf } from '../../../ui/row-order.ts';
import { Scroller } from '../../../ui/table.tsx';
import { safeAddress } from '../../state/safe-address.ts';
import { Nothing } from '../nothing.tsx';
import { flag, number, rowsOf, text, useExposed, usePage, type WidgetProps } from '../page-context.ts';
import { remainingRows } from './chosen.ts';

type Row = Readonly<Record<string, unknown>>;

interface Column {
  key: string;
  label: string;
  type: string;
}

interface Order {
  key: string;
  isDown: boolean;
}

const TYPING_MS = 250;
const NO_ROWS: readonly Row[] = [];

/** Rows by pages. With `total` the query reads one page at a time, by `widgets.<name>.page` and its like. */
export function TableWidget({ widgetKey, title, properties, data }: WidgetProps) {
  const page = usePage();
  const given = rowsOf(properties, data);
  const rows = useMemo(() => (Array.isArray(given) ? given.filter(isObject) : NO_ROWS), [given]);
  const columns = useMemo(() => columnsOf(properties.columns, rows), [properties.columns, rows]);
  // Actions read what is shown, also after the table was away for a while.
  const exposed = useExposed(page, widgetKey);
  const at = Math.max(Math.trunc(number(exposed.page) ?? 1) - 1, 0);
  const order = useMemo(
    () => orderOf(exposed.sortKey, exposed.sortDirection),
    [exposed.sortKey, exposed.sortDirection],
  );
  const { search, setSearch, note } = useSearch(text(exposed.search));
  const { selectedRow, selectedRows } = exposed;
  const chosen = useMemo(() => new Set<unknown>(Array.isArray(selectedRows) ? selectedRows : []), [selectedRows]);
  useEffect(() => {
    const before = [...chosen];
    const remaining = remainingRows(rows, before);
    // A row that has changed or is not there any more is not chosen any more.
    if (remaining.length === before.length && remaining.every((row) => chosen.has(row))) return;
    const [last = remaining.at(-1) ?? null] = remainingRows(remaining, [selectedRow]);
    page.enter(widgetKey, { selectedRow: last, selectedRows: remaining });
  }, [rows, chosen, selectedRow, page, widgetKey]);
  const total = number(properties.total);
  const isServed = total !== undefined;
  const size = Math.min(Math.max(Math.trunc(number(properties.pageSize) ?? 20), 1), 500);
  const found = useMemo(
    () => (isServed ? rows : ordered(filtered(rows, search), order)),
    [rows, search, order, isServed],
  );
  const pages = Math.max(1, Math.ceil((total ?? found.length) / size));
  const shownAt = Math.min(at, pages - 1);
  // Other inputs have fewer rows: the query must not go on to read a page behind the last one.
  useEffect(() => {
    if (total !== undefined && at > pages - 1)
      page.enter(widgetKey, { page: pages, pageSize: size, offset: (pages - 1) * size });
  }, [total, at, pages, size, page, widgetKey]);
  const shown = isServed ? found.slice(0, size) : found.slice(shownAt * size, (shownAt + 1) * size);
  const isSelectable = flag(properties.isSelectable) || page.hasActions(widgetKey, 'onRowSelect');

  const go = (next: number) => {
    page.enter(widgetKey, { page: next + 1, pageSize: size, offset: next * size });
    void page.fire(widgetKey, 'onPageChange', { page: next + 1, pageSize: size });
  };
  const find = useDebouncedCallback((words: string) => {
    note(words);
    page.enter(widgetKey, { search: words, page: 1, offset: 0 });
    void page.fire(widgetKey, 'onSearch', { search: words });
  }, TYPING_MS);
  const sort = (key: string) => {
    const next = order?.key === key ? (order.isDown ? undefined : { key, isDown: true }) : { key, isDown: false };
    page.enter(widgetKey, { sortKey: next?.key ?? null, sortDirection: next ? (next.isDown ? 'desc' : 'asc') : null });
  };
  const choose = (row: Row, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(row);
    else next.delete(row);
    const selected = rows.filter((one) => next.has(one));
    page.enter(widgetKey, { selectedRow: isChosen ? row : (selected.at(-1) ?? null), selectedRows: selected });
    if (isChosen) void page.fire(widgetKey, 'onRowSelect', { row, rows: selected });
  };

  return (
    <div className="page-table">
      {flag(properties.isSearchable) && (
        <TextInput
          aria-label={`Search ${title}`}
          placeholder="Search"
          size="xs"
          maw={260}
          mb="xs"
          value={search}
          onChange={({ currentTarget: { value } }) => {
            setSearch(value);
            find(value);
          }}
        />
      )}
      {shown.length === 0 ? (
        <Nothing>{search === '' ? 'No rows' : 'No row has this text'}</Nothing>
      ) : (
        <Scroller label={title}>
          <table className="list">
            <caption className="unseen">{title}</caption>
            <thead>
              <tr>
                {isSelectable && (
                  <th scope="col">
                    <span className="unseen">Choose</span>
                  </th>
                )}
                {columns.map(({ key, label }) => (
                  <th
                    key={key}
                    scope="col"
                    aria-sort={order?.key === key ? (order.isDown ? 'descending' : 'ascending') : 'none'}
                  >
                    <button type="button" className="plain by" onClick={() => sort(key)}>
                      <bdi>{label}</bdi>
                      {order?.key === key && <span aria-hidden="true">{order.isDown ? '▼' : '▲'}</span>}
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((row, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows of an answer have no ids
                <tr key={index} data-selected={chosen.has(row)}>
                  {isSelectable && (
                    <td>
                      <Checkbox
                        size="xs"
                        aria-label={`Choose ${nameOf(row, columns)}`}
                        checked={chosen.has(row)}
                        onChange={({ currentTarget: { checked } }) => choose(row, checked)}
                      />
                    </td>
                  )}
                  {columns.map(({ key, label, type }) => (
                    <td key={key}>
                      <TypedCell name={label} type={type} value={Object.hasOwn(row, key) ? (row[key] ?? null) : null} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
      {pages > 1 && (
        <Group justify="flex-end" gap="xs" mt="xs">
          <span className="note" role="status">
            Page {(shownAt + 1).toLocaleString()} of {pages.toLocaleString()},{' '}
            {(total ?? found.length).toLocaleString()} rows
          </span>
          <Button size="compact-sm" variant="default" disabled={shownAt === 0} onClick={() => go(shownAt - 1)}>
            Back
          </Button>
          <Button size="compact-sm" variant="default" disabled={shownAt >= pages - 1} onClick={() => go(shownAt + 1)}>
            Next
          </Button>
        </Group>
      )}
    </div>
  );
}

/** The text of the field: the typed one, until the page has a text for it that is not what was noted last. */
function useSearch(given: string) {
  const [search, setSearch] = useState(given);
  const last = useRef(given);
  useEffect(() => {
    if (given === last.current) return;
    last.current = given;
    setSearch(given);
  }, [given]);
  const note = (words: string) => {
    last.current = words;
  };
  return { search, setSearch, note };
}

function orderOf(key: unknown, direction: unknown): Order | undefined {
  return typeof key === 'string' ? { key, isDown: direction === 'desc' } : undefined;
}

function columnsOf(given: unknown, rows: readonly Row[]): Column[] {
  const own = Array.isArray(given) ? given.filter(isObject) : [];
  if (own.length === 0) return Object.keys(rows[0] ?? {}).map((key) => ({ key, label: key, type: '' }));
  const seen = new Set<string>();
  return own.flatMap(({ key, label, type, isHidden }) => {
    const name = text(key);
    if (flag(isHidden) || seen.has(name)) return [];
    seen.add(name);
    return [{ key: name, label: text(label, name), type: text(type) }];
  });
}

function filtered(rows: readonly Row[], search: string): readonly Row[] {
  const words = search.trim().toLowerCase();
  if (words === '') return rows;
  return rows.filter((row) =>
    Object.values(row).some((value) =>
      cellText(value ?? '')
        .toLowerCase()
        .includes(words),
    ),
  );
}

function ordered(rows: readonly Row[], order: Order | undefined): readonly Row[] {
  if (!order) return rows;
  const keyed = rows.map((row) => ({ row, key: sortKeyOf(row[order.key]) }));
  const sign = order.isDown ? -1 : 1;
  // Empty values stand at the end in both directions.
  const compare = (one: SortKey | undefined, other: SortKey | undefined) =>
    one && other ? sign * compareKeys(one, other) : Number(!one) - Number(!other);
  return keyed.sort((one, other) => compare(one.key, other.key)).map(({ row }) => row);
}

function nameOf(row: Row, [first]: readonly Column[]): string {
  return first ? cellText(row[first.key] ?? '').slice(0, 60) : 'the row';
}

function TypedCell({ name, type, value }: { name: string; type: string; value: unknown }) {
  if (value === null || value === undefined) return <Cell name={name} value={null} />;
  switch (type) {
    case 'number': {
      const one = number(value);
      return one === undefined ? (
        <Cell name={name} value={value} />
      ) : (
        <span className="nowrap">{new Intl.NumberFormat(undefined, { maximumFractionDigits: 10 }).format(one)}</span>
      );
    }
    case 'date': {
      const at = new Date(text(value));
      if (Number.isNaN(at.getTime())) return <Cell name={name} value={value} />;
      const isDay = /^\d{4}-\d\d-\d\d$/.test(text(value));
      const style = isDay
        ? ({ dateStyle: 'medium', timeZone: 'UTC' } as const)
        : ({ dateStyle: 'medium', timeStyle: 'short' } as const);
      return (
        <time className="nowrap" dateTime={text(value)}>
          {new Intl.DateTimeFormat(undefined, style).format(at)}
        </time>
      );
    }
    case 'boolean':
      return value === true || value === 'true' ? 'Yes' : 'No';
    case 'badge':
      return (
        <span className="page-badge" data-tone="idle">
          <bdi>{text(value)}</bdi>
        </span>
      );
    case 'link': {
      const address = safeAddress(text(value), location.origin);
      if (address === null) return <Cell name={name} value={value} />;
      return (
        <a className="link" href={address} target="_blank" rel="noopener noreferrer">
          <bdi>{text(value)}</bdi>
        </a>
      );
    }
    default:
      return <Cell name={name} value={value} />;
  }
}
