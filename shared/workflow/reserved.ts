/** Keys of `ctx` that belong to the engine. */
const reserved: ReadonlySet<string> = new Set(['input', 'item', 'index', 'output']);

/** Keys that lead to a prototype in code. Templates may not read them, even if a value has such a key. */
const prototypes: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

/** Whether templates may not read a key of this name. */
export function isUnreadable(key: string): boolean {
  return prototypes.has(key);
}

/** Refuses names that templates may not read. */
export const readable = [(name: string) => !isUnreadable(name), { message: 'is a reserved name' }] as const;

/** Keys of `ctx` that belong to the engine, or could not be read: no node may write them. */
export function isReservedKey(key: string): boolean {
  return key.startsWith('__') || reserved.has(key) || isUnreadable(key);
}
