import { Button, Checkbox, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import {
  changeTable,
  createSchema,
  type DatabaseTable,
  dropSchema,
  dropTable,
  type SchemaIDs,
  type TableIDs,
} from '../client/database.ts';
import type { Schemas } from '../client/types.ts';
import { Change, type ChangeProps } from './change.tsx';
import { TypeField } from './type-field.tsx';

type Dialog = Pick<ChangeProps, 'onDone' | 'onClose'>;

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
      verb="Create the schema"
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
