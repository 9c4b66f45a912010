/**
 * A text as a literal of SQL. The entity manager writes values into its statements, and its own function joins them character by
 * character: 165 ms for 3.9 MB of JSON, and this 2 ms.
 */
export function escapeLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
