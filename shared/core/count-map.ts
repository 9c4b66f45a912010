/** Counts by key. A key whose count is 0 is not in the map. */
export class CountMap<K = string> extends Map<K, number> {
  of(key: K): number {
    return this.get(key) ?? 0;
  }

  add(key: K, change: number): void {
    const count = this.of(key) + change;
    if (count > 0) this.set(key, count);
    else this.delete(key);
  }
}
