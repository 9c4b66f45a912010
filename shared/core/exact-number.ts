/** Whether a number is an integer beyond the range in which doubles are exact: it may not be the integer that was written. */
export function isUnsafeInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** Whether a double does not hold the written number: it is too large, or an unsafe integer. Fractions are rounded, as everywhere. */
export function losesPrecision(value: number, written: string): boolean {
  return !Number.isFinite(value) || (!Number.isSafeInteger(value) && /^-?\d+$/.test(written));
}

/** A number if a double holds the integer, otherwise its text. */
export function exactNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
