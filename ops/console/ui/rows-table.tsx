import './rows-table.css';
import {
  type ColumnDef,
  columnResizingFeature,
  columnSizingFeature,
  createSortedRowModel,
  type Header,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useMemo, useRef } from 'react';
import { Cell, MAX_CELL } from './cell.tsx';
import { cellText } from './cell-text.ts';
import { compareKeys, type SortKey, sortKeyOf } from './row-order.ts';

type Row = Readonly<Record<string, unknown>>;

const features = tableFeatures({
  rowSortingFeature,
  columnSizingFeature,
  columnResizingFeature,
  sortedRowModel: createSortedRowModel(),
});
type Column = ColumnDef<typeof features, Row>;

/** As in the style sheet: rows of one height need not be measured. */
const ROW_HEIGHT = 37;
/** Rows that are drawn above and below those in view. */
const BEYOND = 8;
/** The texts of so many rows decide the width of the columns. */
const ROWS_FOR_WIDTH = 50;
const LEAST_WIDTH = 64;
const WIDTH_STEP = 24;

interface Props {
  label: string;
  rows: readonly Row[];
  names: readonly string[];
}

/** Rows of an answer, of which only those in view are drawn. A column is sorted by its head, and has a width that can be changed. */
export function RowsTable({ label, rows, names }: Props) {
  const section = useRef<HTMLElement>(null);
  const columns = useMemo(() => names.map((name, index) => columnOf({ name, index, rows })), [names, rows]);
  const table = useTable({ features, columns, data: rows, columnResizeMode: 'onChange' });
  const shown = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => section.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: BEYOND,
  });
  const drawn = virtual.getVirtualItems();
  const above = drawn[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (drawn.at(-1)?.end ?? 0);
  const heads = table.getHeaderGroups().flatMap(({ headers }) => headers);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className="rows" tabIndex={0} aria-label={label} ref={section}>
      <table
        className="list"
        style={{ width: table.getTotalSize() }}
        aria-rowcount={rows.length + 1}
        aria-colcount={names.length}
      >
        <caption className="unseen">{label}</caption>
        <colgroup>
          {heads.map((head) => (
            <col key={head.id} style={{ width: head.getSize() }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {heads.map((head) => (
              <Head key={head.id} of={head} name={names[head.index] ?? ''} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Space height={above} columns={names.length} />
          {drawn.map(({ index }) => (
            <tr key={shown[index]?.id} aria-rowindex={index + 2}>
              {names.map((name, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two columns of an answer may have one name
                <td key={column}>
                  <Cell name={name} value={shown[index]?.original[name] ?? null} />
                </td>
              ))}
            </tr>
          ))}
          <Space height={below} columns={names.length} />
        </tbody>
      </table>
    </section>
  );
}

/** In the place of rows that are not drawn. */
function Space({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
    <tr className="space" aria-hidden="true">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

const directions = { asc: 'ascending', desc: 'descending' } as const;

function Head({ of: head, name }: { of: Header<typeof features, Row>; name: string }) {
  const { column } = head;
  const direction = column.getIsSorted();
  const startResizing = head.getResizeHandler();
  const widen = (by: number) =>
    column.table.setColumnSizing((old) => ({ ...old, [column.id]: Math.max(LEAST_WIDTH, column.getSize() + by) }));
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -WIDTH_STEP, ArrowRight: WIDTH_STEP }[event.key];
    if (!event.shiftKey || !step) return;
    event.preventDefault();
    widen(step);
  };
  return (
    <th scope="col" aria-sort={direction ? directions[direction] : 'none'}>
      <button
        type="button"
        className="plain by"
        title="Sorts by this column. Shift with ← or → changes its width."
        onClick={() => column.toggleSorting(direction === 'desc' ? undefined : direction === 'asc')}
        onKeyDown={onKey}
      >
        <bdi>{name}</bdi>
        {direction && <span aria-hidden="true">{direction === 'asc' ? '▲' : '▼'}</span>}
      </button>
      <div
        className="width"
        aria-hidden="true"
        title="Drag, or double-click for more width"
        onMouseDown={startResizing}
        onTouchStart={startResizing}
        onDoubleClick={() => widen(4 * WIDTH_STEP)}
      />
    </th>
  );
}

function columnOf({ name, index, rows }: { name: string; index: number; rows: readonly Row[] }): Column {
  const texts = rows.slice(0, ROWS_FOR_WIDTH).map((row) => cellText(row[name] ?? null).length);
  const characters = Math.min(MAX_CELL, Math.max(name.length + 2, ...texts));
  return {
    id: String(index),
    // Computed once for each row, when it is sorted by first.
    accessorFn: (row) => sortKeyOf(row[name]),
    size: Math.max(LEAST_WIDTH, Math.min(420, characters * 9 + 28)),
    minSize: LEAST_WIDTH,
    sortDescFirst: false,
    sortUndefined: 'last',
    sortFn: (one, other, id) => compareKeys(one.getValue<SortKey>(id), other.getValue<SortKey>(id)),
  };
}
