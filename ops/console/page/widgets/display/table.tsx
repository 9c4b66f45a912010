import { Button, Group, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useMemo, useRef, useState } from 'react';
import { cellText } from '../../../ui/cell-text.ts';
import { isObject } from '../../../ui/is-object.ts';
import { compareKeys, type SortKey, sortKeyOf } from '../../../ui/row-order.ts';
import { Scroller } from '../../../ui/table.tsx';
import type { PageState } from '../../state/page-state.ts';
import { Nothing } from '../nothing.tsx';
import { flag, number, rowsOf, text, useExposed, usePage, type WidgetProps } from '../page-context.ts';
import { remainingRows } from './chosen.ts';
import { RowEditor } from './row-editor.tsx';
import { bulkEvents, RowTools } from './row-tools.tsx';
import { TableRow } from './table-row.tsx';

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
  const chosen = useChosen(page, { widgetKey, rows, exposed });
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
  const { isSelectable, isEditable, isExportable } = offered(properties, (event) => page.hasActions(widgetKey, event));
  const [edited, setEdited] = useState<Row>();

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
  const choose = (row: Row, isChosen: boolean, isAlone = false) => {
    if (isAlone && chosen.size === 1 && chosen.has(row)) return;
    const next = new Set(isAlone ? [] : chosen);
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
                {isSelectable && <UnseenHeading>Choose</UnseenHeading>}
                {isEditable && <UnseenHeading>Edit</UnseenHeading>}
                <Headings {...{ columns, order }} onSort={sort} />
              </tr>
            </thead>
            <tbody>
              {shown.map((row, index) => (
                <TableRow
                  // biome-ignore lint/suspicious/noArrayIndexKey: rows of an answer have no ids
                  key={index}
                  {...{ row, columns }}
                  isChosen={chosen.has(row)}
                  {...(isSelectable && { onChoose: choose })}
                  {...(isEditable && { onEdit: setEdited })}
                />
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
      <RowTools
        {...{ widgetKey, title, columns }}
        rows={isServed ? shown : found}
        isPart={isServed && pages > 1}
        chosen={rows.filter((row) => chosen.has(row))}
        isExportable={isExportable}
      />
      {edited && <RowEditor {...{ widgetKey, columns }} row={edited} onClose={() => setEdited(undefined)} />}
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

interface Choosing {
  widgetKey: string;
  rows: readonly Row[];
  exposed: Row;
}

/** The chosen rows as they are now. One that has changed or is not there any more is not chosen any more. */
function useChosen(page: PageState, { widgetKey, rows, exposed }: Choosing): ReadonlySet<unknown> {
  const { selectedRow, selectedRows } = exposed;
  const chosen = useMemo(() => new Set<unknown>(Array.isArray(selectedRows) ? selectedRows : []), [selectedRows]);
  useEffect(() => {
    const before = [...chosen];
    const remaining = remainingRows(rows, before);
    if (remaining.length === before.length && remaining.every((row) => chosen.has(row))) return;
    const [last = remaining.at(-1) ?? null] = remainingRows(remaining, [selectedRow]);
    page.enter(widgetKey, { selectedRow: last, selectedRows: remaining });
  }, [rows, chosen, selectedRow, page, widgetKey]);
  return chosen;
}

/** Whether rows are chosen, edited and exported: that is switched on, or has actions. */
function offered(properties: Row, has: (event: string) => boolean) {
  return {
    isSelectable: flag(properties.isSelectable) || has('onRowSelect') || bulkEvents.some(has),
    isEditable: flag(properties.isEditable) && has('onRowSave'),
    isExportable: flag(properties.isExportable) || has('onExport'),
  };
}

interface HeadingsProps {
  columns: readonly Column[];
  order: Order | undefined;
  onSort: (key: string) => void;
}

function Headings({ columns, order, onSort }: HeadingsProps) {
  return columns.map(({ key, label }) => (
    <th key={key} scope="col" aria-sort={order?.key === key ? (order.isDown ? 'descending' : 'ascending') : 'none'}>
      <button type="button" className="plain by" onClick={() => onSort(key)}>
        <bdi>{label}</bdi>
        {order?.key === key && <span aria-hidden="true">{order.isDown ? '▼' : '▲'}</span>}
      </button>
    </th>
  ));
}

function UnseenHeading({ children }: { children: string }) {
  return (
    <th scope="col">
      <span className="unseen">{children}</span>
    </th>
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
