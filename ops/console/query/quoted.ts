/** Words that PostgreSQL takes for a name in quotes alone, as far as tables and columns are called so. */
const reserved = new Set(
  'all and any array as asc case check column constraint create current_date default desc distinct do else end except false fetch for foreign from grant group having in into limit not null offset on only or order primary references returning select table then to true union unique user using when where window with'.split(
    ' ',
  ),
);

/** A name of a table or a column in SQL. */
export function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
