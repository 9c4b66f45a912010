import type { Json } from './json.ts';

/** A cell by RFC 4180: null is an empty field, an empty text is `""`. */
export function csvCell(value: Json): string {
  if (value === null) return '';
  const text = asText(value);
  return text === '' || /[",;\r\n\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Marks a value that a spreadsheet would run as a formula by the apostrophe that spreadsheets know; numbers are none. */
export function neutralised(value: Json): Json {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  const text = asText(value);
  const marked = startsFormula.test(text) && !isNumber(text) ? `'${text}` : text;
  return marked.replace(laterCell, (all, before: string, cell: string) => (isNumber(cell) ? all : `${before}'${cell}`));
}

const startsFormula = /^[=+\-@\t\r\n＝＋－＠]/;
// Matches later cells: in some languages a spreadsheet separates at semicolons or tabs, and then splits a value there
// despite its quotes.
const laterCell = /([;\t\r\n][ "]*)([=+\-@＝＋－＠][^;\t\r\n]*)/g;

/** Numbers as databases write them: `-1.5e3`, `-Infinity`, and money such as `-$1,234.50` and `-1.234,50 €`. */
function isNumber(text: string): boolean {
  return /^[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|infinity)$/i.test(text) || money.test(text);
}

const money =
  /^[+-]? ?\p{Sc}? ?[+-]?(?:\d{1,3}(?:[.,'’\u00a0\u202f]\d{3})*|\d+)(?:[.,]\d+)?(?:[ \u00a0\u202f]?\p{Sc})?$/u;

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
