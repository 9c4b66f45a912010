import pg from 'pg';

/** Quotes a name. No other code puts names into statements. */
export function quoteName(...parts: readonly string[]): string {
  return parts.map((part) => pg.escapeIdentifier(part)).join('.');
}

/** Quotes a value for the few statements that take no parameters. */
export function quoteLiteral(text: string): string {
  return pg.escapeLiteral(text);
}
