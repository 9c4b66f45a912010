import pg from 'pg';

/** The one place where a name becomes part of a statement. */
export function quoteName(...parts: readonly string[]): string {
  return parts.map((part) => pg.escapeIdentifier(part)).join('.');
}

/** For the few places where a statement takes no parameters. */
export function quoteLiteral(text: string): string {
  return pg.escapeLiteral(text);
}
