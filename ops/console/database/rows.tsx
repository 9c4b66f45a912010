import { ActionIcon, Button, Group, Menu, Skeleton, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import {
  countRows,
  type DatabaseTable,
  deleteRow,
  exportRows,
  keyOf,
  PAGE,
  type Row,
  type RowsFormat,
  rowsRead,
  type TableIDs,
} from '../client/database.ts';
import { useMay } from '../client/may.ts';
import { Cell } from '../ui/cell.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { countOf } from '../ui/count.ts';
import { May } from '../ui/may.tsx';
import { Problem } from '../ui/problem.tsx';
import { saveFile } from '../ui/save-file.ts';
import { type Column, Scroller, Table } from '../ui/table.tsx';
import { RowFilter } from './row-filter.tsx';
import type { DatabaseView } from './view.ts';

const RowDialog = lazy(() => import('./row-dialog.tsx').then(({ RowDialog: one }) => ({ default: one })));
const ImportRows = lazy(() => import('./import-rows.tsx').then(({ ImportRows: one }) => ({ default: one })));

interface Props {
  ids: TableIDs;
  table: DatabaseTable;
  view: DatabaseView;
  onView: (view: DatabaseView) => void;
}

/** Rows of a table in pages, found by a filter, changed by their primary key. */
export function Rows({ ids, table, view, onView }: Props) {
  const { page = 1, q } = view;
  const may = useMay();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(rowsRead(ids, page, q));
  const [edited, setEdited] = useState<Row | 'new'>();
  const [doomed, setDoomed] = useState<Row>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['database', ids.tenantID, 'rows'] });
  const hasKey = table.primaryKey.length > 0;
  const columns: Column<Row>[] = table.databaseTableColumns.map(({ databaseTableColumnName: name }) => ({
    head: name,
    cell: (row) => (
      <div className="clip">
        <Cell name={name} value={row[name]} />
      </div>
    ),
  }));
  const rows = (data?.databaseTableRows ?? []) as readonly Row[];
  const actions: Column<Row> = {
    head: 'Actions',
    isPinned: true,
    cell: (row) => (
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" aria-label={`Actions for ${keyWords(keyOf(table, row))}`}>
            ⋯
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {may('database.rowUpdate') && <Menu.Item onClick={() => setEdited(row)}>Edit</Menu.Item>}
          {may('database.rowDelete') && (
            <Menu.Item className="dangerous" onClick={() => setDoomed(row)}>
              Delete
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
    ),
  };
  const isChangeable = hasKey && (may('database.rowUpdate') || may('database.rowDelete'));
  return (
    <>
      <RowFilter table={table} key={q ?? ''} q={q} onSet={(next) => onView({ ...view, page: 1, q: next ?? '' })} />
      <Tools key={q ?? ''} ids={ids} q={q} table={table} onAdd={() => setEdited('new')} onAdded={refresh} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={200} />}
      {data && (
        <Scroller label="Rows" isPanel>
          <Table
            caption="Rows"
            columns={isChangeable ? [...columns, actions] : columns}
            rows={rows}
            idOf={(row) => JSON.stringify(hasKey ? keyOf(table, row) : row)}
          />
          {rows.length === 0 && (
            <Text p="xl" ta="center" c="dimmed">
              {q ? 'No row matches the filter.' : 'The table is empty.'}
            </Text>
          )}
        </Scroller>
      )}
      <Paging page={page} next={data?.nextPage ?? null} onGo={(next) => onView({ ...view, page: next })} />
      {edited && (
        <Suspense>
          <RowDialog
            ids={ids}
            table={table}
            row={edited === 'new' ? undefined : edited}
            onSettled={refresh}
            onClose={() => setEdited(undefined)}
          />
        </Suspense>
      )}
      {doomed && (
        <Confirm
          title="Delete the row"
          question={`The row with ${keyWords(keyOf(table, doomed))} is deleted.`}
          verb="Delete"
          onConfirm={() => deleteRow(ids, keyOf(table, doomed)).finally(refresh)}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </>
  );
}

interface ToolsProps {
  ids: TableIDs;
  table: DatabaseTable;
  q: string | undefined;
  /** Opens the form of a new row. */
  onAdd: () => void;
  /** Rows were imported. */
  onAdded: () => Promise<unknown>;
}

function Tools({ ids, table, q, onAdd, onAdded }: ToolsProps) {
  const [isImporting, importing] = useDisclosure(false);
  const count = useMutation({ mutationFn: () => countRows(ids, q) });
  const save = useMutation({
    mutationFn: async (format: RowsFormat) =>
      saveFile(`${ids.databaseTableName}.${format}`, await exportRows(ids, q, format)),
  });
  return (
    <>
      <Group gap="xs" mb="sm">
        <May permission="database.rowCreate">
          <Button size="xs" variant="default" onClick={onAdd}>
            Add a row
          </Button>
          <Button size="xs" variant="default" onClick={importing.open}>
            Import rows
          </Button>
        </May>
        <May permission="database.tableRead">
          <Button size="xs" variant="default" loading={count.isPending} onClick={() => count.mutate()}>
            Count
          </Button>
        </May>
        <Menu>
          <Menu.Target>
            <Button size="xs" variant="default" loading={save.isPending}>
              Export
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => save.mutate('csv')}>CSV</Menu.Item>
            <Menu.Item onClick={() => save.mutate('json')}>JSON</Menu.Item>
            <Menu.Item onClick={() => save.mutate('xlsx')}>Excel</Menu.Item>
          </Menu.Dropdown>
        </Menu>
        {count.data !== undefined && (
          <Text size="sm" role="status">
            {countOf(count.data, 'row')}
          </Text>
        )}
      </Group>
      {count.error && <Problem error={count.error} />}
      {save.error && <Problem error={save.error} />}
      {isImporting && (
        <Suspense>
          <ImportRows ids={ids} table={table} onSettled={onAdded} onClose={importing.close} />
        </Suspense>
      )}
    </>
  );
}

function Paging({ page, next, onGo }: { page: number; next: number | null; onGo: (page: number) => void }) {
  if (page === 1 && next === null) return null;
  return (
    <Group justify="flex-end" mt="sm" gap="xs">
      <Button variant="default" size="xs" disabled={page === 1} onClick={() => onGo(page - 1)}>
        Before
      </Button>
      <Text size="sm">from row {((page - 1) * PAGE + 1).toLocaleString()}</Text>
      <Button variant="default" size="xs" disabled={next === null} onClick={() => onGo(page + 1)}>
        Next
      </Button>
    </Group>
  );
}

/** Columns with their values, as in `id 5 and day 2026-03-02`. */
function keyWords(key: Row): string {
  const words = Object.entries(key).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return words.join(' and ');
}
