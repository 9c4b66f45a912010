import { type Grant, Grants } from './grants.ts';
import type { StoredRule } from './rules.ts';

/** A rule as the model wants it: subject, domain, object, action, effect. */
export type Line = readonly [subject: string, tenantID: string, object: string, action: string, effect: string];

type Effect = Grant['effect'];

/** What of a type some rules reach, action by action: all of it, ids with a prefix, single ids. */
export interface Reach {
  everything: boolean;
  prefixes: string[];
  /** Null: too many to name. They are in `policy_rule`, under the holders' names. */
  ids: string[] | null;
}

/** What of a type somebody may do something to: what is allowed and not denied. The filters of lists are made of it. */
export interface Sight {
  tenantID: string;
  type: string;
  action: string;
  /** The subjects and their roles. */
  holders: readonly string[];
  allow: Reach;
  deny: Reach;
}

/** casbin's own limit for roles of roles. */
const maxRoleLevels = 10;

/**
 * One tenant's rules at one version. What a question costs depends on how many roles the asker has and on how long the names
 * are, not on how many rules there are: an object is looked up by name, and by each length that a prefix has.
 */
export class RuleIndex {
  readonly #tenantID: string;
  readonly #held = new Map<string, Held>();
  readonly #roles = new Map<string, readonly string[]>();
  readonly #nothing = Grants.none();
  /** A type or a role is one string, however many rules name it. */
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

  /** How many rules. */
  get size(): number {
    return this.#size;
  }

  /** Brings the index to a later version; nobody can ask in between. */
  apply(changes: readonly { version: number; op: 'add' | 'remove'; rule: StoredRule }[]): void {
    for (const { version, op, rule } of changes) {
      if (op === 'add') this.#add(rule);
      else this.#remove(rule);
      this.#version = version;
    }
  }

  /** The subjects and, through any number of levels, their roles: whose rules are the subjects' rules. */
  holders(subjects: readonly string[]): Set<string> {
    const holders = new Set(subjects);
    let level = [...holders];
    for (let depth = 0; depth < maxRoleLevels && level.length > 0; depth += 1) {
      level = level.flatMap((holder) => this.#roles.get(holder) ?? []).filter((role) => !holders.has(role));
      for (const role of level) holders.add(role);
    }
    return holders;
  }

  /** The rules that decide: one that denies these holders the action on the object, and one that allows it, if there are any. */
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

  /** What of the type these holders have been allowed and denied. No more than `most` ids are named. */
  reach(
    holders: Iterable<string>,
    { type, action, maxIDs }: { type: string; action: string; maxIDs: number },
  ): Record<Effect, Reach> {
    const all = [...holders].flatMap((holder) => this.#held.get(holder) ?? []);
    const named = all.flatMap((held) => held.exact.get(type) ?? []);
    const isTooMuch = named.reduce((sum, objects) => sum + objects.size, 0) > maxIDs;
    const reachOf = (effect: Effect): Reach => ({
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
    const { at, place, grant } = this.#placeOf(held, rule);
    const before = place.get(at);
    place.set(at, (before ?? this.#nothing).with(grant));
    if (place === held.prefixes && !before) held.lengths.set(at.length, (held.lengths.get(at.length) ?? 0) + 1);
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
    const { at, place, grant } = this.#placeOf(held, rule);
    const before = place.get(at);
    if (!before) return;
    const left = before.without(grant);
    if (!left.isEmpty) {
      place.set(at, left);
      return;
    }
    place.delete(at);
    if (place !== held.prefixes) {
      if (place.size === 0) held.exact.delete(typeOf(at));
      return;
    }
    const others = (held.lengths.get(at.length) ?? 0) - 1;
    if (others > 0) held.lengths.set(at.length, others);
    else held.lengths.delete(at.length);
  }

  #placeOf(held: Held, { object, action, effect }: StoredRule): { at: string; place: Places; grant: Grant } {
    const star = object.indexOf('*');
    if (star >= 0) {
      const grant = { action, effect, tail: object.slice(star) };
      return { at: object.slice(0, star), place: held.prefixes, grant };
    }
    const type = typeOf(object);
    const place: Places = held.exact.get(type) ?? new Map();
    if (!held.exact.has(type)) held.exact.set(this.#name(type), place);
    return { at: object, place, grant: { action, effect, tail: '' } };
  }

  #name(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#names.set(name, name);
    return name;
  }
}

type Places = Map<string, Grants>;

/** The rules of one subject or role. */
interface Held {
  /** By type, and then by the whole name of the object. */
  exact: Map<string, Places>;
  /** By what a pattern has before its first `*`: the rest is not looked at. */
  prefixes: Places;
  /** The prefixes' lengths, and how many have each. */
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

/** The action as a rule has it: by name, or as any. */
function actionOf(actions: ReadonlySet<string>, action: string): string | undefined {
  if (actions.has(action)) return action;
  return actions.has('*') ? '*' : undefined;
}

interface Sought {
  type: string;
  action: string;
  effect: Effect;
}

function prefixReach(all: readonly Held[], { type, action, effect }: Sought): Pick<Reach, 'everything' | 'prefixes'> {
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

function idsOf(named: readonly Places[], { type, action, effect }: Sought): string[] {
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
