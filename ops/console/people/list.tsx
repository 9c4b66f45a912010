import { Button, Paper, Skeleton } from '@mantine/core';
import type { ReactNode } from 'react';
import { Empty } from '../ui/empty.tsx';
import { Problem } from '../ui/problem.tsx';
import { type Column, PageButtons, Scroller, Table } from '../ui/table.tsx';
import { TextFilter } from '../ui/text-filter.tsx';
import type { PeopleView } from './view.ts';

interface Props<T> {
  title: string;
  view: PeopleView;
  onView: (view: PeopleView) => void;
  rows: readonly T[] | undefined;
  next?: string | null | undefined;
  error: Error | null;
  onRetry: () => void;
  idOf: (row: T) => string;
  columns: readonly Column<T>[];
  /** Where there is nothing yet: what the entries are for. */
  empty: string;
  /** Beside those words, the way to the first one. */
  first?: ReactNode;
  /** The panel of the selected row. */
  panel: ReactNode;
}

/** A searched list with a panel for the row that is looked at. */
export function PeopleList<T>(props: Props<T>) {
  const { title, view, onView, rows, next, error, onRetry, idOf, columns, empty, first, panel } = props;
  const { cursor: _, ...rest } = view;
  return (
    <>
      <search aria-label={`Filter ${title.toLowerCase()}`}>
        <Paper withBorder p="sm" mb="md" className="filters">
          <TextFilter
            label="Search"
            value={view.search}
            onSet={(search) => onView({ ...rest, search: search ?? '' })}
          />
        </Paper>
      </search>
      {error && <Problem error={error} onRetry={onRetry} />}
      {!rows && !error && <Skeleton h={240} />}
      <div className={panel ? 'split beside' : undefined}>
        {rows && (
          <Scroller label={title} isPanel>
            {rows.length === 0 ? (
              <Empty action={!view.search && first}>{view.search ? 'Nothing matches the filter.' : empty}</Empty>
            ) : (
              <Table caption={title} columns={columns} rows={rows} idOf={idOf} selected={view.shown} />
            )}
          </Scroller>
        )}
        {panel && (
          <Paper withBorder p="sm">
            {panel}
          </Paper>
        )}
      </div>
      <PageButtons cursor={view.cursor} next={next} onGo={(cursor) => onView({ ...rest, cursor: cursor ?? '' })} />
    </>
  );
}

/** Opens the panel of a row. */
export function RowButton({ name, onOpen }: { name: string; onOpen: () => void }) {
  return (
    <Button size="compact-sm" h="auto" mih={26} ta="start" variant="default" onClick={onOpen}>
      <bdi className="clip">{name}</bdi>
    </Button>
  );
}
