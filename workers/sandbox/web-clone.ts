import type { WebBytes } from './web-bytes.ts';

/** `structuredClone`. Runs inside a fresh context, as text: it can use its parameters but nothing else of this module. */
export function webClone({ named }: Pick<WebBytes, 'named'>) {
  return (value: unknown): unknown => cloneOf(value, new Map());

  function cloneOf(value: unknown, seen: Map<unknown, unknown>): unknown {
    if (typeof value === 'function' || typeof value === 'symbol')
      throw named('DataCloneError', `A ${typeof value} cannot be cloned`);
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const copy = leafOf(value);
    if (copy) return copy;
    return withParts(value, seen);
  }

  /** A copy of an object that refers to no other. */
  function leafOf(value: object): object | undefined {
    if (value instanceof Date) return new Date(value.getTime());
    if (value instanceof RegExp) return new RegExp(value.source, value.flags);
    if (value instanceof ArrayBuffer) return value.slice(0);
    if (ArrayBuffer.isView(value)) return viewOf(value);
    if (value instanceof Error) return Object.assign(new Error(value.message), { name: value.name });
    if ([Number, String, Boolean].some((kind) => value instanceof kind)) return Object(value.valueOf());
    if ([Promise, WeakMap, WeakSet, WeakRef].some((kind) => value instanceof kind))
      throw named('DataCloneError', 'A promise or a weak collection cannot be cloned');
    return undefined;
  }

  function viewOf(view: ArrayBufferView): object {
    if (!(view instanceof DataView)) return (view as Uint8Array).slice();
    const buffer = (view.buffer as ArrayBuffer).slice(view.byteOffset, view.byteOffset + view.byteLength);
    return new DataView(buffer);
  }

  function withParts(value: object, seen: Map<unknown, unknown>): object {
    if (value instanceof Map) {
      const copy = new Map();
      seen.set(value, copy);
      for (const [key, part] of value) copy.set(cloneOf(key, seen), cloneOf(part, seen));
      return copy;
    }
    if (value instanceof Set) {
      const copy = new Set();
      seen.set(value, copy);
      for (const part of value) copy.add(cloneOf(part, seen));
      return copy;
    }
    const copy = Array.isArray(value) ? new Array(value.length) : {};
    seen.set(value, copy);
    for (const key of Object.keys(value)) {
      const part = cloneOf(Reflect.get(value, key), seen);
      Object.defineProperty(copy, key, { value: part, writable: true, enumerable: true, configurable: true });
    }
    return copy;
  }
}
