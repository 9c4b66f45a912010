import MiniSearch from 'minisearch';

/** Words of questions that say nothing about what is looked for. */
const empty = new Set(
  'a an and are as at be by do does for from how i if in into is it its me my of on or our so that the their them then there they this to up was we what when where which who why will with you your'.split(
    ' ',
  ),
);

/** Finds texts by words, best first: rare words count more, as do those of boosted fields, and "approvals" finds "approval". */
export class WordIndex<T extends object> {
  readonly #index: MiniSearch<T & { at: number }>;
  readonly #items: readonly T[];

  constructor(
    items: readonly T[],
    fields: readonly (keyof T & string)[],
    boost: Readonly<Record<string, number>> = {},
  ) {
    this.#items = items;
    this.#index = new MiniSearch({
      idField: 'at',
      fields: [...fields],
      tokenize: (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [],
      processTerm: (word) => (empty.has(word) ? null : stem(word)),
      searchOptions: { boost: { ...boost }, prefix: (word) => word.length > 3 },
    });
    this.#index.addAll(items.map((item, at) => ({ ...item, at })));
  }

  /** At most 20 words of the first 200 characters count. */
  find(query: string): T[] {
    const words = query.slice(0, 200).split(/\s+/).slice(0, 20).join(' ');
    return this.#index.search(words).flatMap(({ id }) => this.#items[id] ?? []);
  }
}

/** Without the usual endings of English. */
function stem(word: string): string {
  if (word.length < 4) return word;
  const singular = word.replace(/(?<=[^s])s$/, '').replace(/ie$/, 'y');
  return singular.length > 5 ? singular.replace(/(?:ing|ed|e)$/, '') : singular;
}
