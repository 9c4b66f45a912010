import { Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type DatabaseTable, MAX_ADDED, type TableIDs } from '../client/database.ts';
import { countOf } from '../ui/count.ts';
import { FormDialog } from '../ui/form.tsx';
import { Notice } from '../ui/notice.tsx';
import { addInParts } from './add-in-parts.ts';
import { CellsField, type Given } from './cells-field.tsx';
import { type Matched, rowsOfFile } from './csv.ts';

interface Props {
  ids: TableIDs;
  table: DatabaseTable;
  /** Also after a refusal: rows before it may have been added. */
  onSettled: () => Promise<unknown>;
  onClose: () => void;
}

/** Adds the rows of a CSV file or of pasted cells, whose first line names columns of the table. */
export function ImportRows({ ids, table, onSettled, onClose }: Props) {
  const columns = table.databaseTableColumns.filter(({ isGenerated }) => !isGenerated);
  const [added, setAdded] = useState(0);
  const read = useMutation({
    mutationFn: async ({ name, read: text }: Given) => ({ name, ...rowsOfFile(await text(), columns) }),
    onMutate: () => {
      setAdded(0);
      save.reset();
    },
  });
  const save = useMutation({
    mutationFn: async () => {
      if (!read.data) throw new Error('Choose a file or paste cells first');
      await addInParts(ids, read.data.rows, added, setAdded);
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
      title="Import rows"
      size="lg"
      verb={rows > 0 ? `Import ${countOf(rows, 'row')}` : 'Import'}
      save={saving}
      onClose={onClose}
    >
      <Text size="sm">
        The first line names columns of the table, as an export has them. An empty cell gets the default of its column.
      </Text>
      <CellsField
        example={columns.slice(0, 4).map((column) => column.databaseTableColumnName)}
        isPending={read.isPending}
        onGiven={(given) => read.mutate(given)}
        onCleared={read.reset}
      />
      {read.data && (
        <Text size="sm">
          <bdi>{read.data.name}</bdi>: {countOf(rows, 'row')}
        </Text>
      )}
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
