import { csvCell, neutralised } from '#shared/core/csv.ts';
import { cellText } from '../../../ui/cell-text.ts';

interface Column {
  key: string;
  label: string;
}

/** Rows as CSV with the headings that are shown, and whole values: a date stays as its query has it. */
export function csvOf(columns: readonly Column[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = [
    columns.map(({ label }) => cell(label)),
    ...rows.map((row) => columns.map(({ key }) => cell(Object.hasOwn(row, key) ? row[key] : null))),
  ];
  return lines.map((line) => `${line.join(',')}\r\n`).join('');
}

function cell(value: unknown): string {
  return csvCell(value === null || value === undefined ? null : neutralised(cellText(value)));
}
