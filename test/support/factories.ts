import { argon2Sync, hash, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { createAsset } from '#api/assets/assets.ts';
import { createKey } from '#api/auth/api-key.ts';
import type { ApiContext } from '#api/context/context.ts';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules, type RuleSpec } from '#shared/access/policy/change.ts';
import { type Permission, type RolePermission, splitPermission } from '#shared/access/policy/permissions.ts';
import { rulesOfRole } from '#shared/access/policy/roles.ts';
import type { Caller } from '#shared/core/caller.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { sealSecrets } from '#shared/core/schema/secret.ts';
import { findDatasourceType } from '#shared/datasources/types/index.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { ApiKey } from '#shared/entities/tables/api-key.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { ListenerAction } from '#shared/entities/tables/listener-action.ts';
import { Membership } from '#shared/entities/tables/membership.ts';
import { OAuthConnection } from '#shared/entities/tables/oauth-connection.ts';
import { Operator } from '#shared/entities/tables/operator.ts';
import { OperatorSession } from '#shared/entities/tables/operator-session.ts';
import { Role } from '#shared/entities/tables/role.ts';
import { Tenant } from '#shared/entities/tables/tenant.ts';
import { Widget } from '#shared/entities/tables/widget.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { shapeOf } from '#shared/triggers/listeners/endpoint-path.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { testServers } from './environment.ts';
import { graph } from './graphs.ts';

/** The parts of a cluster that factories need. */
interface ApiOwner {
  context: Pick<ApiContext, 'orm' | 'access'>;
}

export interface TestUser {
  id: string;
  email: string;
}

export interface TestTenant {
  id: string;
  /** Its admin. */
  creator: TestUser;
}

export interface TestWorkflow {
  id: string;
  tenantID: string;
  versionID: string;
}

let users = 0;

export async function aUser(api: ApiOwner, { email }: { email?: string } = {}): Promise<TestUser> {
  users += 1;
  const user = { email: email ?? `user-${users}-${newID()}@example.test` };
  const {
    access: { authenticator, devIssuer },
  } = api.context;
  const { token } = (await devIssuer?.issue(user.email)) ?? {};
  const { userID } = await authenticator.identifyToken(token);
  return { ...user, id: userID };
}

export async function aTenant(
  api: ApiOwner,
  more: { creator?: TestUser; tenantTitle?: string } = {},
): Promise<TestTenant> {
  const creator = more.creator ?? (await aUser(api));
  const id = newID();
  const em = tenantEntityManager(api.context.orm.em, id);
  em.create(Tenant, { id, tenantTitle: more.tenantTitle ?? 'A tenant', creatorID: creator.id });
  await em.flush();
  em.create(Membership, { tenantID: id, userID: creator.id, role: 'ADMIN' });
  await changeRules(em, id, { add: [{ subject: creator.id, object: '*', action: '*' }] });
  return { id, creator };
}

interface MemberOptions {
  tenant?: { id: string };
  user?: TestUser;
  /** On everything of their type. */
  can?: readonly Permission[];
  /** On these objects only. */
  rules?: readonly Omit<Extract<RuleSpec, { object: string }>, 'subject'>[];
}

export async function aMember(
  api: ApiOwner,
  { tenant, user, can = [], rules = [] }: MemberOptions = {},
): Promise<TestUser> {
  const member = user ?? (await aUser(api));
  const { id: tenantID } = tenant ?? (await aTenant(api));
  const em = tenantEntityManager(api.context.orm.em, tenantID);
  em.create(Membership, { tenantID, userID: member.id, role: 'MEMBER' });
  await em.flush();
  const granted = can.map((permission) => {
    const [type, action] = splitPermission(permission);
    return { object: `${type}:*`, action };
  });
  await changeRules(em, tenantID, { add: [...granted, ...rules].map((rule) => ({ ...rule, subject: member.id })) });
  return member;
}

interface RoleSettings {
  /** Null: of the whole deployment. */
  tenant: TestTenant | null;
  can?: readonly RolePermission[];
  roleName?: string;
}

export async function aRole(
  api: ApiOwner,
  { tenant, can = [], roleName = 'A role' }: RoleSettings,
): Promise<{ id: string }> {
  const em = tenantEntityManager(api.context.orm.em, tenant?.id ?? newID());
  const content = { id: newID(), permissions: [...can], assetPermissions: [] };
  const creatorID = tenant?.creator.id ?? null;
  em.create(Role, { ...content, roleName, tenantID: tenant?.id ?? null, creatorID });
  await em.flush();
  if (tenant) await changeRules(em, tenant.id, { add: rulesOfRole(content) });
  return { id: content.id };
}

interface WorkflowSettings {
  tenant?: TestTenant;
  creator?: TestUser;
  title?: string;
  nodes?: object[];
  edges?: object[];
  options?: z.input<typeof WorkflowOptions>;
}

export async function aWorkflow(api: ApiOwner, settings: WorkflowSettings = {}): Promise<TestWorkflow> {
  const tenant = settings.tenant ?? (await aTenant(api));
  const creator = settings.creator ?? tenant.creator;
  const em = tenantEntityManager(api.context.orm.em, tenant.id);
  const { nodes, edges } = settings.nodes ? { nodes: settings.nodes, edges: settings.edges ?? [] } : chain();
  const options = WorkflowOptions.parse(settings.options ?? {}) as JsonObject;
  const [id, versionID] = [newID(), newID()];
  em.create(WorkflowVersion, {
    id: versionID,
    tenantID: tenant.id,
    workflowID: id,
    nodes: nodes as JsonObject[],
    edges: edges as JsonObject[],
    options,
  });
  const caller = { type: 'user', id: creator.id, userID: creator.id, origin: 'direct' } as const;
  const title = settings.title ?? 'A workflow';
  await createAsset(em, caller, 'workflow', Workflow, { id, title, workflowOptions: options, versionID });
  return { id, tenantID: tenant.id, versionID };
}

export interface TestDatasource {
  id: string;
  /** Default: postgresql. */
  type?: string;
}

type SealingApiOwner = ApiOwner & { context: Pick<ApiContext, 'secrets'> };

/** The tests' own server of datasources, unless something else is asked for. */
export async function aDatasource(
  api: SealingApiOwner,
  settings: { tenant: TestTenant; title?: string; type?: string; options?: JsonObject },
): Promise<TestDatasource> {
  const { tenant, title = 'A datasource', type = 'postgresql' } = settings;
  const options = settings.options ?? {
    connectionOption: 'connectionString',
    connectionString: testServers.datasourceURL,
  };
  const id = newID();
  const definition = findDatasourceType(type);
  if (!definition) throw new Error(`There is no datasource type "${type}"`);
  const seal = { secrets: api.context.secrets, context: sealedColumns.datasourceOptions.context(id) };
  const em = tenantEntityManager(api.context.orm.em, tenant.id);
  await createAsset(em, callerOf(tenant.creator), 'datasource', Datasource, {
    id,
    datasourceTitle: title,
    datasourceType: type,
    datasourceOptions: sealSecrets(definition.options, options, seal),
    datasourceTags: [],
  });
  return { id, type };
}

interface WidgetSettings {
  tenant: TestTenant;
  title?: string;
  type?: string;
  config?: JsonObject;
  refreshInterval?: number;
}

export async function aWidget(api: ApiOwner, settings: WidgetSettings): Promise<{ id: string }> {
  const { tenant, title = 'A widget', type = 'table', config = {}, refreshInterval = 0 } = settings;
  const em = tenantEntityManager(api.context.orm.em, tenant.id);
  return await createAsset(em, callerOf(tenant.creator), 'widget', Widget, {
    id: newID(),
    widgetTitle: title,
    widgetType: type,
    widgetConfig: config,
    refreshInterval,
  });
}

interface DataQuerySettings {
  tenant: TestTenant;
  datasource?: TestDatasource;
  title?: string;
  /** SQL, or all options of the query. */
  query?: string | JsonObject;
  isDisabled?: boolean;
}

export async function aDataQuery(api: SealingApiOwner, settings: DataQuerySettings): Promise<{ id: string }> {
  const { tenant, title = 'A data query', query = 'select 1 as n', isDisabled = false } = settings;
  const datasource = settings.datasource ?? (await aDatasource(api, { tenant }));
  const id = newID();
  const em = tenantEntityManager(api.context.orm.em, tenant.id);
  await createAsset(em, callerOf(tenant.creator), 'dataquery', DataQuery, {
    id,
    dataQueryTitle: title,
    dataQueryOptions: typeof query === 'string' ? { query } : query,
    datasourceID: datasource.id,
    datasourceType: datasource.type ?? 'postgresql',
    isDisabled,
  });
  return { id };
}

/** An OAuth connection whose tokens were never requested from a provider. */
interface ListenerSettings {
  tenant: TestTenant;
  creator?: TestUser;
  title?: string;
  /** Options of its datasource, which is of type webhook. */
  options?: JsonObject;
  datasource?: TestDatasource;
  config?: JsonObject;
  endpointPath?: string;
  status?: 'inactive' | 'active';
  actions?: readonly { actionType: string; actionConfig: JsonObject }[];
}

/** A listener of its datasource; without one a webhook without authentication. Active unless the test says otherwise. */
export async function aListener(api: SealingApiOwner, settings: ListenerSettings): Promise<{ id: string }> {
  const { tenant, creator = tenant.creator, title = 'A listener', config = {}, endpointPath = null } = settings;
  const { status = 'active', options = {}, actions = [] } = settings;
  const datasource = settings.datasource ?? (await aDatasource(api, { tenant, type: 'webhook', options }));
  const id = newID();
  const em = tenantEntityManager(api.context.orm.em, tenant.id);
  await createAsset(em, callerOf(creator), 'listener', Listener, {
    id,
    listenerTitle: title,
    listenerType: datasource.type ?? 'webhook',
    datasourceID: datasource.id,
    listenerConfig: config,
    status,
    endpointPath,
    endpointShape: endpointPath === null ? null : shapeOf(endpointPath),
  });
  for (const [orderIndex, action] of actions.entries())
    em.create(ListenerAction, { ...action, id: newID(), tenantID: tenant.id, listenerID: id, orderIndex });
  await em.flush();
  return { id };
}

export async function anOAuthConnection(
  api: SealingApiOwner,
  { tenant }: { tenant: TestTenant },
): Promise<{ id: string }> {
  const id = newID();
  const tokens = JSON.stringify({ accessToken: 'an access token', refreshToken: null });
  const em = tenantEntityManager(api.context.orm.em, tenant.id);
  return await createAsset(em, callerOf(tenant.creator), 'datasource', OAuthConnection, {
    id,
    provider: 'acme',
    scopes: [],
    tokens: api.context.secrets.seal(tokens, sealedColumns.oauthTokens.context(id)),
  });
}

function callerOf({ id }: TestUser): Caller {
  return { type: 'user', id, userID: id, origin: 'direct' };
}

export interface TestKey {
  id: string;
  key: string;
}

export async function anApiKey(
  api: ApiOwner,
  settings: { tenant: TestTenant; creator?: TestUser; can?: readonly Permission[]; expiresAt?: Date },
): Promise<TestKey> {
  const { tenant, creator = tenant.creator, can = [], expiresAt } = settings;
  const { key, prefix, hash } = createKey();
  const em = tenantEntityManager(api.context.orm.em, tenant.id);
  const caller = { type: 'user', id: creator.id, userID: creator.id, origin: 'direct' } as const;
  const data = { apiKeyName: 'A key', prefix, hash, permissions: [...can], expiresAt };
  const { id } = await createAsset(em, caller, 'apikey', ApiKey, data);
  const add = can.map((permission) => {
    const [type, action] = splitPermission(permission);
    return { subject: id, object: `${type}:*`, action };
  });
  await changeRules(em, tenant.id, { add });
  return { id, key };
}

export interface TestOperator {
  id: string;
  email: string;
  password: string;
  /** Token of an open session. */
  token: string;
}

/** Argon2id with 1 MiB instead of 46: a wrong password is refused at once, and the first login replaces it. */
function weakHashOf(password: string): string {
  const nonce = randomBytes(16);
  const cost = { memory: 1024, passes: 1, parallelism: 1, tagLength: 32 };
  const made = argon2Sync('argon2id', { message: Buffer.from(password), nonce, ...cost });
  const [saltText, hashText] = [nonce, made].map((bytes) => bytes.toString('base64').replaceAll('=', ''));
  return `$argon2id$v=19$m=1024,t=1,p=1$${saltText}$${hashText}`;
}

/** A signed-in operator. */
export async function anOperator(
  api: { context: Pick<ApiContext, 'orm'> },
  settings: { email?: string; password?: string; isDisabled?: boolean; session?: Partial<OperatorSession> } = {},
): Promise<TestOperator> {
  const id = newID();
  const { email = `operator-${id}@example.test`, password = 'correct horse battery', isDisabled = false } = settings;
  const token = randomBytes(32).toString('hex');
  const em = api.context.orm.em.fork();
  const passwordHash = weakHashOf(password);
  em.create(Operator, { id, email, operatorTitle: 'On call', passwordHash, isDisabled });
  await em.flush();
  em.create(OperatorSession, {
    operatorID: id,
    tokenHash: hash('sha256', token, 'buffer'),
    ipAddress: '192.0.2.1',
    network: '192.0.2.1',
    expiresAt: new Date(Date.now() + 3_600_000),
    ...settings.session,
  });
  await em.flush();
  return { id, email, password, token };
}

interface Step {
  type: string;
  branches?: { id: string }[];
  [field: string]: unknown;
}

/** start → the given nodes, one after the other, by their first exit → end, which answers with `outputs`. */
export function chain(steps: Record<string, Step> = {}, outputs: JsonObject = {}) {
  const outputParameters = Object.entries(outputs).map(([name, sourceVariable]) => ({ name, sourceVariable }));
  const nodes: Record<string, Step> = { start: { type: 'start' }, ...steps, end: { type: 'end', outputParameters } };
  const ids = Object.keys(nodes);
  const leaving = (id: string | undefined) => {
    const exit = nodes[id ?? '']?.branches?.[0]?.id;
    return exit ? `${id}:${exit}` : id;
  };
  return graph(
    nodes,
    ids.slice(1).map((id, index) => `${leaving(ids[index])}>${id}`),
  );
}
