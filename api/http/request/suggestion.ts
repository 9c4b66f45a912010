/** The name that was most likely meant: the same but for its case, a few typing mistakes, or a longer or shorter form of it. */
export function closest(written: string, names: readonly string[]): string | undefined {
  if (written.length > MAX_LENGTH) return undefined;
  const word = plain(written);
  let best: { name: string; cost: number } | undefined;
  for (const name of names) {
    const cost = costOf(word, plain(name));
    if (cost !== undefined && (!best || cost < best.cost)) best = { name, cost };
  }
  return best?.name;
}

/** No name of a field is longer. */
const MAX_LENGTH = 64;

function plain(name: string): string {
  return name.toLowerCase().replace(/[-_ ]/g, '');
}

/** Distance between two names: typing mistakes count less than forms of a word. Undefined if the names are unrelated. */
function costOf(word: string, name: string): number | undefined {
  const longer = Math.max(word.length, name.length);
  const distance = distanceOf(word, name);
  if (distance <= Math.floor(longer / 4)) return distance;
  return isForm(word, name) ? longer : undefined;
}

/** `parameters` and `params`, `role` and `roleIDs`, `name` and `apiKeyName`. */
function isForm(word: string, name: string): boolean {
  const shorter = Math.min(word.length, name.length);
  if (shorter < 4) return false;
  let common = 0;
  while (common < shorter && word[common] === name[common]) common += 1;
  return common >= Math.max(4, (shorter * 3) / 4) || word.endsWith(name) || name.endsWith(word);
}

/** Insertions, deletions, replacements, and neighbours that changed places. */
function distanceOf(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + Number(!isSame),
        isSwap ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, last] = [last, row];
  }
  return at(last, other.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
