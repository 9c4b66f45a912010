import type { StoredRule } from './rules.ts';

/** A rule as the model wants it: subject, domain, object, action, effect. */
export type Line = readonly [subject: string, tenantID: string, object: string, action: string, effect: string];

/** casbin's own limit for roles of roles. */
const mostRoleLevels = 10;

/** One tenant's rules at one version, found by subject and then by object. */
export class RuleIndex {
  readonly version: number;
  readonly size: number;
  readonly #lines = new Map<string, SubjectLines>();
  readonly #roles = new Map<string, string[]>();

  constructor(tenantID: string, { version, rules }: { version: number; rules: readonly StoredRule[] }) {
    this.version = version;
    this.size = rules.length;
    for (const rule of rules) {
      if (rule.kind === 'grouping') push(this.#roles, rule.subject, rule.role);
      else this.#add([rule.subject, tenantID, rule.object, rule.action, rule.effect]);
    }
  }

  /** The subjects and, through any number of levels, their roles: whose rules are the subjects' rules. */
  holders(subjects: readonly string[]): Set<string> {
    const holders = new Set(subjects);
    let level = [...holders];
    for (let depth = 0; depth < mostRoleLevels && level.length > 0; depth += 1) {
      level = level.flatMap((holder) => this.#roles.get(holder) ?? []).filter((role) => !holders.has(role));
      for (const role of level) holders.add(role);
    }
    return holders;
  }

  /** Every rule of these holders that may match the object: those that name it, and those with a wildcard. */
  candidates(holders: Iterable<string>, object: string): Line[] {
    const found: Line[] = [];
    for (const holder of holders) {
      const lines = this.#lines.get(holder);
      if (lines) found.push(...(lines.exact.get(object) ?? []), ...lines.wildcard);
    }
    return found;
  }

  /** Rules of these holders on some, but not all, of a type: on one object, or on those with a prefix. */
  partial(holders: Iterable<string>, type: string): { exact: Map<string, Line[]>; wildcard: Line[] } {
    const prefix = `${type}:`;
    const exact = new Map<string, Line[]>();
    const wildcard: Line[] = [];
    for (const holder of holders) {
      const lines = this.#lines.get(holder) ?? none;
      for (const [object, named] of lines.exact)
        if (object.startsWith(prefix)) exact.set(object, [...(exact.get(object) ?? []), ...named]);
      wildcard.push(...lines.wildcard.filter(([, , at]) => at.startsWith(prefix) && at[prefix.length] !== '*'));
    }
    return { exact, wildcard };
  }

  /** Every object of a type that any rule names; each asset has a rule of its creator. */
  namedObjects(type: string): Iterable<string> {
    return this.partial(this.#lines.keys(), type).exact.keys();
  }

  #add(line: Line): void {
    const [subject, , object] = line;
    const lines: SubjectLines = this.#lines.get(subject) ?? { exact: new Map(), wildcard: [] };
    this.#lines.set(subject, lines);
    if (object.includes('*')) lines.wildcard.push(line);
    else push(lines.exact, object, line);
  }
}

interface SubjectLines {
  exact: Map<string, Line[]>;
  wildcard: Line[];
}

const none: SubjectLines = { exact: new Map(), wildcard: [] };

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const values = map.get(key);
  if (values) values.push(value);
  else map.set(key, [value]);
}
