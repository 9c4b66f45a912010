import type { SETTABLE, URLParts } from './host-functions.ts';
import type { CallHost, WebBytes } from './web-bytes.ts';

/** URLs, which the host parses, and queries. Runs inside a fresh context, as text: it can use its parameters but nothing else of this module. */
export function webURL(call: CallHost, { utf8, latin1, binaryOf }: WebBytes, settable: typeof SETTABLE) {
  const changed = new WeakMap<object, (search: string) => void>();

  class URLSearchParams {
    #pairs: [string, string][] = [];

    constructor(init: unknown = '') {
      if (typeof init === 'object' && init !== null) {
        const pairs = Symbol.iterator in init ? [...(init as Iterable<[unknown, unknown]>)] : Object.entries(init);
        this.#pairs = pairs.map(([name, value]) => [String(name), String(value)]);
      } else this.#pairs = parseQuery(String(init));
    }

    #write(): void {
      changed.get(this)?.(this.toString());
    }

    get size(): number {
      return this.#pairs.length;
    }
    get(name: unknown): string | null {
      return this.#pairs.find(([own]) => own === String(name))?.[1] ?? null;
    }
    getAll(name: unknown): string[] {
      return this.#pairs.filter(([own]) => own === String(name)).map(([, value]) => value);
    }
    has(name: unknown, value?: unknown): boolean {
      return this.#pairs.some(([own, held]) => own === String(name) && (value === undefined || held === String(value)));
    }
    append(name: unknown, value: unknown): void {
      this.#pairs.push([String(name), String(value)]);
      this.#write();
    }
    delete(name: unknown, value?: unknown): void {
      this.#pairs = this.#pairs.filter(
        ([own, held]) => own !== String(name) || (value !== undefined && held !== String(value)),
      );
      this.#write();
    }
    set(name: unknown, value: unknown): void {
      const at = this.#pairs.findIndex(([own]) => own === String(name));
      if (at < 0) this.#pairs.push([String(name), String(value)]);
      else
        this.#pairs = this.#pairs.flatMap((pair, index): [string, string][] => {
          if (pair[0] !== String(name)) return [pair];
          return index === at ? [[pair[0], String(value)]] : [];
        });
      this.#write();
    }
    sort(): void {
      this.#pairs.sort(([one], [other]) => (one < other ? -1 : Number(one > other)));
      this.#write();
    }
    forEach(callback: (value: string, name: string, params: URLSearchParams) => void): void {
      for (const [name, value] of this) callback(value, name, this);
    }
    *entries(): Generator<[string, string]> {
      for (const [name, value] of this.#pairs) yield [name, value];
    }
    *keys(): Generator<string> {
      for (const [name] of this.#pairs) yield name;
    }
    *values(): Generator<string> {
      for (const [, value] of this.#pairs) yield value;
    }
    [Symbol.iterator](): Generator<[string, string]> {
      return this.entries();
    }
    toString(): string {
      return this.#pairs.map(([name, value]) => `${formEncode(name)}=${formEncode(value)}`).join('&');
    }
    /** Takes the pairs of another query, without telling the URL. */
    static replace(params: URLSearchParams, search: string): void {
      params.#pairs = parseQuery(search);
    }
  }
  const { replace } = URLSearchParams;
  Reflect.deleteProperty(URLSearchParams, 'replace');

  function parseQuery(text: string): [string, string][] {
    return text
      .replace(/^\?/, '')
      .split('&')
      .filter((part) => part !== '')
      .map((part) => {
        const at = part.indexOf('=');
        return at < 0 ? [formDecode(part), ''] : [formDecode(part.slice(0, at)), formDecode(part.slice(at + 1))];
      });
  }

  function formDecode(text: string): string {
    const spaced = text.replaceAll('+', ' ');
    if (!spaced.includes('%')) return spaced;
    const binary = binaryOf(utf8(spaced)).replace(/%([\da-f]{2})/gi, (_all, hex) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return call('decode', 'utf-8', latin1(binary), false, true) as string;
  }

  function formEncode(text: string): string {
    return encodeURIComponent(text.toWellFormed())
      .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
      .replaceAll('%20', '+');
  }

  class URL {
    #parts: URLParts;
    readonly searchParams: URLSearchParams;

    constructor(text: unknown, base?: unknown) {
      const parts = parse(text, base);
      if (!parts) throw invalidURL();
      this.#parts = parts;
      this.searchParams = new URLSearchParams(parts.search);
      changed.set(this.searchParams, (search) => {
        this.#parts = (call('changeURL', this.#parts.href, 'search', search) as URLParts | null) ?? this.#parts;
      });
    }
    static canParse(text: unknown, base?: unknown): boolean {
      return parse(text, base) !== null;
    }
    static parse(text: unknown, base?: unknown): URL | null {
      return URL.canParse(text, base) ? new URL(text, base) : null;
    }
    get href(): string {
      return this.#parts.href;
    }
    set href(text: unknown) {
      const parts = parse(text);
      if (!parts) throw invalidURL();
      this.#parts = parts;
      replace(this.searchParams, parts.search);
    }
    get origin(): string {
      return this.#parts.origin;
    }
    toString(): string {
      return this.#parts.href;
    }
    toJSON(): string {
      return this.#parts.href;
    }
    static read(url: URL, name: keyof URLParts): string {
      return url.#parts[name];
    }
    static write(url: URL, name: keyof URLParts, value: unknown): void {
      url.#parts = (call('changeURL', url.#parts.href, name, String(value)) as URLParts | null) ?? url.#parts;
      if (name === 'search') replace(url.searchParams, url.#parts.search);
    }
  }
  const { read, write } = URL;
  Reflect.deleteProperty(URL, 'read');
  Reflect.deleteProperty(URL, 'write');
  for (const name of settable)
    Object.defineProperty(URL.prototype, name, {
      get(this: URL) {
        return read(this, name);
      },
      set(this: URL, value: unknown) {
        write(this, name, value);
      },
      configurable: true,
      enumerable: true,
    });

  function parse(text: unknown, base?: unknown): URLParts | null {
    return call('parseURL', String(text), base === undefined ? undefined : String(base)) as URLParts | null;
  }

  function invalidURL(): TypeError {
    return new TypeError('Invalid URL');
  }

  return { URL, URLSearchParams };
}
