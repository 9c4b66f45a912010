import '@mantine/core/styles/Tabs.css';
import { ActionIcon, Button, Group, Menu, Paper, Select, Skeleton, Stack, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type DatabaseTable, type SchemaIDs, schemasRead, tablesRead } from '../client/database.ts';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useMay } from '../client/may.ts';
import { ChangeColumns, CreateSchema, DropSchema, DropTable } from '../database/change-table.tsx';
import { CreateTable } from '../database/create-table.tsx';
import { Rows } from '../database/rows.tsx';
import { SQLPage } from '../database/sql.tsx';
import { type DatabaseView, parseDatabaseView } from '../database/view.ts';
import { countOf } from '../ui/count.ts';
import { NewPageDialog } from '../ui/new-page-dialog.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { type Column, Table } from '../ui/table.tsx';

const from = '/shell/t/$tenantID/database';

/** The tenant's own database: its tables, their rows, and SQL. */
export function DatabasePage() {
  const { tenantID } = useParams({ from });
  const view = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/database' });
  const may = useMay();
  const show = (next: DatabaseView) => void navigate({ search: parseDatabaseView({ ...next }) });
  const names = { ...(view.schema && { schema: view.schema }), ...(view.table && { table: view.table }) };
  return (
    <>
      <PageTitle title="Database" />
      <Tabs
        value={view.tab === 'sql' ? 'sql' : 'tables'}
        onChange={(tab) => show(tab === 'sql' ? { ...names, tab: 'sql' } : names)}
        keepMounted={false}
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="tables">Tables</Tabs.Tab>
          {may('database.execute') && <Tabs.Tab value="sql">SQL</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="tables">
          <Tables tenantID={tenantID} view={view} onView={show} />
        </Tabs.Panel>
        <Tabs.Panel value="sql">
          <SQLPage key={tenantID} tenantID={tenantID} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

interface Props {
  tenantID: string;
  view: DatabaseView;
  onView: (view: DatabaseView) => void;
}

function Tables({ tenantID, view, onView }: Props) {
  const schemas = useQuery(schemasRead(tenantID));
  const schema = view.schema ?? schemas.data?.find((one) => one.databaseSchemaName === 'public')?.databaseSchemaName;
  const ids = { tenantID, databaseSchemaName: schema ?? '' };
  const tables = useQuery({ ...tablesRead(ids), enabled: schema !== undefined });
  const table = tables.data?.find((one) => one.databaseTableName === view.table);
  const error = errorInPlaceOf(schemas, tables);
  if (error) return <Problem error={error} onRetry={() => void schemas.refetch()} />;
  if (!schemas.data) return <Skeleton h={200} />;
  return (
    <>
      <Group align="end" gap="xs" mb="md">
        <Select
          label="Schema"
          size="xs"
          data={schemas.data.map(({ databaseSchemaName }) => databaseSchemaName)}
          value={schema ?? null}
          allowDeselect={false}
          onChange={(next) => next && onView({ schema: next })}
        />
        <Select
          label="Table"
          size="xs"
          searchable
          placeholder="Choose"
          nothingFoundMessage="No table"
          data={tables.data?.map(({ databaseTableName }) => databaseTableName) ?? []}
          value={view.table ?? null}
          allowDeselect={false}
          onChange={(next) => next && schema && onView({ schema, table: next })}
        />
        <Changes ids={ids} onDropped={() => onView({})} onMade={(made) => schema && onView({ schema, table: made })} />
      </Group>
      {tables.data && !table && (
        <Text size="sm" mb="xs">
          {view.table ? `There is no table “${view.table}” here.` : tablesText(tables.data.length)}
        </Text>
      )}
      {tables.data && schema && !view.table && (
        <Stack component="ul" gap={4} m={0} p={0} style={{ listStyle: 'none' }}>
          {tables.data.map(({ databaseTableName: name }) => (
            <li key={name}>
              <Link className="link" to="/t/$tenantID/database" params={{ tenantID }} search={{ schema, table: name }}>
                <bdi>{name}</bdi>
              </Link>
            </li>
          ))}
        </Stack>
      )}
      {table && (
        <OneTable key={table.databaseTableName} tenantID={tenantID} table={table} view={view} onView={onView} />
      )}
    </>
  );
}

function tablesText(count: number): string {
  if (count === 0) return 'There is no table in this schema yet. “New table” makes one.';
  return `${countOf(count, 'table or view', 'tables and views')}. Choose one to see its columns and rows.`;
}

interface ChangesProps {
  ids: SchemaIDs;
  onDropped: () => void;
  onMade: (table: string) => void;
}

/** Tables and schemas that may be made or dropped, after their SQL is shown. */
function Changes({ ids, onDropped, onMade }: ChangesProps) {
  const may = useMay();
  const { tenantID, databaseSchemaName } = ids;
  const [asked, setAsked] = useState<'table' | 'schema' | 'drop'>();
  const mayDrop = databaseSchemaName !== '' && may('database.schemaDelete');
  const close = () => setAsked(undefined);
  const drop = () => {
    close();
    onDropped();
  };
  const open = (table: string) => {
    close();
    onMade(table);
  };
  return (
    <>
      {databaseSchemaName !== '' && may('database.tableCreate') && (
        <Button size="xs" variant="default" onClick={() => setAsked('table')}>
          New table
        </Button>
      )}
      {(may('database.schemaCreate') || mayDrop) && (
        <MoreActions label="Actions for schemas">
          {may('database.schemaCreate') && <Menu.Item onClick={() => setAsked('schema')}>New schema</Menu.Item>}
          {mayDrop && (
            <Menu.Item className="dangerous" onClick={() => setAsked('drop')}>
              Drop the schema {databaseSchemaName}
            </Menu.Item>
          )}
        </MoreActions>
      )}
      {asked === 'table' && <CreateTable ids={ids} onDone={open} onClose={close} />}
      {asked === 'schema' && <CreateSchema tenantID={tenantID} onDone={close} onClose={close} />}
      {asked === 'drop' && <DropSchema ids={ids} onDone={drop} onClose={close} />}
    </>
  );
}

function MoreActions({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" aria-label={label}>
          ⋯
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}

const columnColumns: Column<DatabaseTable['databaseTableColumns'][number]>[] = [
  { head: 'Column', cell: (one) => <bdi>{one.databaseTableColumnName}</bdi> },
  { head: 'Type', cell: (one) => `${one.databaseTableColumnType}${one.isList ? '[]' : ''}` },
  { head: 'Key', cell: (one) => (one.primaryKey ? 'primary' : one.unique ? 'unique' : '–'), isWide: true },
  { head: 'Null', cell: (one) => (one.notNull ? 'no' : 'yes') },
  { head: 'Default', cell: (one) => <bdi>{one.defaultValue ?? '–'}</bdi>, isWide: true },
];

function OneTable({ tenantID, table, view, onView }: Props & { table: DatabaseTable }) {
  const may = useMay();
  const [asked, setAsked] = useState<'drop' | 'change' | 'page'>();
  const close = () => setAsked(undefined);
  const { databaseSchemaName, databaseTableName } = table;
  const ids = { tenantID, databaseSchemaName, databaseTableName };
  const names = { schema: databaseSchemaName, table: databaseTableName };
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="sm">
        <Text component="h2" fw={600}>
          <bdi>{databaseTableName}</bdi>
        </Text>
        <Group gap="xs">
          {may('appPage.create') && (
            <Button size="xs" variant="default" onClick={() => setAsked('page')}>
              Make a page
            </Button>
          )}
          {may('database.tableUpdate') && !/view/i.test(table.databaseTableType) && (
            <Button size="xs" variant="default" onClick={() => setAsked('change')}>
              Change columns
            </Button>
          )}
          {may('database.tableDelete') && (
            <MoreActions label="Actions for the table">
              <Menu.Item className="dangerous" onClick={() => setAsked('drop')}>
                Drop the table
              </Menu.Item>
            </MoreActions>
          )}
        </Group>
      </Group>
      <Tabs
        value={view.tab === 'columns' ? 'columns' : 'rows'}
        onChange={(tab) => onView(tab === 'columns' ? { ...names, tab: 'columns' } : names)}
        keepMounted={false}
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="rows">Rows</Tabs.Tab>
          <Tabs.Tab value="columns">Columns</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="rows">
          {may('database.rowList') && <Rows ids={ids} table={table} view={view} onView={onView} />}
        </Tabs.Panel>
        <Tabs.Panel value="columns">
          <Table
            caption="Columns"
            columns={columnColumns}
            rows={table.databaseTableColumns}
            idOf={(one) => one.databaseTableColumnName}
          />
        </Tabs.Panel>
      </Tabs>
      {asked === 'change' && <ChangeColumns ids={ids} table={table} onDone={close} onClose={close} />}
      {asked === 'page' && (
        <NewPageDialog
          tenantID={tenantID}
          begin={{ kind: 'table', schema: databaseSchemaName, table: databaseTableName }}
          onClose={close}
        />
      )}
      {asked === 'drop' && (
        <DropTable ids={ids} onDone={() => onView({ schema: databaseSchemaName })} onClose={close} />
      )}
    </Paper>
  );
}
