import { type Grant, Grants } from './grants.ts';
import type { StoredRule } from './rules.ts';

/** A rule in the form of the model: subject, domain, object, action, effect. */
export type Line = readonly [subject: string, tenantID: string, object: string, action: string, effect: string];

type Effect = Grant['effect'];

/** The objects of a type that some rules cover for one action: all, those with a prefix of the id, and single ids. */
export interface OutboundServices {
  everything: boolean;
  prefixes: string[];
  /** Null: too many to list. They are in `policy_rule`, with the holders as subjects. */
  ids: string[] | null;
}

/** The objects of a type on which a subject may do an action: allowed and not denied. Filters of lists are made of it. */
export interface Sight {
  tenantID: string;
  type: string;
  action: string;
  /** The subjects and their roles. */
  holders: readonly string[];
  allow: OutboundServices;
  deny: OutboundServices;
}

/** Same limit as in casbin for roles of roles. */
const maxRoleLevels = 10;

/**
 * One tenant's rules at one version. The cost of a question depends on the number of roles and the lengths of prefixes, not on
 * the number of rules: an object is looked up by its name, and by its prefix of each length that rules have.
 */
export class RuleIndex {
  readonly #tenantID: string;
  readonly #held = new Map<string, Held>();
  readonly #roles = new Map<string, readonly string[]>();
  readonly #nothing = Grants.none();
  /** Makes all rules share one string for a type or a role. */
  readonly #names = new Map<string, string>();
  #version: number;
  #size = 0;

  constructor(tenantID: string, { version, rules }: { version: number; rules: readonly StoredRule[] }) {
    this.#tenantID = tenantID;
    this.#version = version;
    for (const rule of rules) this.#add(rule);
  }

  get version(): number {
    return this.#version;
  }

  /** Number of rules. */
  get size(): number {
    return this.#size;
  }

  /** Brings the index to a later version; synchronous, so no question sees it half changed. */
  apply(changes: readonly { version: number; op: 'add' | 'remove'; rule: StoredRule }[]): void {
    for (const { version, op, rule } of changes) {
      if (op === 'add') this.#add(rule);
      else this.#remove(rule);
      this.#version = version;
    }
  }

  /** The subjects and their roles, through `maxRoleLevels` levels. Their rules apply to the subjects. */
  holders(subjects: readonly string[]): Set<string> {
    const holders = new Set(subjects);
    let level = [...holders];
    for (let depth = 0; depth < maxRoleLevels && level.length > 0; depth += 1) {
      level = level.flatMap((holder) => this.#roles.get(holder) ?? []).filter((role) => !holders.has(role));
      for (const role of level) holders.add(role);
    }
    return holders;
  }

  /** The deciding rule, if any: one that denies these holders the action on the object, otherwise one that allows it. */
  deciding(holders: Iterable<string>, object: string, action: string): Line[] {
    let allowed: Line | undefined;
    for (const holder of holders) {
      const held = this.#held.get(holder);
      if (!held) continue;
      for (const { pattern, grants } of matching(held, object)) {
        const denied = actionOf(grants.deny, action);
        if (denied) return [[holder, this.#tenantID, pattern, denied, 'deny']];
        const found = allowed ? undefined : actionOf(grants.allow, action);
        if (found) allowed = [holder, this.#tenantID, pattern, found, 'allow'];
      }
    }
    return allowed ? [allowed] : [];
  }

  /** The objects of the type that these holders are allowed and denied. With more than `maxIDs` ids, none are listed. */
  reach(
    holders: Iterable<string>,
    { type, action, maxIDs }: { type: string; action: string; maxIDs: number },
  ): Record<Effect, OutboundServices> {
    const all = [...holders].flatMap((holder) => this.#held.get(holder) ?? []);
    const named = all.flatMap((held) => held.exact.get(type) ?? []);
    const isTooMuch = named.reduce((sum, objects) => sum + objects.size, 0) > maxIDs;
    const reachOf = (effect: Effect): OutboundServices => ({
      ...prefixReach(all, { type, action, effect }),
      ids: isTooMuch ? null : idsOf(named, { type, action, effect }),
    });
    return { allow: reachOf('allow'), deny: reachOf('deny') };
  }

  #add(rule: StoredRule): void {
    this.#size += 1;
    if (rule.kind === 'grouping') {
      const roles = this.#roles.get(rule.subject) ?? [];
      this.#roles.set(rule.subject, [...roles, this.#name(rule.role)]);
      return;
    }
    const held: Held = this.#held.get(rule.subject) ?? { exact: new Map(), prefixes: new Map(), lengths: new Map() };
    this.#held.set(rule.subject, held);
    const { at, map, grant } = this.#locate(held, rule);
    const before = map.get(at);
    map.set(at, (before ?? this.#nothing).with(grant));
    if (map === held.prefixes && !before) held.lengths.set(at.length, (held.lengths.get(at.length) ?? 0) + 1);
  }

  #remove(rule: StoredRule): void {
    this.#size -= 1;
    if (rule.kind === 'grouping') {
      const roles = this.#roles.get(rule.subject)?.filter((role) => role !== rule.role) ?? [];
      if (roles.length > 0) this.#roles.set(rule.subject, roles);
      else this.#roles.delete(rule.subject);
      return;
    }
    const held = this.#held.get(rule.subject);
    if (held) this.#take(held, rule);
    if (held && held.exact.size === 0 && held.prefixes.size === 0) this.#held.delete(rule.subject);
  }

  #take(held: Held, rule: StoredRule): void {
    const { at, map, grant } = this.#locate(held, rule);
    const before = map.get(at);
    if (!before) return;
    const left = before.without(grant);
    if (!left.isEmpty) {
      map.set(at, left);
      return;
    }
    map.delete(at);
    if (map !== held.prefixes) {
      if (map.size === 0) held.exact.delete(typeOf(at));
      return;
    }
    const others = (held.lengths.get(at.length) ?? 0) - 1;
    if (others > 0) held.lengths.set(at.length, others);
    else held.lengths.delete(at.length);
  }

  #locate(held: Held, { object, action, effect }: StoredRule): { at: string; map: GrantMap; grant: Grant } {
    const star = object.indexOf('*');
    if (star >= 0) {
      const grant = { action, effect, tail: object.slice(star) };
      return { at: object.slice(0, star), map: held.prefixes, grant };
    }
    const type = typeOf(object);
    const map: GrantMap = held.exact.get(type) ?? new Map();
    if (!held.exact.has(type)) held.exact.set(this.#name(type), map);
    return { at: object, map, grant: { action, effect, tail: '' } };
  }

  #name(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#names.set(name, name);
    return name;
  }
}

type GrantMap = Map<string, Grants>;

/** The rules of one subject or role. */
interface Held {
  /** Grants by type, and then by the whole name of the object. */
  exact: Map<string, GrantMap>;
  /** Grants by the part of a pattern before its first `*`; the rest does not count. */
  prefixes: GrantMap;
  /** Lengths of the prefixes, with the number of prefixes of each length. */
  lengths: Map<number, number>;
}

function* matching(held: Held, object: string): Generator<{ pattern: string; grants: Grants }> {
  const named = held.exact.get(typeOf(object))?.get(object);
  if (named) yield { pattern: object, grants: named };
  for (const length of held.lengths.keys()) {
    if (length > object.length) continue;
    const prefix = object.slice(0, length);
    const grants = held.prefixes.get(prefix);
    if (grants) yield { pattern: `${prefix}*`, grants };
  }
}

/** The action as the rules name it: by name or `*`. */
function actionOf(actions: ReadonlySet<string>, action: string): string | undefined {
  if (actions.has(action)) return action;
  return actions.has('*') ? '*' : undefined;
}

interface Sought {
  type: string;
  action: string;
  effect: Effect;
}

function prefixReach(all: readonly Held[], { type, action, effect }: Sought): Pick<OutboundServices, 'everything' | 'prefixes'> {
  const start = `${type}:`;
  const prefixes = new Set<string>();
  for (const held of all)
    for (const [prefix, grants] of held.prefixes) {
      if (!actionOf(grants[effect], action)) continue;
      if (start.startsWith(prefix)) return { everything: true, prefixes: [] };
      if (prefix.startsWith(start)) prefixes.add(prefix.slice(start.length));
    }
  return { everything: false, prefixes: [...prefixes] };
}

function idsOf(named: readonly GrantMap[], { type, action, effect }: Sought): string[] {
  const start = `${type}:`;
  const ids = new Set<string>();
  for (const objects of named)
    for (const [object, grants] of objects)
      if (actionOf(grants[effect], action) && object.startsWith(start)) ids.add(object.slice(start.length));
  return [...ids];
}

function typeOf(object: string): string {
  const colon = object.indexOf(':');
  return colon < 0 ? object : object.slice(0, colon);
}
