/**
 * A text as a literal of SQL. The entity manager writes values into its statements, and its own function joins them character by
 * character: 30 ms for 4 MB of JSON instead of 5.
 */
export function escapeLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
