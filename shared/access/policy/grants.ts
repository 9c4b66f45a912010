export interface Grant {
  action: string;
  effect: 'allow' | 'deny';
  /** The pattern from its first `*` on: `a:*` and `a:*x` are two rules that cover the same objects. */
  tail: string;
}

/**
 * The actions that one principal is allowed and denied on one object or prefix. Immutable, and equal grants are one instance: a
 * tenant has a hundred thousand rules and a dozen different grants, nearly all of them the `*` of a creator.
 */
export class Grants {
  readonly allow: ReadonlySet<string>;
  readonly deny: ReadonlySet<string>;
  readonly #keys: ReadonlySet<string>;
  readonly #pool: Map<string, Grants>;
  /** Cached results of `with` and `without`. */
  readonly #next = new Map<string, Grants>();

  /** Empty grants, from which a tenant's other grants are made. */
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
    return this.#become(`-${key}`, () => new Set([...this.#keys].filter((known) => known !== key)));
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

/** No part contains `\0`: Postgres does not store it. */
function keyOf({ effect, action, tail }: Grant): string {
  return `${effect}\0${action}\0${tail}`;
}

function actionsOf(keys: ReadonlySet<string>, wanted: Grant['effect']): Set<string> {
  const parts = [...keys].map((key) => key.split('\0'));
  return new Set(parts.flatMap(([effect, action = '']) => (effect === wanted ? [action] : [])));
}
