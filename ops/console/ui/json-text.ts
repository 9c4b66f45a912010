import { LossyNumber, parseExact } from '#shared/core/lossless-json.ts';

/** A text in a field for JSON is none; the field says so. */
export class NotJSON extends Error {}

/** The value of a text that a person has typed. Throws `NotJSON`, also for a number that would lose digits. */
export function parseJSON(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    throw new NotJSON(error instanceof LossyNumber ? error.message : 'This is not JSON');
  }
}

/** The fault of a field for JSON, by its name, if that is what could not be saved. */
export function faultOfJSON(field: string, error: Error | null): ReadonlyMap<string, string> {
  return new Map(error instanceof NotJSON ? [[field, error.message]] : []);
}
