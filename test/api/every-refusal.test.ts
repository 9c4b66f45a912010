import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { routes } from '#api/app/routes.ts';
import type { Access } from '#api/http/route/input.ts';
import { OPERATOR_PREFIX, type Route } from '#api/http/route/route.ts';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { splitPermission } from '#shared/access/policy/permissions.ts';
import { newID } from '#shared/core/ids.ts';
import { type AIProviderServer, startAIProvider } from '../servers/ai-provider.ts';
import { type Answer, type Client, lenient } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import {
  aMember,
  anApiKey,
  anOperator,
  aTenant,
  aUser,
  type TestKey,
  type TestOperator,
  type TestTenant,
  type TestUser,
} from '../support/factories.ts';
import {
  accessOf,
  bodyOf,
  callRoute,
  makeParams,
  nameOf,
  paramsOf,
  permittedClient,
  queuesOfRoutes,
  type RouteRequest,
} from '../support/route-calls.ts';
import { loginFixture, malformedFixture } from '../support/route-fixtures.ts';
import { sample } from '../support/sample.ts';

/** Refusals of every endpoint, also of a new one: the cases are derived from the table of routes. Its responses are in every-route.test.ts. */
let cluster: Cluster;
let provider: AIProviderServer;
let tenant: TestTenant;
let elsewhere: TestTenant;
/** Changed by requests with unknown fields. */
let changing: TestTenant;
let stranger: TestUser;
/** A member without permissions. */
let bystander: TestUser;
/** A member with all permissions, blocked since. */
let blocked: TestUser;
let expiredToken: string;
/** Keys with all permissions, except the last. */
let keys: Record<'disabled' | 'expired' | 'free' | 'ofAnother' | 'powerless', TestKey>;
let operators: Record<'expired' | 'revoked' | 'disabled', TestOperator>;

beforeAll(async () => {
  provider = await startAIProvider();
  cluster = await startCluster({
    settings: provider.settings,
    workers: queuesOfRoutes,
  });
  [tenant, elsewhere, changing] = [await aTenant(cluster), await aTenant(cluster), await aTenant(cluster)];
  [stranger, bystander] = [await aUser(cluster), await aMember(cluster, { tenant })];
  blocked = await aMember(cluster, { tenant, rules: everything });
  expect((await cluster.as(blocked).get('/api/v1/auth')).status).toBe(200);
  await cluster.pool.query('update app_user set is_disabled = true where id = $1', [blocked.id]);
  expiredToken = await anExpiredToken(tenant.creator);
  const past = new Date(Date.now() - 60_000);
  keys = {
    disabled: await aKeyWith(everything),
    expired: await aKeyWith(everything, { tenant, expiresAt: past }),
    free: await aKeyWith(everything),
    ofAnother: await aKeyWith(everything, { tenant: elsewhere }),
    powerless: await anApiKey(cluster, { tenant }),
  };
  await cluster.pool.query('update api_key set is_disabled = true where id = $1', [keys.disabled.id]);
  await anOperator(cluster, loginFixture);
  operators = {
    expired: await anOperator(cluster, { session: { expiresAt: past } }),
    revoked: await anOperator(cluster, { session: { revokedAt: new Date() } }),
    disabled: await anOperator(cluster, { isDisabled: true }),
  };
});

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

/** Takes any body and any query: senders decide what they send. */
const takesAnything = (route: Route) => route.path.startsWith('/webhooks/v1/inbound/');

describe.each(drawn('unknown fields', (route) => route.status !== 302 && !route.produces && !takesAnything(route)))(
  '%s',
  (_name, route) => {
    test('names unknown fields in the answer, or rejects them with strict handling', async () => {
      const own = await tenantToChange(route);
      const who = await permittedClient(cluster, route, own);
      const params = await makeParams(cluster, route, own);
      const right = bodyOf(route, params);
      const isObject = typeof right === 'object' && !Array.isArray(right) && !(right instanceof FormData);
      const wrong = { body: isObject ? { ...right, unexpected: 1 } : right, query: 'unasked=1' };
      const paths = [['unasked'], ...(isObject ? [['unexpected']] : [])];

      const refused = await sendTo(who, route, params, wrong);
      expect(refused).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      expect(refused.body.error.details.issues.map(({ path }: { path: string[] }) => path)).toEqual(paths);
      const isUpdate = route.method === 'patch' || route.method === 'put';
      if (isUpdate) {
        const nothing = await sendTo(who, route, params, { body: { unexpected: 1 }, headers: lenient });
        expect(nothing).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      }
      // An empty update has no known field beside which an unknown one could be ignored.
      const isOfNothing = isUpdate && isObject && Object.keys(right ?? {}).length === 0;
      const body = isOfNothing ? right : wrong.body;
      const answer = await sendTo(who, route, params, { ...wrong, body, headers: lenient });
      expect(answer).toMatchObject({ status: route.status ?? 200, body: { success: true } });
      const named = isOfNothing ? [['unasked']] : paths;
      expect(answer.body.unknownFields).toEqual(named.map((path) => ({ path, message: 'not known here' })));
    });
  },
);

describe.each(drawn('no token', (route) => route.realm !== 'public'))('%s', (_name, route) => {
  test('needs a token', async () => {
    for (const body of badBodies(route)) {
      const answer = await send(undefined, route, await fixtures(route, tenant), body);
      expect(answer).toMatchObject({ status: 401, body: { error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } } });
    }
  });
});

describe.each(drawn('malformed id', (route) => route.realm !== 'public' && paramsOf(route).length > 0))(
  '%s',
  (_name, route) => {
    test('refuses a malformed id', async () => {
      for (const name of paramsOf(route)) {
        const params = { ...(await fixtures(route, tenant)), [name]: malformedFixture(name) };
        const answer = await send(await permittedClient(cluster, route, tenant), route, params);
        expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      }
    });
  },
);

describe.each(drawn('stranger', (route) => route.realm === 'tenant'))('%s', (_name, route) => {
  test('answers a stranger as if the tenant did not exist, with any body', async () => {
    const there = await fixtures(route, tenant);
    const answers = [];
    for (const [params, body] of withBodies([there, { ...there, tenantID: newID() }], route))
      answers.push(await send(stranger, route, params, body));

    for (const answer of answers) expectDenied(answer);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  test('refuses a member without the permission, whether or not the object exists', async ({ skip }) => {
    if (isForMembers(route)) skip('every member may ask, without a permission');
    expectDenied(await send(bystander, route, await fixtures(route, tenant)));
    expectDenied(await send(bystander, route, unknown(route)));
  });
});

describe.each(drawn('expired token', (route) => route.realm === 'tenant' || route.realm === 'user'))(
  '%s',
  (_name, route) => {
    test('refuses an expired token and a blocked user, with any body', async () => {
      const params = await fixtures(route, tenant);
      const callers = [blocked, cluster.asOperator({ token: expiredToken })];
      for (const [who, body] of withBodies(callers, route)) {
        const code = who === blocked ? 'USER_AUTH_TOKEN_NOT_FOUND' : 'USER_AUTH_TOKEN_EXPIRED';
        expect(await send(who, route, params, body)).toMatchObject({ status: 401, body: { error: { code } } });
      }
    });
  },
);

describe.each(drawn('wrong key', (route) => route.realm === 'tenant'))('%s', (_name, route) => {
  test('refuses an unknown, disabled or expired API key, with any body', async () => {
    const params = await fixtures(route, tenant);

    const wrong = [{ key: '0'.repeat(64) }, { key: 'no key' }, keys.disabled, keys.expired];
    for (const [key, body] of withBodies(wrong, route)) {
      const answer = await send(cluster.withKey(key), route, params, body);
      expect(answer).toMatchObject({ status: 401, body: { error: { code: 'INVALID_API_KEY' } } });
    }
  });
});

describe.each(drawn('key of another tenant', (route) => route.realm === 'tenant'))('%s', (_name, route) => {
  test('answers an API key of another tenant as a stranger, and refuses a key without the permission', async () => {
    const params = await fixtures(route, tenant);

    for (const key of isForMembers(route) ? [keys.ofAnother] : [keys.ofAnother, keys.powerless])
      expectDenied(await send(cluster.withKey(key), route, params));
  });

  test('refuses a caller when a deny rule overrides what other rules allow', async () => {
    const params = await fixtures(route, tenant);
    for (const { permission, object } of accessOf(route, params)) {
      const [, action] = splitPermission(permission);
      const rules = [...everything, { object, action, effect: 'deny' as const }];
      expectDenied(await send(await aMember(cluster, { tenant, rules }), route, params));
      const strict = await aKeyWith(rules);
      // The ids name nothing, so that nothing is changed.
      if (idsOf(route).length > 0)
        expect((await send(cluster.withKey(keys.free), route, unknown(route))).status).not.toBe(403);
      expectDenied(await send(cluster.withKey(strict), route, params));
    }
  });
});

describe.each(drawn('key for a user', (route) => route.realm === 'user'))('%s', (_name, route) => {
  test('refuses API keys: it is for users only', async () => {
    const key = await anApiKey(cluster, { tenant });
    const answer = await send(cluster.withKey(key), route, await fixtures(route, tenant));
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } } });
  });
});

describe.each(drawn('operator', (route) => route.realm === 'tenant' || route.realm === 'user'))(
  '%s',
  (_name, route) => {
    test('refuses operators', async () => {
      const { token } = await anOperator(cluster);
      const params = await fixtures(route, tenant);

      const asUser = await send(cluster.asOperator({ token }), route, params);
      expect(asUser).toMatchObject({ status: 401, body: { error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } } });
      const asKey = await send(cluster.withKey({ key: token }), route, params);
      expect(asKey).toMatchObject({ status: 401, body: { error: { code: 'INVALID_API_KEY' } } });
    });
  },
);

test('routes of operators are below their path', () => {
  const elsewhere = routes.filter(({ realm, path }) => realm === 'operator' && !path.startsWith(`${OPERATOR_PREFIX}/`));
  expect(elsewhere.map(nameOf)).toEqual([]);
});

describe.each(drawn('not an operator', (route) => route.realm === 'operator'))('%s', (_name, route) => {
  test('refuses users and API keys, with any body: it is for operators only', async () => {
    const key = await anApiKey(cluster, { tenant });
    const params = await fixtures(route, tenant);
    const callers = [tenant.creator, cluster.withKey(key), cluster.asOperator({ token: key.key })];
    for (const [who, body] of withBodies(callers, route)) {
      const answer = await send(who, route, params, body);
      expect(answer).toMatchObject({ status: 401, body: { error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } } });
    }
  });

  test('refuses an unknown, expired or revoked session and a disabled operator, with any body', async () => {
    const unknown = { token: '0'.repeat(64) };
    const params = await fixtures(route, tenant);
    const callers = [unknown, { token: 'no-session' }, ...Object.values(operators)];
    for (const [operator, body] of withBodies(callers, route)) {
      const answer = await send(cluster.asOperator(operator), route, params, body);
      const code = operator === operators.expired ? 'USER_AUTH_TOKEN_EXPIRED' : 'USER_AUTH_TOKEN_NOT_FOUND';
      expect(answer).toMatchObject({ status: 401, body: { error: { code } } });
    }
  });

  test('records each change and its outcome in the audit log', async () => {
    if (route.method === 'get') return;
    const operator = await anOperator(cluster);
    const { status } = await send(cluster.asOperator(operator), route, await makeParams(cluster, route, tenant));

    const entries = () => cluster.pool.query('select * from operator_audit where operator_id = $1', [operator.id]);
    await expect
      .poll(async () => (await entries()).rows)
      .toMatchObject([{ method: route.method.toUpperCase(), status }]);
  });
});

const chatStream = '/api/v1/tenants/:tenantID/ai/chat/stream/:chatID/stream';

/** A chat in which nothing is being written is an answer: `useChat` asks when it begins, and stops what may have ended. */
const answeringNothing: Record<string, object> = {
  [`get ${chatStream}`]: { status: 204, body: '' },
  [`delete ${chatStream}`]: { status: 200, body: { stopped: false } },
};

/** Entries that a tenant has published are for all tenants. */
const ofDeployment = [
  'post /api/v1/tenants/:tenantID/widget-library/:libraryEntryID/preview',
  'post /api/v1/tenants/:tenantID/widget-library/:libraryEntryID/install',
];

describe.each(drawn('other object', (route) => route.realm === 'tenant' && idsOf(route).length > 0))(
  '%s',
  (_name, route) => {
    test('refuses a caller who has the permission on another object, whether or not the named one exists', async () => {
      const there = await fixtures(route, tenant);
      const rules = accessOf(route, there).map(onSomethingElse);
      const member = await aMember(cluster, { tenant, rules });

      expectDenied(await send(member, route, there));
      expectDenied(await send(member, route, unknown(route)));
    });

    test('finds nothing by ids of another tenant, nor by unknown ids', async () => {
      const theirs = { ...(await fixtures(route, elsewhere)), tenantID: tenant.id };

      for (const params of ofDeployment.includes(nameOf(route)) ? [unknown(route)] : [theirs, unknown(route)]) {
        const answer = await send(tenant.creator, route, params);
        const notFound = { status: 404, body: { error: { code: 'NOT_FOUND' } } };
        expect(answer).toMatchObject(answeringNothing[nameOf(route)] ?? notFound);
      }
    });
  },
);

/** Tokens signed by the cluster's issuer, expired an hour and a day ago. */
async function anExpiredToken({ email }: TestUser): Promise<string> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 25 * 3_600_000 });
  try {
    const issued = await cluster.context.access.devIssuer?.issue(email);
    return issued?.token ?? '';
  } finally {
    vi.useRealTimers();
  }
}

interface Rule {
  object: string;
  action: string;
  effect?: 'deny';
}

const everything: readonly Rule[] = [{ object: '*', action: '*' }];

/** A key of the admin, with rules of its own. */
async function aKeyWith(
  rules: readonly Rule[],
  settings: { tenant: TestTenant; expiresAt?: Date } = { tenant },
): Promise<TestKey> {
  const key = await anApiKey(cluster, settings);
  const { id } = settings.tenant;
  const em = tenantEntityManager(cluster.context.orm.em, id);
  await changeRules(em, id, { add: rules.map((rule) => ({ ...rule, subject: key.id })) });
  return key;
}

/** Listed, so that no other route is without a permission. */
const forMembers = ['permissions/mine', 'search', 'overview'].map((path) => `get /api/v1/tenants/:tenantID/${path}`);

function isForMembers(route: Route): boolean {
  return forMembers.includes(nameOf(route));
}

/** Each refusal is tried on other routes, so that one run meets most routes, and some runs all refusals of each. */
function drawn(refusal: string, isWanted: (route: Route) => boolean): (readonly [string, Route])[] {
  const wanted = routes.filter(isWanted).map((route) => [nameOf(route), route] as const);
  return [...sample(wanted, { name: refusal, oneOf: 20 })];
}

/** Routes on objects of the tenant. Providers belong to the deployment. */
function idsOf(route: Route): string[] {
  return paramsOf(route).filter((name) => name !== 'tenantID' && name !== 'provider');
}

const made = new Map<string, Promise<Record<string, string>>>();

/** Made once for all requests that are refused: they change nothing. */
function fixtures(route: Route, where: TestTenant): Promise<Record<string, string>> {
  const key = `${nameOf(route)} ${where.id}`;
  const known = made.get(key) ?? makeParams(cluster, route, where);
  made.set(key, known);
  return known;
}

/** One for all routes. The route that ends a tenant gets another. */
async function tenantToChange(route: Route): Promise<TestTenant> {
  return nameOf(route) === 'delete /api/v1/tenants/:tenantID' ? aTenant(cluster) : changing;
}

/** Ids that are well formed and name nothing, in the tenant. */
function unknown(route: Route): Record<string, string> {
  const ids = Object.fromEntries(idsOf(route).map((id) => [id, newID()]));
  return { provider: 'unknown', ...ids, tenantID: tenant.id };
}

/** A valid body, one that is not JSON, and an invalid one. */
function badBodies({ method }: Route): unknown[] {
  return method === 'get' ? [undefined] : [undefined, '{"', { wrong: true }];
}

/** Every body with the first of these, and one body, in turn, with each of the others: a body is read only after the caller is known. */
function withBodies<T>(callers: readonly T[], route: Route): [caller: T, body: unknown][] {
  const bodies = badBodies(route);
  return callers.flatMap((caller, nth): [T, unknown][] =>
    nth === 0 ? bodies.map((body) => [caller, body]) : [[caller, bodies[nth % bodies.length]]],
  );
}

/** Sends the given body, or a valid one. */
function send(
  who: TestUser | Client | undefined,
  route: Route,
  params: Record<string, string>,
  given?: unknown,
): Promise<Answer> {
  return sendTo(who, route, params, given === undefined ? {} : { body: given });
}

function sendTo(
  who: TestUser | Client | undefined,
  route: Route,
  params: Record<string, string>,
  request: RouteRequest,
): Promise<Answer> {
  return callRoute(who && 'request' in who ? who : cluster.as(who), route, params, request);
}

function onSomethingElse({ permission, object }: Access) {
  const [type = ''] = object.split(':');
  return { object: `${type}:${newID()}`, action: permission.slice(permission.indexOf('.') + 1) };
}

function expectDenied(answer: Answer): void {
  expect(answer).toMatchObject({ status: 403, body: { success: false, error: { code: 'PERMISSION_DENIED' } } });
}
