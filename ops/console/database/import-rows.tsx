import { Button, FileButton, Group, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { addRows, type DatabaseTable, MAX_ADDED, type TableIDs } from '../client/database.ts';
import { APIError } from '../client/rest.ts';
import { countOf } from '../ui/count.ts';
import { FormDialog } from '../ui/form.tsx';
import { Notice } from '../ui/notice.tsx';
import { type Matched, rowsOfFile } from './csv.ts';

/** A browser holds the file and its rows at once. */
const MAX_BYTES = 20_000_000;

interface Props {
  ids: TableIDs;
  table: DatabaseTable;
  /** Also after a refusal: rows before it may have been added. */
  onSettled: () => Promise<unknown>;
  onClose: () => void;
}

/** Adds the rows of a CSV file, whose first line names columns of the table. */
export function ImportRows({ ids, table, onSettled, onClose }: Props) {
  const columns = table.databaseTableColumns.filter(({ isGenerated }) => !isGenerated);
  const [added, setAdded] = useState(0);
  const read = useMutation({
    mutationFn: async (file: File) => {
      if (file.size > MAX_BYTES) throw new Error('The file has more than 20 MB: import it in parts');
      return { name: file.name, ...rowsOfFile(await file.text(), columns) };
    },
    onMutate: () => {
      setAdded(0);
      save.reset();
    },
  });
  const save = useMutation({
    mutationFn: async () => {
      if (!read.data) throw new Error('Choose a file first');
      await addInParts(ids, read.data, added, setAdded);
    },
    onSettled: async (_saved, error) => {
      await onSettled();
      if (!error) onClose();
    },
  });
  const rows = read.data?.rows.length ?? 0;
  const error = read.error ?? save.error;
  const saving = { error, isPending: save.isPending, mutate: () => save.mutate() };
  return (
    <FormDialog
      title="Import rows from CSV"
      verb={rows > 0 ? `Import ${countOf(rows, 'row')}` : 'Import'}
      save={saving}
      onClose={onClose}
    >
      <Text size="sm">
        The first line of the file names columns of the table, as an export has them. An empty cell gets the default of
        its column.
      </Text>
      <Group gap="xs">
        <FileButton accept=".csv,.tsv,.txt,text/csv" onChange={(file) => file && read.mutate(file)}>
          {(props) => (
            <Button {...props} variant="default" loading={read.isPending}>
              Choose a file
            </Button>
          )}
        </FileButton>
        {read.data && (
          <Text size="sm">
            <bdi>{read.data.name}</bdi>: {countOf(rows, 'row')}
          </Text>
        )}
      </Group>
      {read.data && <Words of={read.data} />}
      {added > 0 && (
        <Text size="sm" role="status">
          {countOf(added, 'row')} added.
        </Text>
      )}
    </FormDialog>
  );
}

function Words({ of: { rows, columns, leftOut } }: { of: Matched }) {
  return (
    <>
      <Text size="sm" className="breaks">
        It fills {columns.join(', ')}.
      </Text>
      {leftOut.length > 0 && (
        <Notice tone="wait">The table does not have these, which are left out: {leftOut.join(', ')}.</Notice>
      )}
      {rows.length > MAX_ADDED && (
        <Text size="sm">
          They are added {MAX_ADDED.toLocaleString()} at a time. If one is refused, those before its part stay.
        </Text>
      )}
    </>
  );
}

/** Goes on behind the rows that an attempt before has added. */
async function addInParts(
  ids: TableIDs,
  { rows }: Matched,
  from: number,
  onAdded: (count: number) => void,
): Promise<void> {
  for (let at = from; at < rows.length; at += MAX_ADDED) {
    const part = rows.slice(at, at + MAX_ADDED);
    try {
      await addRows(ids, part);
    } catch (error) {
      throw withLine(error, at);
    }
    onAdded(at + part.length);
  }
}

/** The row of the file in which a refused row stands: the first line names the columns. */
function withLine(error: unknown, at: number): unknown {
  if (!(error instanceof APIError)) return error;
  const [issue] = error.issues;
  const index = issue?.path.find((part) => typeof part === 'number');
  if (!issue || typeof index !== 'number') return error;
  const column = issue.path.at(-1);
  const inColumn = typeof column === 'string' ? `, ${column}` : '';
  return new Error(`Row ${at + index + 2} of the file${inColumn}: ${issue.message}`);
}
