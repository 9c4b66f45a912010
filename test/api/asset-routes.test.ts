import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from '#api/app/routes.ts';
import type { Route } from '#api/http/route/route.ts';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { splitPermission } from '#shared/access/policy/permissions.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aTenant, type TestTenant } from '../support/factories.ts';
import { accessOf, callRoute, makeParams, nameOf, paramsOf } from '../support/route-calls.ts';

/** Every route that creates or deletes assets keeps the rules on them: it uses `createAsset` and `deleteAsset`. */
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const aFile = 'a file has no rules of its own';
const aMember = 'a member is no asset: what it may do is written in rules about it';

const withoutRules: Record<string, string> = {
  'post /api/v1/tenants/:tenantID/workflows/aigenerate': 'a draft is not saved',
  'post /api/v1/tenants/:tenantID/workflows/check': 'a graph is checked and not saved',
  'post /api/v1/tenants/:tenantID/datasources/upload': aFile,
  'post /api/v1/tenants/:tenantID/widgets/upload': aFile,
  'delete /api/v1/tenants/:tenantID/datasources/files/:fileID': aFile,
  'delete /api/v1/tenants/:tenantID/widgets/uploads/:widgetFileID': aFile,
  'post /api/v1/tenants/:tenantID/users': aMember,
  'delete /api/v1/tenants/:tenantID/users/:tenantUserID': aMember,
  'delete /api/v1/tenants/:tenantID/apikeys/:apiKeyID': 'the key is disabled, and its row stays',
};

const creating = having('create', 'post');
const deleting = having('delete', 'delete');

test('every route without rules is named above, and only those are', () => {
  const names = new Set([...creating, ...deleting].map(([name]) => name));
  expect(Object.keys(withoutRules).filter((name) => !names.has(name))).toEqual([]);
});

describe.each(creating.filter(hasRules))('%s', (_name, type, route) => {
  test('gives the creator rules on the created asset', async () => {
    const tenant = await aTenant(cluster);
    const params = await makeParams(cluster, route, tenant);
    const before = new Set((await rulesOn(tenant, `${type}:%`)).map(({ object }) => object));

    const answer = await callRoute(cluster.as(tenant.creator), route, params);

    expect(answer.body).toMatchObject({ success: true });
    const added = (await rulesOn(tenant, `${type}:%`)).filter(({ object }) => !before.has(object));
    expect(added).not.toEqual([]);
    for (const rule of added) expect(rule).toMatchObject({ subject: tenant.creator.id, action: '*', effect: 'allow' });
  });
});

describe.each(deleting.filter(hasRules))('%s', (_name, type, route) => {
  test('leaves no rule on the deleted asset', async () => {
    const tenant = await aTenant(cluster);
    const params = await makeParams(cluster, route, tenant);
    const object = `${type}:${params[paramsOf(route).at(-1) ?? '']}`;
    const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
    await changeRules(em, tenant.id, { add: [{ subject: newID(), object, action: 'read' }] });

    expect((await callRoute(cluster.as(tenant.creator), route, params)).body).toMatchObject({ success: true });

    expect(await rulesOn(tenant, object)).toEqual([]);
  });
});

/** The routes of a method that need this permission on some type: name, type, route. */
function having(action: string, method: string): [name: string, type: string, route: Route][] {
  return routes
    .filter((route) => route.method === method)
    .flatMap((route) => {
      const ids = Object.fromEntries(paramsOf(route).map((name) => [name, newID()]));
      const types = accessOf(route, ids).map(({ permission }) => splitPermission(permission));
      const [type] = types.find(([, each]) => each === action) ?? [];
      return type === undefined ? [] : [[nameOf(route), type, route]];
    });
}

function hasRules([name]: readonly [name: string, ...unknown[]]): boolean {
  return !Object.hasOwn(withoutRules, name);
}

interface Rule {
  subject: string;
  object: string;
  action: string;
  effect: string;
}

async function rulesOn({ id }: TestTenant, pattern: string): Promise<Rule[]> {
  const { rows } = await cluster.pool.query<Rule>(
    `select subject, object, action, effect from policy_rule where tenant_id = $1 and kind = 'rule' and object like $2`,
    [id, pattern],
  );
  return rows;
}
