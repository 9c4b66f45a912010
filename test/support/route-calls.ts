import type { Access } from '#api/http/route/input.ts';
import type { Route } from '#api/http/route/route.ts';
import type { QueueName } from '#shared/messaging/queues/index.ts';
import type { Answer, Client } from './client.ts';
import type { Cluster } from './cluster.ts';
import { anOperator, type TestTenant } from './factories.ts';
import { bodyFixture, fileFixture, paramFixture, paramsInBody, paramsInQuery, queryFixture } from './route-fixtures.ts';

/** The queues whose answers routes wait for, for clusters in which every route is called. */
export const queuesOfRoutes = [
  'datasource.tests',
  'datasource.metadata',
  'query.runs',
  'tenant.database',
  'workflow.plans',
  'widget.data',
  'ai.calls',
] as const satisfies readonly QueueName[];

/** Method and path, by which tests know a route. */
export function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

export function paramsOf({ path }: Route): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

/** An asset of the tenant for each parameter of the path and of the body. */
export async function makeParams(cluster: Cluster, route: Route, tenant: TestTenant): Promise<Record<string, string>> {
  const made: Record<string, string> = {};
  const names = new Set([...paramsOf(route), ...paramsInBody(nameOf(route)), ...paramsInQuery(nameOf(route))]);
  for (const name of names) made[name] = await paramFixture(name)(cluster, tenant);
  return made;
}

/** A caller with every permission in the route's realm. */
export async function permittedClient(cluster: Cluster, { realm }: Route, { creator }: TestTenant): Promise<Client> {
  return realm === 'operator' ? cluster.asOperator(await anOperator(cluster)) : cluster.as(creator);
}

export interface RouteRequest {
  body?: unknown;
  /** Parameters beside those that the route needs, e.g. `page=1`. */
  query?: string;
  headers?: Record<string, string>;
}

/** With a body that the route accepts, unless one is given. */
export function callRoute(
  client: Client,
  route: Route,
  params: Record<string, string>,
  { body, query = '', headers }: RouteRequest = {},
): Promise<Answer> {
  const path = route.path.replace(/:(\w+)/g, (_match, name: string) => encodeURIComponent(params[name] ?? ''));
  const parameters = [queryFixture(nameOf(route), params).slice(1), query].filter(Boolean).join('&');
  const address = parameters ? `${path}?${parameters}` : path;
  return client.request(route.method, address, body ?? bodyOf(route, params), headers);
}

/** Permissions that a request with these parameters needs; empty outside of tenants. */
export function accessOf(route: Route, given: Record<string, string>): readonly Access[] {
  if (route.realm !== 'tenant') return [];
  const params = route.params?.parse(given) as never;
  const query = route.query?.parse(Object.fromEntries(queriesOf(route, given))) as never;
  const body = route.body?.parse(bodyOf(route, given)) as never;
  return route.access({ params, query, body });
}

/** The parameters of the query that the route requires. */
export function queriesOf(route: Route, params: Record<string, string>): URLSearchParams {
  return new URLSearchParams(queryFixture(nameOf(route), params));
}

export function bodyOf(route: Route, params: Record<string, string>): unknown {
  if (route.upload) return fileFixture(nameOf(route));
  const { body } = route;
  return body && bodyFixture({ name: nameOf(route), takes: (candidate) => body.safeParse(candidate).success }, params);
}
