import { unzipSync } from 'fflate';

/** The time of a cell, or undefined if the cell has another format. Cells are asked for in the order of the sheet. */
export type TimeAt = (row: number, column: number) => string | undefined;

const NO_TIMES: TimeAt = () => undefined;
const DAY_MS = 86_400_000;
/** A time of more days than this is a moment of which only the time is shown. */
const MAX_DAYS = 366;

/**
 * Finds the cells that show a time of day or a duration. To Excel they are moments of the first days of 1900, which no one has written:
 * 25:30 is 1 day and 1.5 hours after the day 0. A cell says so only by its format, which hucre does not pass on.
 */
export function timeCells(bytes: Uint8Array, sheetName: string): TimeAt {
  const parts = textsOf(bytes, /^(?:xl\/workbook\.xml|xl\/_rels\/workbook\.xml\.rels|xl\/styles\.xml)$/i);
  const styles = timeStyles(parts.get('xl/styles.xml') ?? '');
  if (styles.size === 0) return NO_TIMES;
  const path = pathOf(sheetName, parts);
  const [sheet = ''] = textsOf(bytes, { test: (name) => name === path }).values();
  return inOrder(cellsOf(sheet, styles));
}

function inOrder(cells: Iterator<TimeCell, undefined>): TimeAt {
  let next = cells.next().value;
  return (row, column) => {
    while (next && (next.row < row || (next.row === row && next.column < column))) next = cells.next().value;
    return next?.row === row && next.column === column ? next.text : undefined;
  };
}

interface TimeCell {
  /** Row and column are counted from 0. */
  row: number;
  column: number;
  text: string;
}

/** Rows and cells may leave out their position: then they follow the one before. */
function* cellsOf(sheet: string, styles: ReadonlyMap<number, Kind>): Generator<TimeCell, undefined> {
  let row = -1;
  let column = -1;
  for (const { 0: tag, 1: name, 2: given = '', index } of sheet.matchAll(/<(?:\w+:)?(row|c)\b([^>]*)>/g)) {
    const position = attribute(given, 'r');
    if (name === 'row') {
      row = position === undefined ? row + 1 : Number(position) - 1;
      column = -1;
      continue;
    }
    column = position === undefined ? column + 1 : columnOf(position.replace(/\d+$/, ''));
    const kind = styles.get(Number(attribute(given, 's')));
    const days = kind && daysIn(sheet, given, index + tag.length);
    if (days !== undefined && (kind === 'duration' || Math.abs(days) < MAX_DAYS))
      yield { row, column, text: textOf(days) };
  }
  return undefined;
}

/** The number of a cell whose tag ends at `from`; undefined for a text, and for a cell without a value. */
function daysIn(sheet: string, attributes: string, from: number): number | undefined {
  if (attributes.endsWith('/') || !['n', undefined].includes(attribute(attributes, 't'))) return undefined;
  const form = /\s*(?:<(?:\w+:)?f\b[^>]*(?:\/>|>[^<]*<\/(?:\w+:)?f>))?\s*<(?:\w+:)?v>([^<]+)</y;
  form.lastIndex = from;
  const days = Number(form.exec(sheet)?.[1] ?? Number.NaN);
  return Number.isFinite(days) ? days : undefined;
}

function columnOf(letters: string): number {
  return [...letters].reduce((index, letter) => index * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

/** `25:30:00`, with milliseconds if there are some. */
function textOf(days: number): string {
  const ms = Math.round(Math.abs(days) * DAY_MS);
  const two = (part: number) => String(Math.floor(part)).padStart(2, '0');
  const fraction = ms % 1000 === 0 ? '' : `.${String(ms % 1000).padStart(3, '0')}`;
  return `${days < 0 && ms > 0 ? '-' : ''}${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${fraction}`;
}

type Kind = 'time' | 'duration';

/** Formats that have a number instead of a code, and are a time in every language. */
const builtIn: Readonly<Record<number, Kind>> = {
  18: 'time',
  19: 'time',
  20: 'time',
  21: 'time',
  32: 'time',
  33: 'time',
  45: 'time',
  46: 'duration',
  47: 'time',
};

/** The styles of times by their index, as the cells name them. */
function timeStyles(styles: string): Map<number, Kind> {
  const codes = new Map<number, Kind | undefined>();
  for (const [, given = ''] of styles.matchAll(/<(?:\w+:)?numFmt\b([^>]*)>/g))
    codes.set(Number(attribute(given, 'numFmtId')), kindOf(unescaped(attribute(given, 'formatCode') ?? '')));
  const [, list = ''] = /<(?:\w+:)?cellXfs\b[^>]*>([\s\S]*?)<\/(?:\w+:)?cellXfs>/.exec(styles) ?? [];
  const found = new Map<number, Kind>();
  let index = 0;
  for (const [, given = ''] of list.matchAll(/<(?:\w+:)?xf\b([^>]*)>/g)) {
    const id = Number(attribute(given, 'numFmtId'));
    const kind = codes.has(id) ? codes.get(id) : builtIn[id];
    if (kind) found.set(index, kind);
    index += 1;
  }
  return found;
}

/** Reads the first part of a format code: the others are for negative numbers, zero and text. Without a day, month or year it is a time. */
function kindOf(code: string): Kind | undefined {
  const bare = code.replaceAll(/"[^"]*"|\\.|[_*]./g, '');
  const [first = ''] = bare.split(';');
  if (/\[(?:h+|m+|s+)\]/i.test(first)) return 'duration';
  const letters = first.replaceAll(/\[[^\]]*\]/g, '').replaceAll(/AM\/PM|A\/P/gi, 's');
  return /[hs]/i.test(letters) && !/[ydeg]|m{3}/i.test(letters) && !/^(?:general|standard)$/i.test(letters.trim())
    ? 'time'
    : undefined;
}

/** The path of the sheet with this name, or of the first one. */
function pathOf(sheetName: string, parts: ReadonlyMap<string, string>): string | undefined {
  const sheets = [...(parts.get('xl/workbook.xml') ?? '').matchAll(/<(?:\w+:)?sheet\b([^>]*)>/g)].map(
    ([, all = '']) => all,
  );
  const sheet =
    sheetName === '' ? sheets[0] : sheets.find((one) => unescaped(attribute(one, 'name') ?? '') === sheetName);
  const id = attribute(sheet ?? '', '\\w+:id');
  const relations = [...(parts.get('xl/_rels/workbook.xml.rels') ?? '').matchAll(/<(?:\w+:)?Relationship\b([^>]*)>/g)];
  const [, relation = ''] = relations.find(([, one = '']) => attribute(one, 'Id') === id) ?? [];
  const target = attribute(relation, 'Target');
  return target?.startsWith('/') ? target.slice(1) : target && `xl/${target}`;
}

function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`)
    .exec(tag)
    ?.slice(1)
    .find((value) => value !== undefined);
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replaceAll(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (all, hex, decimal, name) => {
    if (name) return entities[name] ?? all;
    return String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal));
  });
}

function textsOf(bytes: Uint8Array, wanted: { test(name: string): boolean }): Map<string, string> {
  const parts = unzipSync(bytes, { filter: ({ name }) => wanted.test(name) });
  return new Map(Object.entries(parts).map(([name, part]) => [name, new TextDecoder().decode(part)]));
}
