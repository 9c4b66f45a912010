/**
 * Options of an `LRUCache` for so many entries, which takes memory as they come. With `max`, it reserves room for all of them when it is
 * made: for 100,000 that took 15 ms and 2.8 MB, for 10,000 3 to 5 ms and 0.2 MB, in every process and mostly for nothing.
 */
export function maxEntries(entries: number) {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
