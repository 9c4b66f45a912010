import { AppError } from '../core/errors.ts';
import type { Query } from '../db/query.ts';

interface QuotaDefinition {
  /** The owner whose use is counted. */
  readonly owner: 'tenant' | 'user';
  /** The default limit; an operator may set another one for an owner. */
  readonly max: number;
  /** Completes "has at most 1000 …". */
  readonly what: string;
  /** SQL of the owner's use; the owner is `$1`. */
  readonly used: string;
  /** The remedy that the tenant itself has. Default: "delete some". */
  readonly remedy?: string;
  /** `createAsset` requires headroom for each row of this table. */
  readonly table?: string;
}

/** The quota of a tenant's assets of one kind, each of which is a row of `table`. */
function assetsIn(table: string, what: string, max = 1_000): QuotaDefinition {
  return { owner: 'tenant', max, what, table, used: `select count(*) from ${table} where tenant_id = $1` };
}

/** Tokens of ended calls, and those reserved for other calls. Tokens of a worker that has died stay reserved, as it may have used them. */
function aiTokensSince(unit: 'day' | 'month'): string {
  const since = `day >= date_trunc('${unit}', now() at time zone 'utc')::date`;
  return `
select (select coalesce(sum(input_tokens + output_tokens), 0) from ai_usage where tenant_id = $1 and ${since})
  + (select coalesce(sum(reserved_tokens), 0) from ai_call where tenant_id = $1 and ended_at is null and ${since})`;
}

const MB = 1024 ** 2;
const GB = 1024 ** 3;
const FORGOTTEN = 'wait until some are forgotten, or send them with a shorter `rememberMinutes`';
const EXPIRES = 'wait ten minutes, after which they expire';

/** Everything that has a quota. A new kind of asset gets a quota by a line here. The names are part of the contract. */
const definitions = {
  tenants: {
    owner: 'user',
    max: 200,
    what: 'tenants that one user has created',
    used: 'select count(*) from tenant where creator_id = $1 and deleting_at is null',
  },
  workflows: assetsIn('workflow', 'workflows'),
  versionBytes: {
    owner: 'tenant',
    max: 2 * GB,
    what: 'bytes of versions of workflows',
    remedy: 'remove labels from versions that are not needed, so that they are deleted with the last of their runs',
    used: 'select coalesce((select version_bytes from tenant_usage where tenant_id = $1), 0)',
  },
  queries: assetsIn('data_query', 'data queries'),
  datasources: assetsIn('datasource', 'datasources'),
  widgets: assetsIn('widget', 'widgets'),
  libraryEntries: {
    owner: 'tenant',
    max: 100,
    what: 'widgets in the library of the deployment',
    remedy: 'unpublish some',
    used: 'select count(*) from widget_library_entry where source_tenant_id = $1',
  },
  listeners: assetsIn('listener', 'listeners'),
  listenerConnections: {
    owner: 'tenant',
    max: 100,
    what: 'active listeners with a connection of their own',
    remedy: 'deactivate some',
    used: 'select count(*) from listener_lease where tenant_id = $1',
  },
  apiKeys: {
    ...assetsIn('api_key', 'API keys'),
    remedy: 'delete some with permanently=true, since a key that is only disabled can be enabled again',
  },
  oauthConnections: assetsIn('oauth_connection', 'OAuth connections'),
  variables: assetsIn('tenant_variable', 'variables', 200),
  folders: assetsIn('folder', 'folders'),
  roles: assetsIn('role', 'roles'),
  cronJobs: assetsIn('cron_job', 'cron jobs'),
  dashboards: assetsIn('dashboard', 'dashboards'),
  appPages: assetsIn('app_page', 'app pages'),
  assetVersionBytes: {
    owner: 'tenant',
    max: GB,
    what: 'bytes of versions of dashboards and app pages',
    remedy: 'delete dashboards or app pages that are not needed',
    used: 'select coalesce((select asset_version_bytes from tenant_usage where tenant_id = $1), 0)',
  },
  files: assetsIn('tenant_file', 'stored files'),
  fileBytes: {
    owner: 'tenant',
    max: GB,
    what: 'bytes of stored files',
    used: 'select coalesce(sum(file_size), 0) from tenant_file where tenant_id = $1',
  },
  resultPages: { ...assetsIn('result_page', 'stored pages of results', 10_000), remedy: EXPIRES },
  resultBytes: {
    owner: 'tenant',
    max: 2 * GB,
    what: 'bytes of stored results',
    remedy: EXPIRES,
    // Postgres knows the sizes without reading the values.
    used: 'select coalesce(sum(octet_length(sealed)), 0) from result_page where tenant_id = $1',
  },
  events: { ...assetsIn('workflow_event', 'events that are remembered', 10_000), remedy: FORGOTTEN },
  eventBytes: {
    owner: 'tenant',
    max: 64 * MB,
    what: 'bytes of events that are remembered',
    remedy: FORGOTTEN,
    used: 'select coalesce(sum(bytes), 0) from workflow_event where tenant_id = $1',
  },
  listenerEvents: {
    owner: 'tenant',
    max: 100_000,
    what: 'events of listeners that wait to be processed',
    remedy: 'wait until they are, or send them more slowly',
    used: `
select (select count(*) from listener_event where tenant_id = $1 and dispatched_at is null and finished_at is null)
  + (select count(*) from listener_event where tenant_id = $1 and dispatched_at is not null and finished_at is null)`,
  },
  listenerBufferBytes: {
    owner: 'tenant',
    max: GB,
    what: 'bytes of events in the buffers of listeners',
    remedy: 'keep fewer, or for a shorter time',
    used: 'select coalesce(sum(bytes), 0) from listener_buffer where tenant_id = $1',
  },
  listenerEventBytes: {
    owner: 'tenant',
    max: 5 * GB,
    what: 'bytes of events of listeners that came in the last seven days',
    remedy: 'wait, or send less',
    used: `select coalesce(sum(bytes), 0) from listener_usage where tenant_id = $1 and day > now() - interval '7 days'`,
  },
  aiTokensPerDay: {
    owner: 'tenant',
    max: 2_000_000,
    what: 'tokens of language models a day',
    remedy: 'wait until midnight UTC',
    used: aiTokensSince('day'),
  },
  aiTokensPerMonth: {
    owner: 'tenant',
    max: 30_000_000,
    what: 'tokens of language models a month',
    remedy: 'wait until the next month begins in UTC',
    used: aiTokensSince('month'),
  },
  aiCalls: {
    owner: 'tenant',
    max: 8,
    what: 'calls of language models at once',
    remedy: 'wait until one ends',
    used: 'select count(*) from ai_call where tenant_id = $1 and ended_at is null and expires_at > now()',
  },
  aiChatBytes: {
    owner: 'tenant',
    max: 256 * MB,
    what: 'bytes of stored chats with language models',
    remedy: 'delete sessions of chats',
    // Postgres knows the sizes without reading the values.
    used: `
select (select coalesce(sum(octet_length(parts)), 0) from ai_message where tenant_id = $1)
  + (select coalesce(sum(octet_length(input) + coalesce(octet_length(output), 0)), 0) from ai_tool_call
    where tenant_id = $1 and (session_id is not null or origin is not null))
  + (select coalesce(sum(octet_length(chunks)), 0) from ai_chunk where tenant_id = $1)`,
  },
  aiNodeBytes: {
    owner: 'tenant',
    max: 256 * MB,
    what: 'bytes of calls of tools by nodes with language models',
    remedy: 'wait until the oldest are forgotten, after 90 days',
    used: `
select coalesce(sum(octet_length(input) + coalesce(octet_length(output), 0)), 0) from ai_tool_call
where tenant_id = $1 and session_id is null and origin is null`,
  },
  runs: {
    owner: 'tenant',
    max: 100_000,
    what: 'runs in flight',
    remedy: 'wait for some to end, or stop some',
    used: 'select count(*) from workflow_instance where tenant_id = $1 and completed_at is null',
  },
  runBytes: {
    owner: 'tenant',
    max: 2 * GB,
    what: 'bytes of inputs of runs in flight',
    remedy: 'wait for some to end, or stop some',
    // The sizes as stored, which Postgres knows without reading the inputs.
    used: 'select coalesce(sum(pg_column_size(input)), 0) from workflow_instance where tenant_id = $1 and completed_at is null',
  },
} as const satisfies Record<string, QuotaDefinition>;

export type QuotaName = keyof typeof definitions;
export type QuotaOwner = QuotaDefinition['owner'];

export const quotas: Readonly<Record<QuotaName, QuotaDefinition>> = definitions;

export function quotaNamesOf(owner: QuotaOwner): QuotaName[] {
  // Safe: the keys of the table are its names.
  return (Object.keys(quotas) as QuotaName[]).filter((name) => quotas[name].owner === owner);
}

/** The quota of the rows of a table, if there is one. */
export function quotaOfTable(table: string): QuotaName | undefined {
  return quotaNamesOf('tenant').find((name) => quotas[name].table === table);
}

interface Use {
  quota: QuotaName;
  ownerID: string;
  /** Default: 1. */
  amount?: number;
}

/**
 * Requires headroom for the rows that the caller's transaction is about to write, or throws QUOTA_EXCEEDED. Holds a lock until the end of the
 * transaction, so that two transactions cannot both use the last of the headroom: the second counts the rows of the first.
 */
export async function requireQuota(query: Query, { quota, ownerID, amount = 1 }: Use): Promise<void> {
  const state = await lockQuota(query, quota, ownerID);
  if (!state || state.used + amount <= state.max) return;
  throw quotaExceeded(state);
}

/** The headroom of the quota, read under the lock of `requireQuota`. */
export async function readHeadroom(query: Query, { quota, ownerID }: Omit<Use, 'amount'>): Promise<number> {
  const state = await lockQuota(query, quota, ownerID);
  return state ? state.max - state.used : Number.POSITIVE_INFINITY;
}

async function lockQuota(query: Query, quota: QuotaName, ownerID: string) {
  await query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`quota.${quota}.${ownerID}`]);
  const [state] = await readQuotas(query, [quota], ownerID);
  return state;
}

export function quotaExceeded({ quota, max, used }: Pick<QuotaState, 'quota' | 'max' | 'used'>): AppError {
  const { what, owner, remedy = 'delete some' } = quotas[quota];
  const subject = owner === 'user' ? 'You have' : 'This tenant has';
  return new AppError(
    'QUOTA_EXCEEDED',
    `${subject} at most ${max} ${what}: ${remedy}, or ask an operator of this deployment for a higher quota`,
    { details: { quota, max, used }, reason: quota },
  );
}

export interface QuotaState {
  quota: QuotaName;
  max: number;
  used: number;
  /** Whether an operator has set `max` for the owner. */
  isSet: boolean;
}

export async function readQuotas(query: Query, names: readonly QuotaName[], ownerID: string): Promise<QuotaState[]> {
  const fields = names.map((name) => `(${quotas[name].used}) as "${name}"`);
  const [{ rows: set }, { rows: used }] = [
    await query<{ name: string; max: string }>('select name, max from quota where owner_id = $1', [ownerID]),
    await query<Record<string, string>>(`select ${fields.join(', ')}`, [ownerID]),
  ];
  const own = new Map(set.map(({ name, max }) => [name, Number(max)]));
  return names.map((quota) => ({
    quota,
    max: own.get(quota) ?? quotas[quota].max,
    used: Number(used[0]?.[quota] ?? 0),
    isSet: own.has(quota),
  }));
}

interface QuotaChange {
  quota: QuotaName;
  ownerID: string;
  /** The new limit; null restores the default. */
  max: number | null;
}

export async function setQuota(query: Query, { quota, ownerID, max }: QuotaChange): Promise<void> {
  if (max === null) {
    await query('delete from quota where owner_id = $1 and name = $2', [ownerID, quota]);
    return;
  }
  await query(
    `insert into quota (owner_id, name, max) values ($1, $2, $3)
     on conflict (owner_id, name) do update set max = excluded.max, updated_at = now()`,
    [ownerID, quota, max],
  );
}
