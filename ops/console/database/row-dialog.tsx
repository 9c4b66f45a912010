import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { parseExact } from '#shared/core/lossless-json.ts';
import {
  addRow,
  changeRow,
  currentRowsOf,
  type DatabaseTable,
  keyOf,
  type Row,
  type TableIDs,
} from '../client/database.ts';
import { FormDialog } from '../ui/form.tsx';
import { JSONView, MAX_EDITED } from '../ui/json.tsx';
import { JSONEditor } from '../ui/json-editor.tsx';
import { Notice } from '../ui/notice.tsx';

interface Props {
  ids: TableIDs;
  table: DatabaseTable;
  /** Undefined: a new one. */
  row: Row | undefined;
  /** Also after a refusal: the rows that are shown are older than it. */
  onSettled: () => Promise<unknown>;
  onClose: () => void;
}

/** A row as JSON, since a field of text could tell neither null from empty nor a number from its digits. */
export function RowDialog({ ids, table, row, onSettled, onClose }: Props) {
  const names = table.databaseTableColumns.map(({ databaseTableColumnName }) => databaseTableColumnName);
  const cells = row ? names.map((name) => [name, row[name]] as const) : [];
  const isLong = ([, value]: readonly [string, unknown]) => (JSON.stringify(value)?.length ?? 0) > MAX_EDITED;
  const leftOut = cells.filter(isLong).map(([name]) => name);
  const [text, setText] = useState(() =>
    JSON.stringify(Object.fromEntries(cells.filter((cell) => !isLong(cell))), null, 2),
  );
  const save = useMutation({
    mutationFn: async () => {
      const entered = parseExact(text) as Row;
      if (!row) return addRow(ids, entered);
      const changed = Object.entries(entered).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(row[name]),
      );
      if (changed.length > 0) await changeRow(ids, keyOf(table, row), Object.fromEntries(changed));
    },
    onSettled: async (_saved, error) => {
      await onSettled();
      if (!error) onClose();
    },
  });
  return (
    <FormDialog title={row ? 'Edit the row' : 'Add a row'} verb="Save the row" size="lg" save={save} onClose={onClose}>
      <JSONEditor label="Row" autoFocus value={text} onChange={setText} />
      {leftOut.length > 0 && (
        <Notice tone="wait">
          Too long to be edited here, and left as it is unless you add it: {leftOut.join(', ')}.
        </Notice>
      )}
      {save.error && <CurrentRows error={save.error} />}
    </FormDialog>
  );
}

/** The rows that are there instead of the one that was to be changed. */
function CurrentRows({ error }: { error: Error }) {
  const rows = currentRowsOf(error);
  if (!rows || rows.length === 0) return null;
  return <JSONView value={rows.length === 1 ? rows[0] : rows} label="What is there now" />;
}
