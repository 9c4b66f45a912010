import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';

export interface Column<T> {
  head: string;
  cell: (row: T) => ReactNode;
  /** Left out on narrow screens. */
  isWide?: true;
  /** Actions on a row stay in view where the table is scrolled sideways. Screen readers alone have the head of the column. */
  isPinned?: true;
}

interface Props<T> {
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  idOf: (row: T) => string;
  /** The id of the row that is looked at. */
  selected?: string | undefined;
}

export function Table<T>({ caption, columns, rows, idOf, selected }: Props<T>) {
  return (
    <table className="list">
      <caption className="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.head} scope="col" className={classOf(column)}>
              {column.isPinned ? <span className="unseen">{column.head}</span> : column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={idOf(row)} data-selected={idOf(row) === selected}>
            {columns.map((column) => (
              <td key={column.head} className={classOf(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function classOf({ isWide, isPinned }: Pick<Column<never>, 'isWide' | 'isPinned'>): string | undefined {
  if (isWide) return 'wide';
  return isPinned && 'pinned';
}

/** Around a table whose rows may have nothing to go to: where it is wider than the page, it is scrolled by keyboard too. */
export function Scroller({ label, isPanel, children }: { label: string; isPanel?: true; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <div className={isPanel ? 'panel scroller' : 'scroller'} role="group" tabIndex={0} aria-label={label}>
      {children}
    </div>
  );
}

interface MoreProps {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

/** Below a list that is read page by page: the next one, if there is any. */
export function MoreButton({ of: { hasNextPage, isFetchingNextPage, fetchNextPage } }: { of: MoreProps }) {
  if (!hasNextPage) return null;
  return (
    <Group justify="flex-end" mt="xs">
      <Button variant="default" size="xs" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        More
      </Button>
    </Group>
  );
}

/** The way through a list that the API answers in pages; undefined is the first one. */
export function PageButtons({
  cursor,
  next,
  onGo,
}: {
  cursor: string | undefined;
  next: string | null | undefined;
  onGo: (cursor: string | undefined) => void;
}) {
  if (!cursor && !next) return null;
  return (
    <Group justify="flex-end" mt="sm" gap="xs">
      <Button variant="default" size="xs" disabled={!cursor} onClick={() => onGo(undefined)}>
        First page
      </Button>
      <Button variant="default" size="xs" disabled={!next} onClick={() => onGo(next ?? undefined)}>
        More
      </Button>
    </Group>
  );
}
