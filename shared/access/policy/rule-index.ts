import { CountMap } from '../../core/count-map.ts';
import { type Grant, Grants } from './grants.ts';
import type { StoredRule } from './rules.ts';

/** A rule in the form of the model: subject, domain, object, action, effect. */
export type Line = readonly [subject: string, tenantID: string, object: string, action: string, effect: string];

type Effect = Grant['effect'];

/** The objects of a type that some rules cover for one action: all of them, those whose ids have a prefix, and those with listed ids. */
export interface ObjectScope {
  everything: boolean;
  prefixes: string[];
  /** Null: too many to list. They are in `policy_rule`, with the principals as subjects. */
  ids: string[] | null;
}

/** The objects of a type on which a subject may do an action: allowed and not denied. Lists of assets are filtered by it. */
export interface VisibilityFilter {
  tenantID: string;
  type: string;
  action: string;
  /** The subjects and their roles. */
  principals: readonly string[];
  allow: ObjectScope;
  deny: ObjectScope;
}

/** Same limit as in casbin for roles of roles. */
const maxRoleLevels = 10;

/**
 * One tenant's rules at one version. The cost of a decision depends on the number of roles and the lengths of prefixes, not on
 * the number of rules: an object is looked up by its name, and by its prefix of each length that rules have.
 */
export class RuleIndex {
  readonly #tenantID: string;
  readonly #rules = new Map<string, SubjectRules>();
  readonly #roles = new Map<string, readonly string[]>();
  readonly #nothing = Grants.none();
  /** Strings for types and roles, which all rules share to save memory. */
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

  /** Brings the index to a later version; synchronous, so no decision sees it half changed. */
  apply(changes: readonly { version: number; op: 'add' | 'remove'; rule: StoredRule }[]): void {
    for (const { version, op, rule } of changes) {
      if (op === 'add') this.#add(rule);
      else this.#remove(rule);
      this.#version = version;
    }
  }

  /** The subjects and their roles, through `maxRoleLevels` levels. Their rules apply to the subjects. */
  principals(subjects: readonly string[]): Set<string> {
    const principals = new Set(subjects);
    let level = [...principals];
    for (let depth = 0; depth < maxRoleLevels && level.length > 0; depth += 1) {
      level = level.flatMap((principal) => this.#roles.get(principal) ?? []).filter((role) => !principals.has(role));
      for (const role of level) principals.add(role);
    }
    return principals;
  }

  /** The deciding rule, if any: one that denies these principals the action on the object, otherwise one that allows it. */
  deciding(principals: Iterable<string>, object: string, action: string): Line[] {
    let allowed: Line | undefined;
    for (const principal of principals) {
      const own = this.#rules.get(principal);
      if (!own) continue;
      for (const { pattern, grants } of matching(own, object)) {
        const denied = actionOf(grants.deny, action);
        if (denied) return [[principal, this.#tenantID, pattern, denied, 'deny']];
        const found = allowed ? undefined : actionOf(grants.allow, action);
        if (found) allowed = [principal, this.#tenantID, pattern, found, 'allow'];
      }
    }
    return allowed ? [allowed] : [];
  }

  /** The objects of the type that these principals are allowed and denied. With more than `maxIDs` ids, none are listed. */
  scopes(
    principals: Iterable<string>,
    { type, action, maxIDs }: { type: string; action: string; maxIDs: number },
  ): Record<Effect, ObjectScope> {
    const all = [...principals].flatMap((principal) => this.#rules.get(principal) ?? []);
    const named = all.flatMap((own) => own.exact.get(type) ?? []);
    const isTooMuch = named.reduce((sum, objects) => sum + objects.size, 0) > maxIDs;
    const scopeOf = (effect: Effect): ObjectScope => ({
      ...prefixScope(all, { type, action, effect }),
      ids: isTooMuch ? null : idsOf(named, { type, action, effect }),
    });
    return { allow: scopeOf('allow'), deny: scopeOf('deny') };
  }

  #add(rule: StoredRule): void {
    this.#size += 1;
    if (rule.kind === 'grouping') {
      const roles = this.#roles.get(rule.subject) ?? [];
      this.#roles.set(rule.subject, [...roles, this.#name(rule.role)]);
      return;
    }
    const own: SubjectRules = this.#rules.get(rule.subject) ?? {
      exact: new Map(),
      prefixes: new Map(),
      lengths: new CountMap(),
    };
    this.#rules.set(rule.subject, own);
    const { key, map, grant } = this.#locate(own, rule);
    const before = map.get(key);
    map.set(key, (before ?? this.#nothing).with(grant));
    if (map === own.prefixes && !before) own.lengths.add(key.length, 1);
  }

  #remove(rule: StoredRule): void {
    this.#size -= 1;
    if (rule.kind === 'grouping') {
      const roles = this.#roles.get(rule.subject)?.filter((role) => role !== rule.role) ?? [];
      if (roles.length > 0) this.#roles.set(rule.subject, roles);
      else this.#roles.delete(rule.subject);
      return;
    }
    const own = this.#rules.get(rule.subject);
    if (own) this.#removeGrant(own, rule);
    if (own && own.exact.size === 0 && own.prefixes.size === 0) this.#rules.delete(rule.subject);
  }

  #removeGrant(own: SubjectRules, rule: StoredRule): void {
    const { key, map, grant } = this.#locate(own, rule);
    const before = map.get(key);
    if (!before) return;
    const left = before.without(grant);
    if (!left.isEmpty) {
      map.set(key, left);
      return;
    }
    map.delete(key);
    if (map !== own.prefixes) {
      if (map.size === 0) own.exact.delete(typeOf(key));
      return;
    }
    own.lengths.add(key.length, -1);
  }

  /** Finds the map that has, or is to have, the grants of a rule, and the key in it. */
  #locate(own: SubjectRules, { object, action, effect }: StoredRule): { key: string; map: GrantMap; grant: Grant } {
    const star = object.indexOf('*');
    if (star >= 0) {
      const grant = { action, effect, tail: object.slice(star) };
      return { key: object.slice(0, star), map: own.prefixes, grant };
    }
    const type = typeOf(object);
    const map: GrantMap = own.exact.get(type) ?? new Map();
    if (!own.exact.has(type)) own.exact.set(this.#name(type), map);
    return { key: object, map, grant: { action, effect, tail: '' } };
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
interface SubjectRules {
  /** Grants by type, and then by the whole name of the object. */
  exact: Map<string, GrantMap>;
  /** Grants by the part of a pattern before its first `*`. Like casbin's `keyMatch`, decisions ignore the rest of a pattern. */
  prefixes: GrantMap;
  /** Lengths of the prefixes, with the number of prefixes of each length. */
  lengths: CountMap<number>;
}

function* matching(own: SubjectRules, object: string): Generator<{ pattern: string; grants: Grants }> {
  const named = own.exact.get(typeOf(object))?.get(object);
  if (named) yield { pattern: object, grants: named };
  for (const length of own.lengths.keys()) {
    if (length > object.length) continue;
    const prefix = object.slice(0, length);
    const grants = own.prefixes.get(prefix);
    if (grants) yield { pattern: `${prefix}*`, grants };
  }
}

/** The action as the rules name it: itself or `*`; undefined if they do not cover it. */
function actionOf(actions: ReadonlySet<string>, action: string): string | undefined {
  if (actions.has(action)) return action;
  return actions.has('*') ? '*' : undefined;
}

interface Sought {
  type: string;
  action: string;
  effect: Effect;
}

function prefixScope(
  all: readonly SubjectRules[],
  { type, action, effect }: Sought,
): Pick<ObjectScope, 'everything' | 'prefixes'> {
  const start = `${type}:`;
  const prefixes = new Set<string>();
  for (const own of all)
    for (const [prefix, grants] of own.prefixes) {
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
