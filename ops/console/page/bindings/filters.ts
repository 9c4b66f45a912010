import { follow } from './follow.ts';

/** Computes a value from the one before the bar. It throws what a person can mend. */
type Filter = (value: unknown, ...args: readonly unknown[]) => unknown;

type Row = Readonly<Record<string, unknown>>;

const MAX_TEXT = 1_000_000;

export const filters: Readonly<Record<string, Filter>> = {
  // For any value.
  default: (value, other = '') => (value === undefined || value === null || value === '' ? other : value),
  json: (value) => JSON.stringify(value, null, 2) ?? '',
  yesno: (value, yes = 'yes', no = 'no') => (value ? yes : no),
  equals: (value, other) => value === other || String(value) === String(other),

  // For texts.
  upper: (value) => textOf(value).toUpperCase(),
  lower: (value) => textOf(value).toLowerCase(),
  capitalize: (value) => textOf(value).replace(/^\p{L}/u, (letter) => letter.toUpperCase()),
  trim: (value) => textOf(value).trim(),
  escape: (value) => textOf(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`),
  truncate: (value, length = 50) => cut(textOf(value), numberOf(length)),
  replace: (value, old, next = '') => limited(textOf(value).replaceAll(textOf(old), textOf(next))),
  split: (value, by = ',') => textOf(value).split(textOf(by)),
  contains: (value, part) => (Array.isArray(value) ? value.includes(part) : textOf(value).includes(textOf(part))),

  // For numbers.
  number: (value) => numberOf(value),
  round: (value, digits = 0) => Number(numberOf(value).toFixed(digitsOf(digits))),
  plus: (value, other) => numberOf(value) + numberOf(other),
  minus: (value, other) => numberOf(value) - numberOf(other),
  times: (value, other) => numberOf(value) * numberOf(other),
  divide: (value, other) => (numberOf(other) === 0 ? null : numberOf(value) / numberOf(other)),
  format: (value, digits = 0) => decimal(numberOf(value), { minimumFractionDigits: digitsOf(digits) }),
  percent: (value, digits = 0) =>
    decimal(numberOf(value), { style: 'percent', minimumFractionDigits: digitsOf(digits) }),
  currency: (value, unit = 'EUR') => decimal(numberOf(value), { style: 'currency', currency: currencyOf(unit) }),

  // For moments.
  date: (value, style = 'medium') => momentText(value, { dateStyle: styleOf(style) }),
  time: (value, style = 'short') => momentText(value, { timeStyle: styleOf(style) }),
  datetime: (value, style = 'medium') => momentText(value, { dateStyle: styleOf(style), timeStyle: 'short' }),

  // For lists.
  count: (value) => countOf(value),
  size: (value) => countOf(value),
  first: (value) => (typeof value === 'string' ? value.slice(0, 1) : listOf(value)[0]),
  last: (value) => (typeof value === 'string' ? value.slice(-1) : listOf(value).at(-1)),
  join: (value, by = ', ') => limited(listOf(value).map(textOf).join(textOf(by))),
  reverse: (value) => listOf(value).toReversed(),
  slice: (value, from = 0, to) => {
    const [start, end] = [numberOf(from), to === undefined ? undefined : numberOf(to)];
    return typeof value === 'string' ? value.slice(start, end) : listOf(value).slice(start, end);
  },
  limit: (value, count) => listOf(value).slice(0, numberOf(count)),
  unique: (value, key) => [...new Map(listOf(value).map((item) => [keyed(item, key), item])).values()],
  sort: (value, key) => listOf(value).toSorted((one, other) => compare(keyed(one, key), keyed(other, key))),
  map: (value, key) => listOf(value).map((item) => keyed(item, key)),
  where: (value, key, wanted = true) => listOf(value).filter((item) => isLike(keyed(item, key), wanted)),
  find: (value, key, wanted = true) => listOf(value).find((item) => isLike(keyed(item, key), wanted)),
  sum: (value, key) => numbersOf(value, key).reduce((sum, number) => sum + number, 0),
  avg: (value, key) => averageOf(numbersOf(value, key)),
  min: (value, key) => numbersOf(value, key).reduce<number | null>((low, one) => Math.min(low ?? one, one), null),
  max: (value, key) => numbersOf(value, key).reduce<number | null>((top, one) => Math.max(top ?? one, one), null),

  // For objects.
  keys: (value) => Object.keys(objectOf(value)),
  values: (value) => Object.values(objectOf(value)),
  get: (value, key) => follow(value, [typeof key === 'number' ? key : textOf(key)]),
};

/** A value as a part of a text. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? (JSON.stringify(value) ?? '') : String(value);
}

function limited(text: string): string {
  if (text.length > MAX_TEXT) throw new Error(`gives a text of more than ${MAX_TEXT.toLocaleString('en')} characters`);
  return text;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, Math.max(length - 1, 0))}…` : text;
}

/** Databases answer with large numbers as texts. */
function numberOf(value: unknown): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  if (value === null || value === undefined) return 0;
  throw new Error(`needs a number, and ${short(value)} is none`);
}

function digitsOf(value: unknown): number {
  return Math.min(Math.max(Math.trunc(numberOf(value)), 0), 20);
}

function decimal(number: number, options: Intl.NumberFormatOptions): string {
  const { minimumFractionDigits: digits } = options;
  return new Intl.NumberFormat(undefined, {
    ...options,
    ...(digits !== undefined && { maximumFractionDigits: digits }),
  }).format(number);
}

function currencyOf(unit: unknown): string {
  if (typeof unit === 'string' && /^[A-Za-z]{3}$/.test(unit)) return unit;
  throw new Error(`needs a currency such as "EUR", not ${short(unit)}`);
}

type Style = 'short' | 'medium' | 'long' | 'full';

function styleOf(value: unknown): Style {
  if (value === 'short' || value === 'medium' || value === 'long' || value === 'full') return value;
  throw new Error(`needs "short", "medium", "long" or "full", not ${short(value)}`);
}

function momentText(value: unknown, style: Intl.DateTimeFormatOptions): string {
  if (value === null || value === undefined || value === '') return '';
  // A day without a time is the same day everywhere.
  const isDay = typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value);
  const moment = new Date(typeof value === 'number' ? value : String(value));
  if (Number.isNaN(moment.getTime())) throw new Error(`needs a date, and ${short(value)} is none`);
  return new Intl.DateTimeFormat(undefined, { ...style, ...(isDay && { timeZone: 'UTC' }) }).format(moment);
}

function listOf(value: unknown): readonly unknown[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw new Error(`needs a list, and ${short(value)} is none`);
}

function objectOf(value: unknown): Row {
  if (value === null || value === undefined) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Row;
  throw new Error(`needs an object, and ${short(value)} is none`);
}

function countOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.keys(value).length
    : listOf(value).length;
}

function keyed(item: unknown, key: unknown): unknown {
  return key === undefined ? item : follow(item, textOf(key).split('.'));
}

function isLike(value: unknown, wanted: unknown): boolean {
  return value === wanted || (value !== null && value !== undefined && String(value) === String(wanted));
}

function numbersOf(value: unknown, key: unknown): number[] {
  return listOf(value).flatMap((item) => {
    const one = keyed(item, key);
    return one === null || one === undefined ? [] : [numberOf(one)];
  });
}

function averageOf(numbers: readonly number[]): number | null {
  return numbers.length === 0 ? null : numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/** Numbers by their size, also those in texts; others by the alphabet, and what is empty at the end. */
function compare(one: unknown, other: unknown): number {
  const [isFirst, isSecond] = [one === null || one === undefined, other === null || other === undefined];
  if (isFirst || isSecond) return Number(isFirst) - Number(isSecond);
  const [a, b] = [Number(one), Number(other)];
  if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  return textOf(one).localeCompare(textOf(other));
}

function short(value: unknown): string {
  return cut(textOf(value) === '' ? 'nothing' : (JSON.stringify(value) ?? typeof value), 60);
}
