import type { Pool } from '../db/pool.ts';
import type { Logger } from '../logger.ts';
import { createJudge } from './judge.ts';
import { RuleIndex } from './rule-index.ts';
import { readRules } from './rules.ts';

/** Whose question it is: users and API keys by id; of several, one must be allowed and none denied. */
export interface Asker {
  tenantID: string;
  /** The tenant's `policy_version`, read with the membership: rules older than it are not used. */
  version: number;
  subjects: readonly string[];
}

export interface Policy extends AsyncDisposable {
  /** Whether the asker may do `action` on `object` (`<type>:<id>`, `<type>:*`). */
  can(question: Asker & { object: string; action: string }): Promise<boolean>;
  /** What of a type the asker may do `action` on: everything, or these ids. For the filters of lists. */
  visible(question: Asker & { type: string; action: string }): Promise<'all' | string[]>;
}

const mostTenants = 1_000;
const mostRules = 1_000_000;

/** casbin's answers from rules kept per tenant and checked against the version each question brings. */
export function createPolicy(pool: Pool, logger: Logger): Policy {
  const judge = createJudge();
  /** In order of last use. */
  const indexes = new Map<string, RuleIndex>();
  const loading = new Map<string, Promise<RuleIndex>>();

  async function indexFor({ tenantID, version }: Asker): Promise<RuleIndex> {
    const kept = indexes.get(tenantID);
    if (kept && kept.version >= version) {
      indexes.delete(tenantID);
      indexes.set(tenantID, kept);
      return kept;
    }
    const index = await load(tenantID);
    // The load that was under way may have begun before the change we were told of; the next one cannot have.
    return index.version >= version ? index : load(tenantID);
  }

  function load(tenantID: string): Promise<RuleIndex> {
    const underWay = loading.get(tenantID);
    if (underWay) return underWay;
    const begun = read(tenantID).finally(() => loading.delete(tenantID));
    loading.set(tenantID, begun);
    return begun;
  }

  async function read(tenantID: string): Promise<RuleIndex> {
    const index = new RuleIndex(tenantID, await readRules(pool, tenantID));
    logger.debug({ tenantID, version: index.version, rules: index.size }, 'policy rules loaded');
    indexes.delete(tenantID);
    indexes.set(tenantID, index);
    makeRoom();
    return index;
  }

  function makeRoom(): void {
    let rules = 0;
    for (const { size } of indexes.values()) rules += size;
    for (const [tenantID, { size }] of indexes) {
      if (indexes.size === 1 || (indexes.size <= mostTenants && rules <= mostRules)) return;
      indexes.delete(tenantID);
      rules -= size;
    }
  }

  return {
    async can(question) {
      const index = await indexFor(question);
      const holders = index.holders(question.subjects);
      return judge(question, index.candidates(holders, question.object), holders);
    },
    async visible(question) {
      const { type } = question;
      const index = await indexFor(question);
      const holders = index.holders(question.subjects);
      const decide = (object: string) => judge({ ...question, object }, index.candidates(holders, object), holders);

      const { exact, wildcard } = index.partial(holders, type);
      const isEverywhere = decide(`${type}:*`);
      const exceptions = [...wildcard, ...[...exact.values()].flat()].filter(
        ([, , , action, effect]) => effect === 'deny' && (action === question.action || action === '*'),
      );
      if (isEverywhere && exceptions.length === 0) return 'all';

      // Without wildcards that reach some of the type, objects with the same rules have the same answer: ask once for each set.
      const answers = new Map<string, boolean>();
      const objects = isEverywhere || wildcard.length > 0 ? index.namedObjects(type) : exact.keys();
      const seen: string[] = [];
      for (const object of objects) {
        const rules = wildcard.length > 0 ? object : rulesOf(exact.get(object));
        const answer = answers.get(rules) ?? decide(object);
        answers.set(rules, answer);
        if (answer) seen.push(object.slice(type.length + 1));
      }
      return seen;
    },
    async [Symbol.asyncDispose]() {
      indexes.clear();
    },
  };
}

function rulesOf(lines: Iterable<readonly string[]> = []): string {
  return [...lines].map(([, , , action, effect]) => `${action} ${effect}`).join();
}
