const reserved: ReadonlySet<string> = new Set(['input', 'item', 'index', 'output']);

/** Keys of `ctx` that belong to the engine: no node may write them. */
export function isReservedKey(key: string): boolean {
  return key.startsWith('__') || reserved.has(key);
}
