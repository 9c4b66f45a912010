/** Values of other fields of the same object, by their names, for which a field counts. */
export type ShownFor = Readonly<Record<string, readonly string[]>>;

/**
 * Metadata of a field that counts only for some values of other fields; of several names one is enough. The JSON schema shows it as
 * `x-shown-for`, and forms show the field only then. A value is taken all the same.
 */
export function shownFor(fields: ShownFor): { 'x-shown-for': ShownFor } {
  return { 'x-shown-for': fields };
}
