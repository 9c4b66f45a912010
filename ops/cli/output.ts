/** How a command says what it has found: tables for people, JSON for scripts. */
export interface Output {
  line(text: string): void;
  /** For people only, beside the result: not on standard output, which a script may read. */
  note(text: string): void;
}

export type Column<T> = [title: string, cell: (row: T) => unknown, shown?: 'whole'];

const GAP = '  ';
const LONGEST_CELL = 60;

export function tableOf<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const cells = rows.map((row) =>
    columns.map(([, cell, shown]) => shortened(textOf(cell(row)), shown ? Number.POSITIVE_INFINITY : LONGEST_CELL)),
  );
  const titles = columns.map(([title]) => title.toUpperCase());
  const widths = titles.map((title, index) => Math.max(title.length, ...cells.map((line) => line[index]?.length ?? 0)));
  const lines = [titles, ...cells].map((line) => line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(GAP));
  return lines.map((line) => line.trimEnd()).join('\n');
}

export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Texts of tenants must neither break the table nor steer the terminal. */
export function shortened(text: string, longest = LONGEST_CELL): string {
  const plain = text.replace(/\p{Cc}+/gu, ' ');
  return plain.length <= longest ? plain : `${plain.slice(0, longest - 1)}…`;
}

/** JSON whose text depends on nothing but the value: the keys of objects are sorted. */
export function stableJSON(value: unknown): string {
  return `${JSON.stringify(value, (_key, item: unknown) => (isRecord(item) ? sorted(item) : item), 2)}\n`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sorted(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
