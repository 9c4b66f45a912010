interface Bound {
  /** An SQL expression for the bytes of a row `n`, which Postgres knows without reading what is stored. */
  bytes: string;
  /** Columns of the order, the oldest row first. */
  order: readonly string[];
  /** The limit of bytes, as an SQL expression. */
  most: string;
}

/**
 * The newest rows of a statement: each row whose newer rows together have fewer bytes than `most`. `isCut` marks the oldest of these rows if
 * older ones are left out.
 */
export function newestWithin(rows: string, { bytes, order, most }: Bound): string {
  const newest = `order by ${order.map((column) => `n.${column} desc`).join(', ')}`;
  const sum = (end: string) => `sum(${bytes}) over (${newest} rows between unbounded preceding and ${end})`;
  return `
select * from (
  select n.*, coalesce(${sum('1 preceding')}, 0) as newer,
    ${sum('current row')} >= ${most} and lead(true) over (${newest}) is not null as "isCut"
  from (${rows}) n) within where newer < ${most}`;
}

/** Size and order of messages of chats. */
export const ofMessage = { bytes: 'octet_length(n.parts)', order: ['number'] };
/** Size and order of tool calls in chats. */
export const ofCall = {
  bytes: 'octet_length(n.input) + coalesce(octet_length(n.output), 0)',
  order: ['created_at', 'number'],
};
