import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from '#api/app/routes.ts';
import type { Route } from '#api/http/route/route.ts';
import { type Permission, splitPermission } from '#shared/access/policy/permissions.ts';
import type { Client } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aMember, aTenant, type TestTenant, type TestUser } from '../support/factories.ts';
import { bodyFixture, paramFixture, queryFixture } from '../support/route-fixtures.ts';

/** A route that answers with rows: how to create one, and its object type in the policy. */
interface List {
  /** The field of the answer. */
  rows: string;
  /** The path parameter whose fixture makes a row, and the field of a row with its id. */
  made: string;
  id: string;
  permission: Permission;
}

/** A route with one id, which is open or closed by the policy on the object behind it. */
interface Single {
  made: string;
  permission: Permission;
  /** Needed on everything of its type as well. */
  also?: Permission;
}

const lists: Record<string, List> = {
  'get T/datasources': { rows: 'datasources', made: 'datasourceID', id: 'id', permission: 'datasource.read' },
  'get T/queries': { rows: 'dataQueries', made: 'dataQueryID', id: 'id', permission: 'dataquery.read' },
  'get T/workflows': { rows: 'workflows', made: 'workflowID', id: 'id', permission: 'workflow.read' },
  'get T/workflows/instances': {
    rows: 'instances',
    made: 'instanceID',
    id: 'instanceID',
    permission: 'workflow.read',
  },
  'get T/workflows/batches': {
    rows: 'batches',
    made: 'batchID',
    id: 'batchID',
    permission: 'workflow.read',
  },
  'get T/workflows/data-collection': {
    rows: 'requests',
    made: 'collectionRequestID',
    id: 'collectionRequestID',
    permission: 'workflow.execute',
  },
  'get T/listeners': { rows: 'listeners', made: 'listenerID', id: 'id', permission: 'listener.read' },
  'get T/folders': { rows: 'folders', made: 'folderID', id: 'id', permission: 'folder.list' },
  'get T/dashboards': { rows: 'dashboards', made: 'dashboardID', id: 'id', permission: 'dashboard.read' },
  'get T/app-pages': { rows: 'appPages', made: 'appPageID', id: 'id', permission: 'appPage.read' },
  'get T/widgets': { rows: 'widgets', made: 'widgetID', id: 'id', permission: 'widget.read' },
  'get T/variables': { rows: 'variables', made: 'variableID', id: 'id', permission: 'variable.read' },
  'get T/cronjobs': { rows: 'cronJobs', made: 'cronJobID', id: 'id', permission: 'cronjob.read' },
  'get T/users': { rows: 'users', made: 'tenantUserID', id: 'id', permission: 'user.read' },
  'get T/roles': { rows: 'roles', made: 'roleID', id: 'id', permission: 'role.read' },
  'get T/apikeys': { rows: 'apiKeys', made: 'apiKeyID', id: 'id', permission: 'apikey.read' },
  'get T/oauth-connections': {
    rows: 'oauthConnections',
    made: 'oauthConnectionID',
    id: 'id',
    permission: 'datasource.read',
  },
};

const singles: Record<string, Single> = {
  'get T/workflows/instances/:instanceID': { made: 'instanceID', permission: 'workflow.read' },
  'get T/workflows/instances/:instanceID/stream': { made: 'instanceID', permission: 'workflow.read' },
  'get T/workflows/instances/:instanceID/logs': { made: 'instanceID', permission: 'workflow.read' },
  'get T/workflows/instances/:instanceID/deliveries': { made: 'instanceID', permission: 'workflow.read' },
  'post T/workflows/deliveries/:deliveryID/redeliver': { made: 'deliveryID', permission: 'workflow.execute' },
  'delete T/workflows/instances/:instanceID/stop': { made: 'instanceID', permission: 'workflow.execute' },
  'post T/workflows/instances/:instanceID/rerun': {
    made: 'instanceID',
    permission: 'workflow.execute',
    also: 'workflow.read',
  },
  'post T/workflows/instances/:instanceID/rerun/preview': {
    made: 'instanceID',
    permission: 'workflow.execute',
    also: 'workflow.read',
  },
  'get T/workflows/batches/:batchID': { made: 'batchID', permission: 'workflow.read' },
  'delete T/workflows/batches/:batchID/stop': { made: 'batchID', permission: 'workflow.execute' },
  'get T/workflows/data-collection/:collectionRequestID': { made: 'collectionRequestID', permission: 'workflow.read' },
  'post T/workflows/data-collection/:collectionRequestID/submit': {
    made: 'collectionRequestID',
    permission: 'workflow.execute',
  },
};

/** These describe types, and no object of the tenant is in their answers. */
const withoutObjects = [
  'get T/datasources/schemas',
  'get T/queries/schemas',
  'get T/workflows/schemas',
  'get T/listeners/schemas',
  'get T/dashboards/schemas',
  'get T/widgets/schemas',
  'get T/app-pages/schemas',
];

/** Routes whose reach is tested with the route. */
const elsewhere = [
  'get T/workflows/instances/:instanceID/maps/:mapID/chunks',
  'post T/workflows/events',
  'get T/workflows/instances/:instanceID/nodes/:nodeID/input',
  'post T/widgets/data/bulk',
  'get T/widgets/files',
  'get T/cronjobs/status/connections',
  'get T/listeners/status/connections',
  'get T/overview/runs',
];

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});

afterAll(() => cluster[Symbol.asyncDispose]());

test('every route with a filter is covered here', () => {
  const filtered = routes.filter((route) => route.realm === 'tenant' && route.filter).map(nameOf);
  expect([...Object.keys(lists), ...Object.keys(singles), ...withoutObjects, ...elsewhere].sort()).toEqual(
    filtered.sort(),
  );
});

describe.each(Object.entries(lists))('%s', (name, list) => {
  test('hides denied rows, and counts and pages without them', async () => {
    const tenant = await aTenant(cluster);
    const [, denied] = [await make(tenant, list), await make(tenant, list), await make(tenant, list)];
    const member = await aMember(cluster, {
      tenant,
      can: [listingOf(name), list.permission],
      rules: [{ ...ruleOf(denied.object, list.permission), effect: 'deny' }],
    });
    const everything = await idsIn(tenant.creator, tenant, name);

    const left = everything.filter((id) => id !== denied.id);
    expect(left).toHaveLength(everything.length - 1);
    await expectExactly(left, member, tenant, name);
  });

  test('shows only granted rows, and counts and pages no others', async () => {
    const tenant = await aTenant(cluster);
    const [, granted] = [await make(tenant, list), await make(tenant, list), await make(tenant, list)];
    const member = await aMember(cluster, {
      tenant,
      can: listingOf(name) === list.permission ? [] : [listingOf(name)],
      rules: [ruleOf(granted.object, list.permission)],
    });

    await expectExactly([granted.id], member, tenant, name);
  });
});

describe.each(Object.entries(singles))('%s', (name, single) => {
  test('refuses a denied object and answers for a granted one', async () => {
    const tenant = await aTenant(cluster);
    const [one, other] = [await make(tenant, single), await make(tenant, single)];
    const also = single.also ? [single.also] : [];
    const denied = await aMember(cluster, {
      tenant,
      can: [single.permission, ...also],
      rules: [{ ...ruleOf(one.object, single.permission), effect: 'deny' }],
    });
    const granted = await aMember(cluster, { tenant, can: also, rules: [ruleOf(one.object, single.permission)] });

    for (const [member, closed, open] of [
      [denied, one, other],
      [granted, other, one],
    ] as const) {
      expect(await send(member, tenant, name, closed.id)).toMatchObject({ status: 403 });
      expect(await send(member, tenant, name, open.id)).toMatchObject({ status: 200 });
    }
  });
});

describe.each(withoutObjects)('%s', (name) => {
  test('answers a caller with the permission on one object like one with the permission on all', async () => {
    const tenant = await aTenant(cluster);
    const rules = [ruleOf(`${splitPermission(listingOf(name))[0]}:one`, listingOf(name))];
    const member = await aMember(cluster, { tenant, rules });

    const answer = await send(member, tenant, name);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual((await send(tenant.creator, tenant, name)).body);
  });
});

/** The ids, in order, by each of the three ways to page. */
async function expectExactly(ids: string[], member: TestUser, tenant: TestTenant, name: string): Promise<void> {
  expect(await idsIn(member, tenant, name)).toEqual(ids);

  const { rows } = listOf(name);
  const client = clientOf(member, tenant);
  const [, address = ''] = name.split(' ');
  const needed = queryFixture(name.replace('T', '/api/v1/tenants/:tenantID'));
  const path = `${address}${needed ? `${needed}&` : '?'}`;
  const page = await client.get(`${path}page=1&pageSize=1`);
  expect(page.body).toMatchObject({ totalCount: ids.length, totalPages: ids.length });
  const beyond = await client.get(`${path}page=${ids.length + 1}&pageSize=1`);
  expect(beyond.body[rows]).toEqual([]);

  const walked: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { body } = await client.get(`${path}limit=1${cursor && `&cursor=${cursor}`}`);
    walked.push(...idsOf(name, body));
    cursor = body.nextCursor;
  }
  expect(walked).toEqual(ids);
}

async function idsIn(who: TestUser, tenant: TestTenant, name: string): Promise<string[]> {
  const { status, body } = await send(who, tenant, name);
  expect(status).toBe(200);
  expect(body.totalCount).toBe(body[listOf(name).rows].length);
  return idsOf(name, body);
}

function idsOf(name: string, body: Record<string, Record<string, string>[]>): string[] {
  const { rows, id } = listOf(name);
  return (body[rows] ?? []).map((row) => row[id] ?? '');
}

function listOf(name: string): List {
  const list = lists[name];
  if (!list) throw new Error(`There is no list "${name}"`);
  return list;
}

/** A row, and the object that rules name it by: for runs, their batches and their asks the workflow. */
async function make(tenant: TestTenant, { made, permission }: Pick<List, 'made' | 'permission'>) {
  const id = await paramFixture(made)(cluster, tenant);
  const [type] = splitPermission(permission);
  return { id, object: `${type}:${await workflowOf(made, id)}` };
}

async function workflowOf(made: string, id: string): Promise<string> {
  const sql: Record<string, string> = {
    instanceID: 'select workflow_id as id from workflow_instance where id = $1',
    batchID: 'select workflow_id as id from run_batch where id = $1',
    deliveryID: 'select workflow_id as id from run_delivery where id = $1',
    collectionRequestID: `select i.workflow_id as id from workflow_instance i
                          join collection_request r on r.instance_id = i.id where r.id = $1`,
  };
  if (!sql[made]) return id;
  const { rows } = await cluster.pool.query<{ id: string }>(sql[made], [id]);
  return rows[0]?.id ?? '';
}

function ruleOf(object: string, permission: Permission) {
  return { object, action: splitPermission(permission)[1] };
}

/** The permission that opens the route. */
function listingOf(name: string): Permission {
  const route = routes.find((candidate) => nameOf(candidate) === name);
  if (route?.realm !== 'tenant' || !route.permission) throw new Error(`"${name}" has no permission`);
  return route.permission;
}

function nameOf({ method, path }: Pick<Route, 'method' | 'path'>): string {
  return `${method} ${path.replace('/api/v1/tenants/:tenantID', 'T')}`;
}

function clientOf(who: TestUser, tenant: TestTenant): Client {
  return cluster.as(who).in(tenant);
}

function send(who: TestUser, tenant: TestTenant, name: string, id = '') {
  const [method = '', path = ''] = name.split(' ');
  const body =
    method === 'post'
      ? bodyFixture({ name: name.replace('T', '/api/v1/tenants/:tenantID'), takes: () => true })
      : undefined;
  const query = queryFixture(name.replace('T', '/api/v1/tenants/:tenantID'));
  return clientOf(who, tenant).request(method, path.replace(/:\w+/, id) + query, body);
}
