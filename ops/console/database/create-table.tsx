import { Button, Checkbox, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { createTable, type SchemaIDs } from '../client/database.ts';
import type { Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { Problem } from '../ui/problem.tsx';
import { addInParts } from './add-in-parts.ts';
import { CellsField, type Given } from './cells-field.tsx';
import { Change } from './change.tsx';
import { rowsOfCells, tableOfCells } from './table-of-cells.ts';
import { TypeField } from './type-field.tsx';

interface ColumnDraft {
  /** Tells the columns apart while they are removed. */
  key: number;
  name: string;
  type: string;
  primaryKey: boolean;
  notNull: boolean;
  /** Empty: none. */
  standard: string;
  /** The place of its values in the cells that were pasted. */
  from?: number;
}

const plain = { type: 'text', primaryKey: false, notNull: false, standard: '' };

const counted = { ...plain, key: 0, name: 'id', type: 'bigserial', primaryKey: true };
const empty: readonly ColumnDraft[] = [counted, { ...plain, key: 1, name: '' }];

interface CreateProps {
  ids: SchemaIDs;
  onDone: (table: string) => void;
  onClose: () => void;
}

/** A new table, whose key the database counts at first. */
export function CreateTable({ ids, onDone, onClose }: CreateProps) {
  const [name, setName] = useState('');
  const [lines, setLines] = useState<readonly string[][]>([]);
  const [fault, setFault] = useState<Error>();
  const [isPasting, setPasting] = useState(false);
  /** The table is there; a second attempt goes on with its rows. */
  const [isMade, setMade] = useState(false);
  const [added, setAdded] = useState(0);
  const [columns, setColumns] = useState<readonly ColumnDraft[]>(empty);
  const set = (key: number, change: Partial<ColumnDraft>) =>
    setColumns(columns.map((one) => (one.key === key ? { ...one, ...change } : one)));
  const add = () =>
    setColumns([...columns, { ...plain, key: Math.max(0, ...columns.map(({ key }) => key)) + 1, name: '' }]);
  const clear = () => {
    setFault(undefined);
    setLines([]);
    setColumns(empty);
  };
  const take = async ({ read }: Given) => {
    try {
      const { columns: found, lines: rows } = tableOfCells(await read());
      const own = found.map((one, index) => ({ ...plain, ...one, key: index + 1 }));
      const key = found.some((one) => one.name === 'id') ? 'row_id' : 'id';
      setColumns(found.some(({ primaryKey }) => primaryKey) ? own : [{ ...counted, name: key }, ...own]);
      setLines(rows);
      setFault(undefined);
    } catch (error) {
      clear();
      setFault(error as Error);
    }
  };
  const make = async (preview: boolean) => {
    if (preview) return createTable(ids, table, true);
    // A value that does not fit its column is found before anything is made.
    const rows = rowsOfCells(lines, columns);
    const statements = isMade ? [] : await createTable(ids, table, false);
    setMade(true);
    await addInParts({ ...ids, databaseTableName: name }, rows, added, setAdded);
    return statements;
  };
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
      verb={lines.length > 0 ? `Create the table with ${countOf(lines.length, 'row')}` : 'Create the table'}
      tenantID={ids.tenantID}
      change={make}
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
      {isPasting ? (
        <CellsField example={['name', 'amount', 'day']} onGiven={(given) => void take(given)} onCleared={clear} />
      ) : (
        <div>
          <Button size="xs" variant="default" onClick={() => setPasting(true)}>
            From a spreadsheet or CSV
          </Button>
        </div>
      )}
      {fault && <Problem error={fault} />}
      {isMade && <Text size="sm">The table is made. What follows adds the rows that are missing.</Text>}
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
