export interface Grant {
  action: string;
  effect: 'allow' | 'deny';
  /** What a pattern has from its first `*` on: `a:*` and `a:*x` are two rules that reach the same objects. */
  tail: string;
}

/**
 * What one holder may do, and is denied, at one place: an object or a prefix. Never changed, and equal ones are one and the
 * same: a tenant has a hundred thousand rules and a dozen different grants, nearly all of them the `*` of a creator.
 */
export class Grants {
  readonly allow: ReadonlySet<string>;
  readonly deny: ReadonlySet<string>;
  readonly #keys: ReadonlySet<string>;
  readonly #pool: Map<string, Grants>;
  /** What adding or removing a grant has made of this before. */
  readonly #next = new Map<string, Grants>();

  /** A tenant's first: nothing at all. */
  static none(): Grants {
    return new Grants(new Set(), new Map());
  }

  private constructor(keys: ReadonlySet<string>, pool: Map<string, Grants>) {
    this.#keys = keys;
    this.#pool = pool;
    this.allow = actionsOf(keys, 'allow');
    this.deny = actionsOf(keys, 'deny');
  }

  get isEmpty(): boolean {
    return this.#keys.size === 0;
  }

  with(grant: Grant): Grants {
    const key = keyOf(grant);
    return this.#become(`+${key}`, () => new Set(this.#keys).add(key));
  }

  without(grant: Grant): Grants {
    const key = keyOf(grant);
    return this.#become(`-${key}`, () => new Set([...this.#keys].filter((one) => one !== key)));
  }

  #become(step: string, keys: () => ReadonlySet<string>): Grants {
    const next = this.#next.get(step) ?? this.#canonical(keys());
    this.#next.set(step, next);
    return next;
  }

  #canonical(keys: ReadonlySet<string>): Grants {
    const name = [...keys].sort().join('\0\0');
    const known = this.#pool.get(name) ?? new Grants(keys, this.#pool);
    this.#pool.set(name, known);
    return known;
  }
}

/** Postgres has no text with a zero byte in it. */
function keyOf({ effect, action, tail }: Grant): string {
  return `${effect}\0${action}\0${tail}`;
}

function actionsOf(keys: ReadonlySet<string>, wanted: Grant['effect']): Set<string> {
  const parts = [...keys].map((key) => key.split('\0'));
  return new Set(parts.flatMap(([effect, action = '']) => (effect === wanted ? [action] : [])));
}
