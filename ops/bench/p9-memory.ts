/** `node --expose-gc ops/bench/p9-memory.ts`: memory of the index for one tenant with 100,000 rules and for 1,000 tenants with 1,000 each. */

import { RuleIndex } from '#shared/access/policy/rule-index.ts';
import type { StoredRule } from '#shared/access/policy/rules.ts';
import { newID } from '#shared/core/ids.ts';

const users = Array.from({ length: 50 }, () => newID());

function index(size: number): RuleIndex {
  const rules = Array.from({ length: size }, (_, n): StoredRule => {
    // As the driver hands them over: each text a string of its own.
    const text = (value: string) => Buffer.from(value).toString();
    const object = text(n % 10 ? `workflow:${newID()}` : `workflow:${newID().slice(0, 13)}${n}*`);
    const subject = text(users[n % users.length] ?? '');
    return { kind: 'rule', subject, object, action: text('*'), effect: 'allow', role: text('') };
  });
  return new RuleIndex(newID(), { version: 1, rules });
}

function measure(
  tenants: number,
  rules: number,
): { tenants: number; rules: number; megabytes: number; buildMs: number } {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const began = performance.now();
  const retained = Array.from({ length: tenants }, () => index(rules));
  const buildMs = Math.round(performance.now() - began);
  globalThis.gc?.();
  const megabytes = Number(((process.memoryUsage().heapUsed - before) / 1024 / 1024).toFixed(1));
  return { tenants: retained.length, rules, megabytes, buildMs };
}

if (!globalThis.gc) throw new Error('Run it with --expose-gc');
console.log(JSON.stringify([measure(1, 100_000), measure(1_000, 1_000)]));
