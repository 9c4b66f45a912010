/** Values of pickers: their titles, and words for those that have none. */

export interface Row {
  id: string;
  title: string;
  detail?: string;
}

export interface Group<T extends string = string> {
  /** Undefined of what is no asset. */
  type: T | undefined;
  label: string;
  rows: readonly Row[];
}

export interface Known<T extends string = string> extends Row {
  type: T | undefined;
  /** Why its title is not known. */
  reason?: 'gone' | 'hidden' | 'unknown' | undefined;
}

/** New nodes name nothing by such an id, since their config needs one. */
const NOTHING = /^0{8}-0{4}-[04]0{3}-[08]0{3}-0{12}$/;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

export function isID(text: string): boolean {
  return UUID.test(text) && !NOTHING.test(text);
}

/** The id that a field has; undefined where it names nothing yet. */
export function namedBy(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && !NOTHING.test(value) ? value.toLowerCase() : undefined;
}

/** Ids and names of a field that takes a list, or one text with commas. */
export function namesIn(value: unknown): string[] {
  const all = Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(',') : [];
  return [...new Set(all.map((one) => one.trim()).filter((one) => one !== ''))];
}

/** The choices with the present values, which may stand on no page of the list. */
export function choicesFrom<T extends string>(
  groups: readonly Group<T>[],
  known: ReadonlyMap<string, Known<T>>,
): Group<T>[] {
  const listed = new Set(groups.flatMap(({ rows }) => rows.map(({ id }) => id)));
  const missing = [...known.values()].filter(({ id }) => !listed.has(id));
  const all = groups.length > 0 ? groups : [{ type: undefined, label: '', rows: [] }];
  const first = all.findIndex(({ type }) => type !== undefined);
  return all.map((group, at) => {
    const isOwn = ({ type }: Known<T>) =>
      type === group.type || (at === Math.max(first, 0) && all.every((one) => one.type !== type));
    const own = missing.filter(isOwn);
    return own.length > 0 ? { ...group, rows: [...own, ...group.rows] } : group;
  });
}

/** The choices, where several have the same title with the end of their ids. */
export function distinctTitles<T extends string>(groups: readonly Group<T>[]): Group<T>[] {
  return groups.map(({ rows, ...group }) => {
    const sameTitle = Map.groupBy(rows, ({ title }) => title);
    const told = (row: Row) =>
      (sameTitle.get(row.title)?.length ?? 0) > 1 ? { ...row, title: `${row.title} (${row.id.slice(-8)})` } : row;
    return { ...group, rows: rows.map(told) };
  });
}

export function noteOf({ id, reason }: Known): string {
  if (reason === 'gone') return `It was deleted, or never existed: ${id}`;
  if (reason === 'hidden') return `You may not see what this id names: ${id}`;
  return `Its title could not be read: ${id}`;
}

export function nounsOf(nouns: readonly string[]): { article: string; one: string; several: string } {
  const several = nouns.map((noun) => (noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`));
  const article = /^[aeiou]/.test(nouns[0] ?? '') ? 'an' : 'a';
  return { article, one: nouns.join(' or '), several: several.join(' and ') };
}
