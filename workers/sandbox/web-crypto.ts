import type { CallHost, WebBytes } from './web-bytes.ts';

/** Digests, HMAC and random bytes. Runs inside a fresh context, as text: it can use its parameters but nothing else of this module. */
export function webCrypto(
  call: CallHost,
  { bytesOf, toBase64, hexOf, named }: WebBytes,
  algorithms: readonly string[],
) {
  const keys = new WeakMap<object, { hash: string; bytes: Uint8Array }>();

  function algorithmOf(given: unknown): string {
    const name = typeof given === 'object' && given !== null ? (given as { name?: unknown }).name : given;
    const known = String(name)
      .toLowerCase()
      .replace(/^(sha)-/, '$1');
    if (!algorithms.includes(known))
      throw named(
        'NotSupportedError',
        `The algorithm ${String(name)} is not supported: SHA-1, SHA-256, SHA-384 and SHA-512 are`,
      );
    return known;
  }
  const digestOf = (algorithm: string, data: Uint8Array) => call('digest', algorithm, data) as ArrayBuffer;
  const hmacOf = (algorithm: string, key: Uint8Array, data: Uint8Array) =>
    call('hmac', algorithm, key, data) as ArrayBuffer;

  function keyOf(key: object): { hash: string; bytes: Uint8Array } {
    const found = keys.get(key);
    if (!found) throw new TypeError('expected a key that importKey has made');
    return found;
  }

  /** The object that `createHash` and `createHmac` of Node give. */
  function hasher(finish: (data: Uint8Array) => ArrayBuffer) {
    const parts: Uint8Array[] = [];
    return {
      update(data: unknown) {
        parts.push(bytesOf(data));
        return this;
      },
      digest(encoding?: string): string | Uint8Array {
        const digest = new Uint8Array(finish(joined(parts)));
        return encoding === undefined ? digest : textOf(digest, encoding);
      },
    };
  }

  function joined(parts: readonly Uint8Array[]): Uint8Array {
    const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  function textOf(digest: Uint8Array, encoding: string): string {
    if (encoding === 'hex') return hexOf(digest);
    if (encoding === 'base64') return toBase64(digest);
    if (encoding === 'base64url') return toBase64(digest).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
    throw new TypeError(`The encoding ${encoding} is not supported: hex, base64 and base64url are`);
  }

  const subtle = {
    async digest(algorithm: unknown, data: unknown): Promise<ArrayBuffer> {
      return digestOf(algorithmOf(algorithm), bytesOf(data));
    },
    async importKey(format: unknown, data: unknown, algorithm: { name?: unknown; hash?: unknown }): Promise<object> {
      if (format !== 'raw' || String(algorithm?.name).toUpperCase() !== 'HMAC')
        throw named('NotSupportedError', 'Only keys of HMAC in the format raw are supported');
      const key = Object.freeze({ type: 'secret', algorithm: { ...algorithm } });
      keys.set(key, { hash: algorithmOf(algorithm.hash), bytes: bytesOf(data) });
      return key;
    },
    async sign(_algorithm: unknown, key: object, data: unknown): Promise<ArrayBuffer> {
      const { hash, bytes } = keyOf(key);
      return hmacOf(hash, bytes, bytesOf(data));
    },
    async verify(_algorithm: unknown, key: object, signature: unknown, data: unknown): Promise<boolean> {
      const { hash, bytes } = keyOf(key);
      return equal(new Uint8Array(hmacOf(hash, bytes, bytesOf(data))), bytesOf(signature));
    },
  };

  /** Takes the same time wherever the bytes differ. */
  function equal(one: Uint8Array, other: Uint8Array): boolean {
    let difference = one.length ^ other.length;
    for (let at = 0; at < one.length; at += 1) difference |= (one[at] ?? 0) ^ (other[at] ?? 0);
    return difference === 0;
  }

  return {
    subtle,
    createHash(algorithm: unknown) {
      const known = algorithmOf(algorithm);
      return hasher((data) => digestOf(known, data));
    },
    createHmac(algorithm: unknown, key: unknown) {
      const known = algorithmOf(algorithm);
      const bytes = bytesOf(key);
      return hasher((data) => hmacOf(known, bytes, data));
    },
    timingSafeEqual(one: unknown, other: unknown): boolean {
      return equal(bytesOf(one), bytesOf(other));
    },
    getRandomValues<T extends ArrayBufferView>(view: T): T {
      const random = call('random', view.byteLength);
      if (!(random instanceof ArrayBuffer)) throw named('QuotaExceededError', 'At most 65,536 bytes at once');
      new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength).set(new Uint8Array(random));
      return view;
    },
    randomUUID(): string {
      const bytes = new Uint8Array(call('random', 16) as ArrayBuffer);
      bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
      bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
      return hexOf(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    },
  };
}
