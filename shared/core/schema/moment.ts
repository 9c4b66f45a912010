import { z } from 'zod';

/**
 * A moment in ISO 8601 with its offset, such as `2030-01-31T12:00:00Z`: the one form in which the API takes moments. Days that no calendar has are
 * refused, and so are years that Postgres does not read in this form. A time without an offset would be another moment in each time zone.
 */
export const Moment = z.iso
  .datetime({ offset: true, abort: true })
  .refine(isStorable, { message: 'must be between the years 1 and 9999' })
  .transform((text) => new Date(text));

function isStorable(text: string): boolean {
  const ms = Date.parse(text);
  return ms >= FIRST && ms < END;
}

const FIRST = Date.parse('0001-01-01T00:00:00Z');
const END = Date.UTC(10_000, 0);
