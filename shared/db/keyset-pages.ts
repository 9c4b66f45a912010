interface Pages<Row, Key> {
  /** The key before that of the first row. */
  from: Key;
  /** Rows of a full page: a shorter page is the last. Default: only an empty page ends the reading, so rows added meanwhile are read too. */
  size?: number;
  /** Reads a page of rows after a key, in the order of their keys. */
  read(after: Key): Promise<readonly Row[]>;
  keyOf(row: Row): Key;
}

/** Reads the rows of a statement page by page, each page after the last row of the page before. */
export async function* keysetPages<Row, Key>({
  from,
  size = 0,
  read,
  keyOf,
}: Pages<Row, Key>): AsyncGenerator<readonly Row[]> {
  for (let after: Key | undefined = from; after !== undefined; ) {
    const rows = await read(after);
    const last = rows.at(-1);
    if (last !== undefined) yield rows;
    after = last === undefined || rows.length < size ? undefined : keyOf(last);
  }
}
