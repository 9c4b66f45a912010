interface Page<Row> {
  rows: readonly Row[];
  nextCursor: string | null | undefined;
}

const PAGE = 100;

/** The rows of a list that is needed as a whole, page by page. One of more pages than this is not read to its end. */
export async function everyPage<Row>(
  read: (query: { limit: number; cursor?: string }) => Promise<Page<Row>>,
  maxPages = 10,
): Promise<Row[]> {
  const all: Row[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < maxPages && cursor !== null; page += 1) {
    const { rows, nextCursor } = await read({ limit: PAGE, ...(cursor && { cursor }) });
    all.push(...rows);
    cursor = nextCursor ?? null;
  }
  return all;
}
