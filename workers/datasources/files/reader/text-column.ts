import type { Json } from '#shared/core/json.ts';

type Kind = 'number' | 'boolean' | 'date' | 'text';

const patterns: [kind: Exclude<Kind, 'text'>, pattern: RegExp][] = [
  // A leading zero is part of an article number or a postcode.
  ['number', /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/],
  ['boolean', /^(?:true|false)$/i],
  ['date', /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?$/],
];

/** A column of texts: it has a type if all its cells can be read as that type. */
export class TextColumn {
  readonly index: number;
  readonly #possible = new Set<Kind>(['number', 'boolean', 'date']);
  #hasCells = false;

  constructor(index: number) {
    this.index = index;
  }

  get type(): Kind {
    const [kind] = this.#possible;
    return this.#hasCells && kind ? kind : 'text';
  }

  /** Narrows the types that the column may have, by one of its cells. */
  see(cell: Json | undefined): void {
    if (typeof cell !== 'string' || cell === '') return;
    this.#hasCells = true;
    for (const [kind, pattern] of patterns) if (!pattern.test(cell)) this.#possible.delete(kind);
  }

  /** Converts a cell to the type of the column, when all cells have been seen. */
  read(cell: Json | undefined): Json {
    if (typeof cell !== 'string' || cell === '') return null;
    if (this.type === 'boolean') return cell.toLowerCase() === 'true';
    if (this.type !== 'number') return cell;
    const digits = cell.replace(/[eE].*/, '').replace(/^-?0?\.?0*|\D/g, '').length;
    const number = Number(cell);
    // A double represents every number of 15 digits, except for very small and very large ones; others stay text.
    const isInRange = digits === 0 || (Math.abs(number) > 1e-290 && Math.abs(number) < 1e290);
    return isInRange && (digits <= 15 || Number.isSafeInteger(number)) ? number : cell;
  }
}
