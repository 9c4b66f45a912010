import { Checkbox, Group, Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { foldersRead } from '../client/folders.ts';
import type { ListFilter } from '../client/list-filter.ts';
import { type Permission, useMay } from '../client/may.ts';
import type { Schemas } from '../client/types.ts';
import { countOf } from './count.ts';
import { Empty } from './empty.tsx';
import { FolderSelect } from './folder-select.tsx';
import { FolderTools, MoveChosen } from './folder-tools.tsx';
import { PageTitle } from './page.tsx';
import { Problem } from './problem.tsx';
import { type Column, PageButtons, Table } from './table.tsx';
import { TextFilter } from './text-filter.tsx';

interface Props<T> {
  tenantID: string;
  title: string;
  /** Buttons beside the title. */
  actions?: ReactNode;
  entityType: Schemas['Folder']['entityType'];
  filter: ListFilter;
  onFilter: (filter: ListFilter) => void;
  read: {
    data: { rows: readonly T[]; nextCursor: string | null } | undefined;
    error: Error | null;
    refetch: () => unknown;
  };
  idOf: (row: T) => string;
  titleOf: (row: T) => string;
  columns: readonly Column<T>[];
  /** Where there is nothing yet: what such assets are for. */
  empty: string;
  /** Beside those words, the way to the first one. */
  first?: ReactNode;
}

/** A page with the assets of one type: searched by the API, a folder at a time or all. */
export function AssetList<T>(props: Props<T>) {
  const { tenantID, entityType, title, actions, filter, onFilter, read, idOf } = props;
  const { data, error, refetch } = read;
  const may = useMay();
  const { data: folders = [] } = useQuery({ ...foldersRead(tenantID, entityType), enabled: may('folder.list') });
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  // Rows that are not shown any more are not moved unseen.
  const chosen = (data?.rows ?? []).map(idOf).filter((id) => marked.has(id));
  const mayMove = folders.length > 0 && may('folder.update') && may(updates[entityType]);
  const open = (folderID: string | undefined) => onFilter({ ...filter, folderID: folderID ?? '', cursor: '' });
  return (
    <>
      <PageTitle title={title}>{actions}</PageTitle>
      <Filters {...props} folders={folders}>
        <Group gap="xs" align="end">
          <FolderTools
            {...{ tenantID, entityType, folders }}
            current={folders.find(({ id }) => id === filter.folderID)}
            onCurrent={open}
          />
          {chosen.length > 0 && (
            <MoveChosen
              {...{ tenantID, entityType, folders }}
              what={countOf(chosen.length, ...nouns[entityType])}
              ids={chosen}
              onMoved={() => setMarked(new Set())}
            />
          )}
        </Group>
      </Filters>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={240} />}
      {data && (
        <div className="panel scroller">
          <Rows {...props} rows={data.rows} marked={marked} onMark={mayMove ? setMarked : undefined} />
        </div>
      )}
      <PageButtons
        cursor={filter.cursor}
        next={data?.nextCursor}
        onGo={(cursor) => onFilter({ ...filter, cursor: cursor ?? '' })}
      />
    </>
  );
}

/** The permission to move one of a type into a folder. */
const updates: Record<Schemas['Folder']['entityType'], Permission> = {
  workflow: 'workflow.update',
  dataQuery: 'dataquery.update',
  cronJob: 'cronjob.update',
  listener: 'listener.update',
  datasource: 'datasource.update',
  widget: 'widget.update',
  dashboard: 'dashboard.update',
  appPage: 'appPage.update',
};

const nouns: Record<Schemas['Folder']['entityType'], [one: string, many?: string]> = {
  workflow: ['workflow'],
  dataQuery: ['query', 'queries'],
  cronJob: ['cron job'],
  listener: ['listener'],
  datasource: ['datasource'],
  widget: ['widget'],
  dashboard: ['dashboard'],
  appPage: ['page'],
};

interface FiltersProps {
  title: string;
  filter: ListFilter;
  onFilter: (filter: ListFilter) => void;
  folders: readonly Schemas['Folder'][];
  children: ReactNode;
}

function Filters({ title, filter, onFilter, folders, children }: FiltersProps) {
  return (
    <search aria-label={`Filter ${title.toLowerCase()}`}>
      <Paper withBorder p="sm" mb="md" className="filters">
        <TextFilter
          label="Search"
          value={filter.search}
          onSet={(search) => onFilter({ ...filter, search: search ?? '', cursor: '' })}
        />
        {folders.length > 0 && (
          <FolderSelect
            label="Folder"
            none="Any"
            clear="Any folder"
            folders={folders}
            value={filter.folderID ?? null}
            onChange={(folderID) => onFilter({ ...filter, folderID: folderID ?? '', cursor: '' })}
          />
        )}
        {children}
      </Paper>
    </search>
  );
}

interface RowsProps<T> extends Props<T> {
  rows: readonly T[];
  marked: ReadonlySet<string>;
  /** Absent: rows are not chosen. */
  onMark: ((marked: ReadonlySet<string>) => void) | undefined;
}

function Rows<T>({ title, rows, columns, idOf, titleOf, filter, empty, first, marked, onMark }: RowsProps<T>) {
  const isFiltered = Boolean(filter.search || filter.folderID);
  if (rows.length === 0)
    return <Empty action={!isFiltered && first}>{isFiltered ? 'Nothing matches the filter.' : empty}</Empty>;
  const mark: Column<T> = {
    head: 'Choose',
    cell: (row) => (
      <Checkbox
        aria-label={`Choose ${titleOf(row)}`}
        checked={marked.has(idOf(row))}
        onChange={({ currentTarget: { checked } }) => {
          const others = [...marked].filter((id) => id !== idOf(row));
          onMark?.(new Set(checked ? [...others, idOf(row)] : others));
        }}
      />
    ),
  };
  return <Table caption={title} columns={onMark ? [...columns, mark] : columns} rows={rows} idOf={idOf} />;
}
