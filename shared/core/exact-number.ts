/**
 * Whether a number of JSON is held as it is written: by value, so that nothing is lost if it is read as a double and written again with
 * the fewest digits that name the double. `1.10`, `1e3` and `0.30000000000000004` are held; `0.1234567890123456789`, `1e400` (infinite),
 * `1e-400` (zero) and `0.10000000000000001` (written as 0.1) are not. A whole number in plain digits beyond 2^53 never is, although a
 * double has every second or tenth of them: the ids of one field would be numbers or texts by chance.
 *
 * This is the only rule. A number that is not held is refused in requests and becomes a text in what others send or answer.
 */
export function isExact(written: string): boolean {
  const value = Number(written);
  if (isUnsafeInteger(value) && /^-?\d+$/.test(written)) return false;
  const again = String(value);
  return again === written || (Number.isFinite(value) && isSameDecimal(written, again));
}

/** Whether a number is an integer beyond the range in which doubles are exact: it may not be the integer that was written. */
export function isUnsafeInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** A number if a double holds the integer, otherwise its text. */
export function exactNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

/** The number of a text such as `-1.50`: itself if a double does not hold it; undefined if the text is no finite number. */
export function numberIn(text: string): number | string | undefined {
  const trimmed = text.trim();
  const number = trimmed === '' ? Number.NaN : Number(trimmed);
  if (!Number.isFinite(number)) return undefined;
  return DECIMAL.test(trimmed) && !isExact(trimmed) ? trimmed : number;
}

/** The order of two decimal numbers as they are written, however many digits they have; undefined if a text is none. */
export function compareDecimals(one: string, other: string): -1 | 0 | 1 | undefined {
  const [first, second] = [one.trim(), other.trim()];
  if (!DECIMAL.test(first) || !DECIMAL.test(second)) return undefined;
  const [a, b] = [decimalOf(first), decimalOf(second)];
  const [signA, signB] = [signOf(a), signOf(b)];
  if (signA !== signB) return signA < signB ? -1 : 1;
  const size = Math.sign(a.exponent - b.exponent) || (a.digits < b.digits ? -1 : Number(a.digits > b.digits));
  if (signA === 0 || size === 0) return 0;
  return size === signA ? 1 : -1;
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function signOf({ digits, isNegative }: Decimal): -1 | 0 | 1 {
  if (digits === '') return 0;
  return isNegative ? -1 : 1;
}

function isSameDecimal(one: string, other: string): boolean {
  const [a, b] = [decimalOf(one), decimalOf(other)];
  return a.digits === b.digits && (a.digits === '' || (a.exponent === b.exponent && a.isNegative === b.isNegative));
}

/** A decimal number as 0.digits × 10^exponent; zero has no digits. */
interface Decimal {
  isNegative: boolean;
  digits: string;
  exponent: number;
}

function decimalOf(written: string): Decimal {
  const [mantissa = '', power = '0'] = written.split(/e/i);
  const [whole = '', fraction = ''] = mantissa.replace(/^[+-]/, '').split('.');
  const all = whole + fraction;
  const first = all.search(/[1-9]/);
  if (first < 0) return { isNegative: false, digits: '', exponent: 0 };
  let end = all.length;
  while (all[end - 1] === '0') end -= 1;
  return {
    isNegative: mantissa.startsWith('-'),
    digits: all.slice(first, end),
    exponent: Number(power) + whole.length - first,
  };
}
