import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { usePage } from '../page-context.ts';
import { csvOf } from './csv.ts';

type Row = Readonly<Record<string, unknown>>;

interface Props {
  widgetKey: string;
  title: string;
  columns: readonly { key: string; label: string }[];
  /** Those that are found, in their order; of a table whose query reads one page at a time, those of the page. */
  rows: readonly Row[];
  isPart: boolean;
  chosen: readonly Row[];
  isExportable: boolean;
}

const verbs = { onBulkEdit: 'Edit', onBulkAction: 'Apply to', onBulkExport: 'Export', onBulkDelete: 'Delete' } as const;
type BulkEvent = keyof typeof verbs;

export const bulkEvents = Object.keys(verbs) as readonly BulkEvent[];

// Excel knows UTF-8 by it.
const BYTE_ORDER_MARK = '\uFEFF';

/** Buttons for all rows, and for those that are chosen: as many as have something to do. */
export function RowTools({ widgetKey, title, columns, rows, isPart, chosen, isExportable }: Props) {
  const page = usePage();
  const [busy, setBusy] = useState<BulkEvent>();
  const offered = bulkEvents.filter((name) => page.hasActions(widgetKey, name));
  const save = (those: readonly Row[]) =>
    page.client.saveFile(`${title || 'rows'}.csv`, `${BYTE_ORDER_MARK}${csvOf(columns, those)}`);
  const act = async (name: BulkEvent) => {
    if (name === 'onBulkDelete' && !(await page.messages.ask(deleteQuestion(chosen, rows)))) return;
    if (name === 'onBulkExport') save(chosen);
    // A second click must not do it to the same rows again.
    setBusy(name);
    await page.fire(widgetKey, name, { rows: chosen, count: chosen.length });
    setBusy(undefined);
  };
  const exportAll = () => {
    save(rows);
    void page.fire(widgetKey, 'onExport', { count: rows.length, format: 'csv' });
  };
  if (!isExportable && offered.length === 0) return null;
  return (
    <Group gap="xs" mt="xs">
      {offered.map((name) => (
        <Button
          key={name}
          size="compact-sm"
          variant="default"
          loading={busy === name}
          disabled={chosen.length === 0 || busy !== undefined}
          onClick={() => void act(name)}
        >
          {verbs[name]} {chosen.length === 0 ? 'chosen rows' : `${chosen.length.toLocaleString()} chosen`}
        </Button>
      ))}
      {isExportable && (
        <Button size="compact-sm" variant="default" disabled={rows.length === 0} onClick={exportAll}>
          {isPart ? 'Export this page as CSV' : 'Export CSV'}
        </Button>
      )}
    </Group>
  );
}

/** A search hides rows that were chosen before. */
function deleteQuestion(chosen: readonly Row[], found: readonly Row[]): string {
  const those = new Set(found);
  const hidden = chosen.filter((row) => !those.has(row)).length;
  const count = chosen.length === 1 ? '1 row' : `${chosen.length.toLocaleString()} rows`;
  return hidden === 0 ? `Delete ${count}?` : `Delete ${count}? The search hides ${hidden.toLocaleString()} of them.`;
}
