const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<time>\\d{2}:\\d{2}:\\d{2})';

/** Forms of a value, as RFC 9110 has them. Dates are in GMT in all of them, also where they do not say so. */
const FORMS = [
  /(?<seconds>\d{1,9})/,
  new RegExp(`[A-Z][a-z]{2}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} GMT`),
  new RegExp(`[A-Z][a-z]{5,8}, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} GMT`),
  new RegExp(`[A-Z][a-z]{2} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`),
].map((form) => new RegExp(`\\s*${form.source}\\s*(?:,|$)`, 'y'));

/**
 * Milliseconds of a header `Retry-After`; 0 for a date in the past, the longest of several. Undefined for anything that is neither a
 * number of seconds nor a date of HTTP: a lenient reader takes `-1` for a date of 2001, and would repeat a request at once.
 */
export function readRetryAfter(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  let longest: number | undefined;
  for (let at = 0; at < header.length || longest === undefined; ) {
    const { ms, end } = readOne(header, at, now) ?? {};
    if (ms === undefined || end === undefined) return undefined;
    longest = Math.max(longest ?? 0, ms);
    at = end;
  }
  return longest;
}

function readOne(header: string, at: number, now: number): { ms: number; end: number } | undefined {
  for (const form of FORMS) {
    form.lastIndex = at;
    const { groups } = form.exec(header) ?? {};
    const ms = groups && msOf(groups, now);
    if (ms !== undefined) return { ms, end: form.lastIndex };
  }
  return undefined;
}

function msOf({ seconds, day, month = '', year = '', time }: Record<string, string>, now: number): number | undefined {
  if (seconds !== undefined) return Number(seconds) * 1_000;
  const monthIndex = MONTHS.indexOf(month);
  const date = new Date(`${fullYear(year, now)}-${twoDigits(monthIndex + 1)}-${twoDigits(Number(day))}T${time}Z`);
  // February 30 would become a day of March.
  return date.getUTCMonth() === monthIndex ? Math.max(0, date.getTime() - now) : undefined;
}

/** A year of two digits is at most fifty years ahead. */
function fullYear(year: string, now: number): string {
  if (year.length === 4) return year;
  const thisYear = new Date(now).getUTCFullYear();
  const sameCentury = Math.floor(thisYear / 100) * 100 + Number(year);
  return String(sameCentury > thisYear + 50 ? sameCentury - 100 : sameCentury);
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}
