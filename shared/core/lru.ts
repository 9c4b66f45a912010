/**
 * Options of an `LRUCache` with at most so many entries, which allocates memory as they are added. With the option `max` it would allocate
 * memory for all when it is created: 2.8 MB in 15 ms for 100,000 entries, 0.2 MB in 3 to 5 ms for 10,000, in every process.
 */
export function maxEntries(entries: number) {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
