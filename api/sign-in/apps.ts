import { AppError } from '#shared/core/errors.ts';
import type { Pool } from '#shared/db/pool.ts';

/**
 * Apps: clients of MCP that have registered themselves, and may act for a user over the MCP service of one tenant once that user has
 * agreed. What a user has agreed to is a grant of the provider; its tokens end with it.
 */

/** A grant ends this long after the user has agreed; then the app asks again. */
export const GRANT_SECONDS = 90 * 86_400;
/** A refresh token that is not used for this long ends. */
export const REFRESH_SECONDS = 30 * 86_400;
export const APP_TOKEN_SECONDS = 3_600;
/** An app that no user has connected is forgotten after this time. */
export const UNUSED_SECONDS = 86_400;
/** More of them than this are not kept: the oldest go first. */
const MAX_UNUSED = 1_000;
/** Apps of one account. */
const MAX_CONNECTED = 50;

const PATH = /^\/tenants\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/mcp$/i;

/** The tenant whose MCP service an address names, if it is one of this deployment; its `?tools=` does not matter. */
export function tenantOfResource(mcpURL: string | undefined, resource: string): string | undefined {
  if (mcpURL === undefined || !URL.canParse(resource)) return undefined;
  const { href, search, hash, username, password } = new URL(resource);
  if (hash || username || password) return undefined;
  const base = new URL(mcpURL).href.replace(/\/$/, '');
  const address = href.slice(0, href.length - search.length);
  return address.startsWith(`${base}/`) ? PATH.exec(address.slice(base.length))?.[1]?.toLowerCase() : undefined;
}

export function resourceOf(mcpURL: string, tenantID: string): string {
  return `${new URL(mcpURL).href.replace(/\/$/, '')}/tenants/${tenantID}/mcp`;
}

/** An app that acts for a user, by an access token of it. */
export interface AppCall {
  accountID: string;
  email: string;
  clientID: string;
  name: string;
  scopes: ReadonlySet<string>;
  /** The address of the MCP service for which the token is good. */
  resource: string;
  grantID: string;
  /** Whether its last use is less than a minute old. */
  isUseNoted: boolean;
}

/** Reads the grant with every call, so that an app that was disconnected is refused from its next request on. */
export async function findAppCall(pool: Pool, token: string): Promise<AppCall | undefined> {
  const { rows } = await pool.query<Omit<AppCall, 'scopes'> & { scope: string }>({
    name: 'app_call',
    text: APP_CALL,
    values: [token],
  });
  const [row] = rows;
  if (!row) return undefined;
  const { scope, ...call } = row;
  return { ...call, scopes: new Set(scope.split(' ')) };
}

/** Counts for the cap of an account. */
export async function requireRoomForApp(pool: Pool, accountID: string): Promise<void> {
  const { rows } = await pool.query<{ apps: number }>(
    `select count(*)::int as apps from sign_in_record
     where account_id = $1 and kind = 'Grant' and resource is not null and expires_at > now()`,
    [accountID],
  );
  if ((rows[0]?.apps ?? 0) >= MAX_CONNECTED)
    throw new AppError('VALIDATION_ERROR', `You have ${MAX_CONNECTED} connected apps. Disconnect one of them first`);
}

/** An app to which a user has agreed is kept as long as the grant. */
export async function keepClient(pool: Pool, clientID: string): Promise<void> {
  await pool.query(
    `update sign_in_record set consumed_at = coalesce(consumed_at, now()), expires_at = now() + make_interval(secs => $2)
     where kind = 'Client' and id = ${digestOf('$1')}`,
    [clientID, GRANT_SECONDS + 86_400],
  );
}

export async function forgetUnusedClients(pool: Pool): Promise<void> {
  await pool.query(
    `delete from sign_in_record where kind = 'Client' and id in (
       select id from sign_in_record where kind = 'Client' and consumed_at is null order by created_at desc offset $1)`,
    [MAX_UNUSED],
  );
}

export async function noteAppUse(pool: Pool, grantIDs: readonly string[]): Promise<void> {
  await pool.query(
    `update sign_in_record set last_used_at = now()
     where kind = 'Grant' and id in (select ${digestOf('grant_id')} from unnest($1::text[]) grant_id)`,
    [grantIDs],
  );
}

/** A connected app as its user sees it. */
export interface ShownApp {
  /** Names the grant, and opens nothing. */
  id: string;
  name: string;
  redirectURIs: readonly string[];
  tenantTitle: string | null;
  resource: string;
  scope: string;
  createdAt: Date;
  lastUsedAt: Date | null;
}

export async function listApps(pool: Pool, accountID: string): Promise<ShownApp[]> {
  const { rows } = await pool.query<ShownApp>(LIST, [accountID, MAX_CONNECTED * 2]);
  return rows;
}

/** Ends a grant with all its tokens; false if the account has no such app. */
export async function disconnectApp(pool: Pool, accountID: string, id: string): Promise<boolean> {
  const { rows } = await pool.query<{ grants: number }>(
    `with gone as (
       delete from sign_in_record where kind = 'Grant' and account_id = $1 and resource is not null and encode(id, 'hex') = $2
       returning id
     ), tokens as (
       delete from sign_in_record r using gone
       where r.account_id = $1 and r.grant_id is not null and ${digestOf('r.grant_id')} = gone.id)
     select count(*)::int as grants from gone`,
    [accountID, id],
  );
  return (rows[0]?.grants ?? 0) > 0;
}

/** Ids are stored as SHA-256. */
function digestOf(text: string): string {
  return `sha256(convert_to(${text}, 'UTF8'))`;
}

const CLIENT = `join sign_in_record c on c.kind = 'Client' and c.id = ${digestOf("g.payload::json ->> 'clientId'")}`;
const NAME = `coalesce(c.payload::json ->> 'client_name', 'An app without a name')`;

const APP_CALL = `
select t.account_id as "accountID", a.email, g.payload::json ->> 'clientId' as "clientID", ${NAME} as name,
  coalesce(t.payload::json ->> 'scope', '') as scope, t.resource, t.grant_id as "grantID",
  coalesce(g.last_used_at > now() - interval '1 minute', false) as "isUseNoted"
from sign_in_record t
join sign_in_record g on g.kind = 'Grant' and g.id = ${digestOf('t.grant_id')} and g.expires_at > now()
  and g.account_id = t.account_id
${CLIENT}
join sign_in_account a on a.id = t.account_id and not a.is_disabled
where t.kind = 'AccessToken' and t.id = ${digestOf('$1::text')} and t.expires_at > now() and t.resource is not null`;

const LIST = `
select encode(g.id, 'hex') as id, ${NAME} as name, c.payload::json -> 'redirect_uris' as "redirectURIs",
  t.tenant_title as "tenantTitle", g.resource, coalesce(g.payload::json -> 'resources' ->> g.resource, '') as scope,
  g.created_at as "createdAt", g.last_used_at as "lastUsedAt"
from sign_in_record g
${CLIENT}
left join tenant t on t.id = substring(lower(g.resource) from '/tenants/([0-9a-f-]{36})/mcp')::uuid
where g.kind = 'Grant' and g.account_id = $1 and g.resource is not null and g.expires_at > now()
order by g.created_at desc limit $2`;
