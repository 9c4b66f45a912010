import { quote } from './quote.ts';

/** A field of a cron expression, with the values that it may have. */
interface Field {
  name: string;
  min: number;
  max: number;
  names?: readonly string[];
  /** Forms beside values, ranges and steps: `last`, the last day of a month, and `nth`, a weekday of a month. */
  also?: readonly ('last' | 'nth' | 'any')[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31, also: ['last', 'any'] },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  { name: 'day of week', min: 0, max: 7, names: DAYS, also: ['nth', 'any'] },
];

/** The names of the fields, in their order. */
export const fieldNames = FIELDS.map(({ name }) => name);

/** The fault of the five fields of an expression, with the name of the field and the reason; undefined if there is none. */
export function faultOfFields(texts: readonly string[]): string | undefined {
  for (const [index, field] of FIELDS.entries()) {
    const text = texts[index] ?? '';
    for (const part of text.split(',')) {
      const fault = part === '' ? `an item of the list ${quote(text)} is empty` : faultOfPart(part, field);
      if (fault !== undefined) return `${field.name}: ${fault}`;
    }
  }
  return faultOfDays(texts);
}

function faultOfPart(part: string, field: Field): string | undefined {
  const [range = '', step, ...more] = part.split('/');
  if (more.length > 0) return `${quote(part)} has more than one step`;
  const read = readRange(range, field, step !== undefined);
  if (typeof read === 'string') return read;
  return step === undefined ? undefined : faultOfStep(step, read);
}

interface Range {
  first: number;
  last: number;
}

/** The values of a part before its step; or the fault. */
function readRange(text: string, field: Field, hasStep: boolean): Range | string {
  const special = text === '*' ? wholeOf(field) : readSpecial(text, field, hasStep);
  if (special !== undefined) return special;
  const [from = '', to, ...more] = text.split('-');
  if (more.length > 0 || from === '' || to === '') return `${quote(text)} is neither a value nor a range`;
  const first = readValue(from, field);
  const last = to === undefined ? (hasStep ? field.max : first) : readValue(to, field);
  if (typeof first === 'string') return first;
  if (typeof last === 'string') return last;
  return first <= last ? { first, last } : `the range ${quote(text)} ends before it begins`;
}

function wholeOf({ min, max }: Field): Range {
  return { first: min, last: max };
}

/** Reads `?`, `L`, `5L` and `1#2`, which only the two fields of days may have: its values, or the fault; undefined for another text. */
function readSpecial(text: string, field: Field, hasStep: boolean): Range | string | undefined {
  const { also = [] } = field;
  if (text === '?' && also.includes('any')) return wholeOf(field);
  if (hasStep) return undefined;
  if (text === 'L' && also.includes('last')) return wholeOf(field);
  const [, day, nth] = (also.includes('nth') && /^([^-]+?)(?:L|#(.*))$/.exec(text)) || [];
  if (day === undefined) return undefined;
  if (nth !== undefined && !/^[1-5]$/.test(nth)) return faultOfNth(nth);
  const value = readValue(day, field);
  return typeof value === 'string' ? value : { first: value, last: value };
}

function faultOfNth(nth: string): string {
  return `#${nth} is not one of #1 to #5: a month has no other such day`;
}

/** A value by its number or its name; or the fault. */
function readValue(text: string, { min, max, names }: Field): number | string {
  const named = names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) return named + min;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  return `${quote(text)} is not one of ${min}-${max}${names ? ` or ${names[0]}-${names.at(-1)}` : ''}`;
}

/** A step that is longer than the range would never be taken: `*\/90` of minutes would be every hour. */
function faultOfStep(text: string, { first, last }: Range): string | undefined {
  const count = last - first + 1;
  const step = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (step >= 1 && step <= count) return undefined;
  const reason = step > count ? ': it is longer than the range, so it would never be taken' : '';
  return `the step ${quote(text)} is not one of 1-${count}${reason}`;
}

const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The fault of days of the month that none of the months has, unless days of the week count instead. */
function faultOfDays([, , days = '', months = '', weekdays = '']: readonly string[]): string | undefined {
  if (!/^[\d,]+$/.test(days) || !/^[*?]$/.test(weekdays)) return undefined;
  const [, , , month] = FIELDS;
  if (!month) return undefined;
  const chosen = months.split(',').flatMap((part) => monthsOf(part, month));
  const longest = Math.max(...chosen.map((number) => LONGEST[number - 1] ?? 31));
  const first = Math.min(...days.split(',').map(Number));
  return first <= longest ? undefined : `day of month: none of the months ${quote(months)} has a day ${first}`;
}

function monthsOf(part: string, month: Field): number[] {
  const [range = '', step] = part.split('/');
  const read = readRange(range, month, step !== undefined);
  if (typeof read === 'string') return [];
  const count = Math.floor((read.last - read.first) / Number(step ?? 1)) + 1;
  return Array.from({ length: count }, (_, n) => read.first + n * Number(step ?? 1));
}
