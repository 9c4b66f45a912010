import { Button, Checkbox, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import {
  changeTable,
  createSchema,
  createTable,
  type DatabaseTable,
  dropSchema,
  dropTable,
  type SchemaIDs,
  type TableIDs,
} from '../client/database.ts';
import type { Schemas } from '../client/types.ts';
import { JSONView } from '../ui/json.tsx';
import { Problem } from '../ui/problem.tsx';
import { TypeField } from './type-field.tsx';

interface Props {
  title: string;
  tenantID: string;
  /** Answers with the SQL, which it runs unless it is a preview. */
  change: (preview: boolean) => Promise<readonly string[]>;
  onDone: () => void;
  onClose: () => void;
  children?: ReactNode;
}

/** Shows the SQL of a change, and runs it after that. */
function Change({ title, tenantID, change, onDone, onClose, children }: Props) {
  const queries = useQueryClient();
  const preview = useMutation({ mutationFn: () => change(true) });
  const run = useMutation({
    mutationFn: () => change(false),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['database', tenantID] });
      onDone();
    },
  });
  return (
    <Modal opened onClose={onClose} title={title} size="xl">
      <Stack>
        {preview.data ? (
          <>
            <Text size="sm">This will be run:</Text>
            <JSONView value={preview.data.join(';\n') || 'Nothing changes.'} label="SQL of the change" />
          </>
        ) : (
          children
        )}
        {preview.error && <Problem error={preview.error} />}
        {run.error && <Problem error={run.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={preview.data ? () => preview.reset() : onClose}>
            {preview.data ? 'Back' : 'Close'}
          </Button>
          {preview.data ? (
            <Button loading={run.isPending} onClick={() => run.mutate()}>
              Run it
            </Button>
          ) : (
            <Button loading={preview.isPending} onClick={() => preview.mutate()}>
              Show the SQL
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

type Dialog = Pick<Props, 'onDone' | 'onClose'>;

export function DropTable({ ids, ...dialog }: Dialog & { ids: TableIDs }) {
  return (
    <Change
      title={`Drop ${ids.databaseTableName}`}
      tenantID={ids.tenantID}
      change={(preview) => dropTable(ids, preview)}
      {...dialog}
    >
      <Text size="sm">The table is dropped with its rows. What depends on it makes the database refuse.</Text>
    </Change>
  );
}

interface ColumnDraft {
  /** Tells the columns apart while they are removed. */
  key: number;
  name: string;
  type: string;
  primaryKey: boolean;
  notNull: boolean;
  /** Empty: none. */
  standard: string;
}

const plain = { type: 'text', primaryKey: false, notNull: false, standard: '' };

interface CreateProps {
  ids: SchemaIDs;
  onDone: (table: string) => void;
  onClose: () => void;
}

/** A new table, whose key the database counts at first. */
export function CreateTable({ ids, onDone, onClose }: CreateProps) {
  const [name, setName] = useState('');
  const [columns, setColumns] = useState<readonly ColumnDraft[]>([
    { ...plain, key: 0, name: 'id', type: 'bigserial', primaryKey: true },
    { ...plain, key: 1, name: '' },
  ]);
  const set = (key: number, change: Partial<ColumnDraft>) =>
    setColumns(columns.map((one) => (one.key === key ? { ...one, ...change } : one)));
  const add = () =>
    setColumns([...columns, { ...plain, key: Math.max(0, ...columns.map(({ key }) => key)) + 1, name: '' }]);
  const table = {
    databaseTableName: name,
    // A column that was added and not named yet is none.
    columns: columns
      .filter((one) => one.name !== '')
      .map((one) => ({
        ...{ databaseTableColumnName: one.name, databaseTableColumnType: one.type },
        ...{ primaryKey: one.primaryKey, notNull: one.notNull },
        ...(one.standard !== '' && { defaultValue: one.standard }),
      })),
  } as Schemas['DatabaseTableCreate'];
  return (
    <Change
      title={`New table in ${ids.databaseSchemaName}`}
      tenantID={ids.tenantID}
      change={(preview) => createTable(ids, table, preview)}
      onDone={() => onDone(name)}
      onClose={onClose}
    >
      <TextInput
        label="Table"
        data-autofocus
        required
        value={name}
        onChange={({ currentTarget: { value } }) => setName(value)}
      />
      {columns.map((one, index) => (
        <fieldset key={one.key} className="item" aria-label={`Settings of column ${index + 1}`}>
          <TextInput
            label="Column"
            aria-label={`Column ${index + 1}`}
            value={one.name}
            onChange={({ currentTarget: { value } }) => set(one.key, { name: value })}
          />
          <TypeField column={index + 1} value={one.type} onChange={(type) => set(one.key, { type })} />
          <TextInput
            label="Default"
            aria-label={`Default of column ${index + 1}`}
            placeholder="none"
            value={one.standard}
            onChange={({ currentTarget: { value } }) => set(one.key, { standard: value })}
          />
          <Stack gap={6}>
            <Checkbox
              label="Key"
              aria-label={`Key ${index + 1}`}
              checked={one.primaryKey}
              onChange={({ currentTarget: { checked } }) => set(one.key, { primaryKey: checked })}
            />
            <Checkbox
              label="Required"
              aria-label={`Required ${index + 1}`}
              checked={one.notNull || one.primaryKey}
              disabled={one.primaryKey}
              onChange={({ currentTarget: { checked } }) => set(one.key, { notNull: checked })}
            />
          </Stack>
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Remove column ${one.name || index + 1}`}
            onClick={() => setColumns(columns.filter(({ key }) => key !== one.key))}
          >
            Remove
          </Button>
        </fieldset>
      ))}
      <div>
        <Button size="xs" variant="default" onClick={add}>
          Add a column
        </Button>
      </div>
    </Change>
  );
}

interface ColumnChange {
  name: string;
  type: string;
  isList: boolean;
  notNull: boolean;
  /** Empty: none. */
  standard: string;
  /** As the table has it; undefined for a new column. */
  was?: DatabaseTable['databaseTableColumns'][number];
}

/** Columns of a table: added, dropped, or given another type, default or nullability. Keys and constraints stay. */
export function ChangeColumns({ ids, table, ...dialog }: Dialog & { ids: TableIDs; table: DatabaseTable }) {
  const [columns, setColumns] = useState<readonly ColumnChange[]>(() =>
    table.databaseTableColumns.map((was) => ({
      ...{ name: was.databaseTableColumnName, type: was.databaseTableColumnType, isList: was.isList },
      ...{ notNull: was.notNull, standard: was.defaultValue ?? '', was },
    })),
  );
  const set = (index: number, change: Partial<ColumnChange>) =>
    setColumns(columns.map((one, at) => (at === index ? { ...one, ...change } : one)));
  const wanted = {
    columns: columns.map(({ name, type, isList, notNull, standard, was }) => ({
      ...{ databaseTableColumnName: name, databaseTableColumnType: type, isList, notNull },
      ...(standard !== (was?.defaultValue ?? '') && { defaultValue: standard === '' ? null : standard }),
    })),
  } as Schemas['DatabaseTableUpdate'];
  return (
    <Change
      title={`Columns of ${ids.databaseTableName}`}
      tenantID={ids.tenantID}
      change={(preview) => changeTable(ids, wanted, preview)}
      {...dialog}
    >
      {columns.map(({ name, type, notNull, standard, was }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: columns are told apart by their place until they have a name
        <fieldset key={index} className="item" aria-label={`Settings of column ${index + 1}`}>
          <TextInput
            label="Column"
            aria-label={`Column ${index + 1}`}
            readOnly={was !== undefined}
            value={name}
            onChange={({ currentTarget: { value } }) => set(index, { name: value })}
          />
          <TypeField column={index + 1} value={type} onChange={(next) => set(index, { type: next })} />
          <TextInput
            label="Default"
            aria-label={`Default of column ${index + 1}`}
            value={standard}
            onChange={({ currentTarget: { value } }) => set(index, { standard: value })}
          />
          <Checkbox
            label="Required"
            aria-label={`Required ${index + 1}`}
            checked={notNull}
            onChange={({ currentTarget: { checked } }) => set(index, { notNull: checked })}
          />
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Drop column ${name || index + 1}`}
            onClick={() => setColumns(columns.toSpliced(index, 1))}
          >
            Drop
          </Button>
        </fieldset>
      ))}
      <div>
        <Button
          size="xs"
          variant="default"
          onClick={() =>
            setColumns([...columns, { name: '', type: 'text', isList: false, notNull: false, standard: '' }])
          }
        >
          Add a column
        </Button>
      </div>
    </Change>
  );
}

export function CreateSchema({ tenantID, ...dialog }: Dialog & { tenantID: string }) {
  const [name, setName] = useState('');
  return (
    <Change
      title="New schema"
      tenantID={tenantID}
      change={(preview) => createSchema(tenantID, name, preview)}
      {...dialog}
    >
      <TextInput
        label="Schema"
        data-autofocus
        required
        value={name}
        onChange={({ currentTarget: { value } }) => setName(value)}
      />
    </Change>
  );
}

export function DropSchema({ ids, ...dialog }: Dialog & { ids: SchemaIDs }) {
  return (
    <Change
      title={`Drop the schema ${ids.databaseSchemaName}`}
      tenantID={ids.tenantID}
      change={(preview) => dropSchema(ids, preview)}
      {...dialog}
    >
      <Text size="sm">A schema that has tables or other objects is not dropped.</Text>
    </Change>
  );
}
