import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { Checkbox, SegmentedControl, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import {
  addRows,
  changeRow,
  currentRowsOf,
  type DatabaseTable,
  keyOf,
  MAX_ADDED,
  type Row,
  type TableIDs,
} from '../client/database.ts';
import { APIError } from '../client/rest.ts';
import { countOf } from '../ui/count.ts';
import { FormDialog } from '../ui/form.tsx';
import { JSONView, MAX_EDITED } from '../ui/json.tsx';
import { JSONEditor } from '../ui/json-editor.tsx';
import { faultOfJSON, NotJSON, parseJSON } from '../ui/json-text.ts';
import { Notice } from '../ui/notice.tsx';
import { CellField } from './cell-field.tsx';
import { type Entry, entryOf, type TableColumn, valueOfEntry } from './cells.ts';

interface Props {
  ids: TableIDs;
  table: DatabaseTable;
  /** Undefined: a new one. */
  row: Row | undefined;
  /** Also after a refusal: the rows that are shown are older than it. */
  onSettled: () => Promise<unknown>;
  onClose: () => void;
}

type Entries = Readonly<Record<string, Entry>>;

/** A row as a field for each of its columns, or as JSON. Values that are not touched are not sent. */
export function RowDialog({ ids, table, row, onSettled, onClose }: Props) {
  const columns = table.databaseTableColumns.filter(({ isGenerated }) => !isGenerated);
  const isLong = ({ databaseTableColumnName: name }: TableColumn) =>
    (JSON.stringify(row?.[name])?.length ?? 0) > MAX_EDITED;
  const leftOut = columns.filter(isLong).map(({ databaseTableColumnName }) => databaseTableColumnName);
  const shown = columns.filter((column) => !isLong(column));
  const [mode, setMode] = useState<'form' | 'json'>('form');
  const [entries, setEntries] = useState<Entries>({});
  const [text, setText] = useState('');
  const [goesOn, setGoesOn] = useState(false);
  /** How many rows this dialog has added. */
  const [added, setAdded] = useState(0);
  const switchTo = (next: 'form' | 'json') => {
    if (next === 'json')
      setText(JSON.stringify({ ...known(shown, row), ...touched(shown, entries, { lenient: true }) }, null, 2));
    else setEntries(entriesOf(shown, text));
    setMode(next);
  };
  const save = useMutation({
    mutationFn: async () => {
      if (!row) {
        const rows = mode === 'json' ? rowsIn(text) : [touched(shown, entries)];
        await addRows(ids, rows);
        return rows.length;
      }
      const entered = mode === 'json' ? objectOf(parseJSON(text)) : touched(shown, entries);
      const changed = Object.entries(entered).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(row[name]),
      );
      if (changed.length > 0) await changeRow(ids, keyOf(table, row), Object.fromEntries(changed));
      return 0;
    },
    onSettled: async (saved, error) => {
      await onSettled();
      if (error) return;
      if (row || !goesOn) return onClose();
      setEntries({});
      setText('');
      setAdded(added + (saved ?? 0));
    },
  });
  const faults = faultsByColumn(save.error);
  const faultOfText = faultOfJSON('row', save.error);
  return (
    <FormDialog
      title={row ? 'Edit the row' : 'Add a row'}
      verb="Save the row"
      size="lg"
      save={save}
      faults={faultOfText}
      onClose={onClose}
    >
      <SegmentedControl
        size="xs"
        aria-label="Enter the row as"
        value={mode}
        onChange={(next) => switchTo(next as 'form' | 'json')}
        data={[
          { value: 'form', label: 'Form' },
          { value: 'json', label: 'JSON' },
        ]}
      />
      {mode === 'json' ? (
        <JSONEditor
          label="Row"
          {...(!row && { description: 'One object, or a list of several: all of them are added, or none' })}
          autoFocus
          value={text}
          error={faultOfText.get('row')}
          onChange={setText}
        />
      ) : (
        shown.map((column) => {
          const { databaseTableColumnName: name } = column;
          return (
            <CellField
              key={`${added} ${name}`}
              column={column}
              entry={Object.hasOwn(entries, name) ? entries[name] : row && entryOf(column, row[name])}
              isNew={row === undefined}
              error={faults.get(name)}
              onChange={(entry) => setEntries({ ...entries, [name]: entry })}
            />
          );
        })
      )}
      {leftOut.length > 0 && (
        <Notice tone="wait">
          Too long to be edited here, and left as it is unless you add it as JSON: {leftOut.join(', ')}.
        </Notice>
      )}
      {save.error && faultOfText.size === 0 && <CurrentRows error={save.error} />}
      {!row && (
        <Checkbox
          label="Add another row after it"
          checked={goesOn}
          onChange={({ currentTarget }) => setGoesOn(currentTarget.checked)}
        />
      )}
      {added > 0 && (
        <Text size="sm" role="status">
          {countOf(added, 'row')} added.
        </Text>
      )}
    </FormDialog>
  );
}

/** The values that were entered. Lenient: a text that does not fit its column stays a text. */
function touched(columns: readonly TableColumn[], entries: Entries, { lenient = false } = {}): Row {
  return Object.fromEntries(
    columns.flatMap((column): [string, unknown][] => {
      const { databaseTableColumnName: name } = column;
      const entry = entries[name];
      if (entry === undefined) return [];
      try {
        return [[name, valueOfEntry(column, entry)]];
      } catch (error) {
        if (!lenient) throw error;
        return [[name, entry]];
      }
    }),
  );
}

/** The rows of one object, or of a list of them. */
function rowsIn(text: string): Row[] {
  const value = parseJSON(text);
  const rows = (Array.isArray(value) ? value : [value]).map(objectOf);
  if (rows.length === 0) throw new NotJSON('The list is empty');
  if (rows.length > MAX_ADDED)
    throw new NotJSON(`At most ${MAX_ADDED.toLocaleString()} rows are added at once: import more as CSV`);
  return rows;
}

function objectOf(value: unknown): Row {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new NotJSON('A row is an object with columns as names, such as {"name": "Ada"}');
  return value as Row;
}

function known(columns: readonly TableColumn[], row: Row | undefined): Row {
  return row ? Object.fromEntries(columns.map(({ databaseTableColumnName: name }) => [name, row[name]])) : {};
}

/** The values of JSON by column; nothing if it is none. */
function entriesOf(columns: readonly TableColumn[], text: string): Entries {
  try {
    const row = parseJSON(text) as Row;
    return Object.fromEntries(
      columns.flatMap((column) =>
        Object.hasOwn(row, column.databaseTableColumnName)
          ? [[column.databaseTableColumnName, entryOf(column, row[column.databaseTableColumnName])]]
          : [],
      ),
    );
  } catch {
    return {};
  }
}

/** Refusals of the API by the columns that they name. */
function faultsByColumn(error: Error | null): ReadonlyMap<string, string> {
  const issues = error instanceof APIError ? error.issues : [];
  return new Map(issues.map(({ path, message }) => [String(path.at(-1) ?? ''), message]));
}

/** The rows that are there instead of the one that was to be changed. */
function CurrentRows({ error }: { error: Error }) {
  const rows = currentRowsOf(error);
  if (!rows || rows.length === 0) return null;
  return <JSONView value={rows.length === 1 ? rows[0] : rows} label="What is there now" />;
}
