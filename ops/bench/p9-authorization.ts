import { spawnSync } from 'node:child_process';
import { type Enforcer, newEnforcer, newModelFromString } from 'casbin';
import { MODEL } from '#shared/access/policy/model.ts';
import { createPolicy } from '#shared/access/policy/policy.ts';
import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Row } from './row.ts';

const SIZES = [100, 1_000, 10_000, 100_000];
const CHECKS = 20_000;
const PLAIN_CHECKS = 20;

/** One check, with more and more rules in the tenant: the policy as a request asks it, beside casbin with every rule. */
export const p9: Row = async (environment) => {
  const { pool } = environment;
  await using policy = createPolicy(pool, createLogger({ level: 'warn' }));
  const memory = measureMemory(environment);
  const figures = [];
  for (const size of SIZES) {
    const tenantID = newID();
    const { users, objects } = await fill(environment, tenantID, size);
    const asked = (n: number) => ({
      tenantID,
      version: 1,
      subjects: [users[n % users.length] ?? ''],
      object: objects[(n * 7919) % objects.length] ?? '',
      action: n % 3 ? 'read' : 'delete',
    });
    const began = performance.now();
    await policy.can(asked(0));
    const loadMs = performance.now() - began;
    for (let n = 0; n < CHECKS; n += 1) await policy.can(asked(n));
    const times: number[] = [];
    for (let n = 0; n < CHECKS; n += 1) {
      const start = performance.now();
      await policy.can(asked(n));
      times.push((performance.now() - start) * 1_000);
    }
    const floor = await plainCheck(environment, tenantID, asked);
    const value = Number(percentile(times, 99).toFixed(1));
    figures.push({
      figure: `${size} rules`,
      value,
      unit: 'µs p99',
      floor,
      ratio: Number((value / floor).toFixed(5)),
      settings: {
        ...(await environment.settings()),
        checks: CHECKS,
        p50: Number(percentile(times, 50).toFixed(1)),
        loadMs: Math.round(loadMs),
        ...(size === SIZES.at(-1) && { memory }),
      },
    });
  }
  return figures;
};

/** Each user has a role and made their share of the objects; of ten rules one is on a prefix, of a hundred one denies. */
async function fill({ pool }: BenchEnvironment, tenantID: string, size: number) {
  const users = Array.from({ length: 50 }, () => newID());
  const objects = Array.from({ length: size - 10 }, () => `workflow:${newID()}`);
  await pool.query('insert into tenant (id, tenant_title, creator_id, policy_version) values ($1, $2, $1, 1)', [
    tenantID,
    'bench',
  ]);
  await pool.query(
    `insert into policy_rule (id, tenant_id, kind, subject, object, action, effect)
     select gen_random_uuid(), $1, 'rule', ($2::text[])[1 + n % 50],
            case when n % 10 = 0 then left(object, 20) || n || '*' else object end, '*',
            case when n % 100 = 1 then 'deny' else 'allow' end
     from unnest($3::text[]) with ordinality as t(object, n)`,
    [tenantID, users, objects],
  );
  await pool.query(
    `insert into policy_rule (id, tenant_id, kind, subject, object, action)
     select gen_random_uuid(), $1, 'rule', 'role:reader', type || ':*', 'read'
     from unnest('{workflow,widget,folder,dashboard,dataquery}'::text[]) as type`,
    [tenantID],
  );
  await pool.query(
    `insert into policy_rule (id, tenant_id, kind, subject, role)
     select gen_random_uuid(), $1, 'grouping', subject, 'role:reader' from unnest($2::text[]) as subject`,
    [tenantID, users.slice(0, 5)],
  );
  return { users, objects };
}

type CheckOf = (n: number) => { subjects: string[]; object: string; action: string };

/** Median of casbin's own time with every rule of the tenant, in µs. */
async function plainCheck({ pool }: BenchEnvironment, tenantID: string, asked: CheckOf): Promise<number> {
  const { rows } = await pool.query<Record<string, string>>('select * from policy_rule where tenant_id = $1', [
    tenantID,
  ]);
  const enforcer: Enforcer = await newEnforcer(newModelFromString(MODEL));
  const model = enforcer.getModel();
  const lines = rows.filter(({ kind }) => kind === 'rule');
  model.addPolicies(
    'p',
    'p',
    lines.map((row) => [row.subject, tenantID, row.object, row.action, row.effect].map(String)),
  );
  for (const { kind, subject = '', role = '' } of rows)
    if (kind === 'grouping') await enforcer.addGroupingPolicy(subject, role, tenantID);
  const times: number[] = [];
  for (let n = 0; n < PLAIN_CHECKS; n += 1) {
    const { subjects, object, action } = asked(n);
    const start = performance.now();
    enforcer.enforceSync(subjects[0] ?? '', tenantID, object, action);
    times.push((performance.now() - start) * 1_000);
  }
  return Math.round(percentile(times, 50));
}

/** In a process of its own, because only memory that survives a garbage collection counts. */
function measureMemory({ env }: BenchEnvironment): unknown {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--expose-gc', 'ops/bench/p9-memory.ts'], {
    env: { ...env, PATH: process.env.PATH ?? '' },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The memory could not be measured: ${stderr}`);
  return JSON.parse(stdout);
}
