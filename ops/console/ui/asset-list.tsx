import { Paper, Select, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ListFilter } from '../client/list-filter.ts';
import { useMay } from '../client/may.ts';
import { foldersRead } from '../client/reads.ts';
import type { Schemas } from '../client/types.ts';
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
  columns: readonly Column<T>[];
  /** Where there is nothing yet. */
  empty: string;
}

/** A page with the assets of one type: searched by the API, a folder at a time or all. */
export function AssetList<T>(props: Props<T>) {
  const { title, actions, filter, onFilter, read } = props;
  const { data, error, refetch } = read;
  return (
    <>
      <PageTitle title={title}>{actions}</PageTitle>
      <Filters {...props} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={240} />}
      {data && (
        <div className="panel scroller">
          <Rows {...props} rows={data.rows} />
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

function Filters<T>({ tenantID, entityType, title, filter, onFilter }: Props<T>) {
  const may = useMay();
  const { data: folders = [] } = useQuery({ ...foldersRead(tenantID, entityType), enabled: may('folder.list') });
  return (
    <search aria-label={`Filter ${title.toLowerCase()}`}>
      <Paper withBorder p="sm" mb="md" className="filters">
        <TextFilter
          label="Search"
          value={filter.search}
          onSet={(search) => onFilter({ ...filter, search: search ?? '', cursor: '' })}
        />
        {folders.length > 0 && (
          <Select
            label="Folder"
            placeholder="Any"
            clearable
            clearButtonProps={{ 'aria-label': 'Any folder' }}
            searchable
            data={folders.map(({ id, folderTitle }) => ({ value: id, label: folderTitle }))}
            value={filter.folderID ?? null}
            onChange={(folderID) => onFilter({ ...filter, folderID: folderID ?? '', cursor: '' })}
          />
        )}
      </Paper>
    </search>
  );
}

function Rows<T>({ title, rows, columns, idOf, filter, empty }: Props<T> & { rows: readonly T[] }) {
  if (rows.length === 0)
    return (
      <Text p="xl" ta="center" c="dimmed">
        {filter.search || filter.folderID ? 'Nothing matches the filter.' : empty}
      </Text>
    );
  return <Table caption={title} columns={columns} rows={rows} idOf={idOf} />;
}
