import { NotText } from '../../core/charset.ts';
import { listFields, readFields } from '../../core/form-fields.ts';
import type { JsonObject } from '../../core/json.ts';
import { invalidField } from '../../core/schema/issues.ts';

/** The parameters of a query by name; those that are repeated are lists. Throws VALIDATION_ERROR where they are not UTF-8. */
export function readQuery(query: string): JsonObject {
  try {
    // Node hands over the bytes of a URL as characters of Latin-1.
    return listFields(readFields(Buffer.from(query, 'latin1')));
  } catch (error) {
    throw error instanceof NotText ? invalidField('query', error.message, { cause: error }) : error;
  }
}
