import type { Permission } from '#shared/access/policy/permissions.ts';
import { AppError } from '#shared/core/errors.ts';
import { plainArray } from '#shared/db/array.ts';
import { onEntities } from '#shared/db/query.ts';
import { isAllowed } from '../../http/access/grant.ts';
import type { BundledType } from '../assets/bundle-types.ts';
import { kinds } from '../assets/kinds.ts';
import type { Importing } from '../import/run-handler.ts';
import type { Change } from '../import/run-import.ts';

type Removed = Pick<Change, 'type' | 'assetID' | 'title'>;

interface User {
  type: Exclude<BundledType, 'folder' | 'variable' | 'datasource' | 'role'>;
  id: string;
  title: string;
  /** The id of a removed asset that this one names. */
  named: string;
}

/**
 * Types that may be deleted while others name them: assets of a folder are moved out of it, and roles lose their rule
 * for the asset.
 */
const HARMLESS: ReadonlySet<BundledType> = new Set(['folder', 'role']);
const MAX_SHOWN = 5;

/**
 * Throws CONFLICT if assets that stay name one that is to be removed. The import has given new ids, so only assets that were saved
 * since can name them. Variables are named without ids: their own route checks whether they are used.
 */
export async function requireUnused(importing: Importing, removed: readonly Removed[], since: Date): Promise<void> {
  const { em, tenantID } = importing.input;
  const ids = removed.filter(({ type }) => !HARMLESS.has(type)).map(({ assetID }) => assetID);
  if (ids.length === 0) return;
  const all = plainArray(removed.map(({ assetID }) => assetID));
  const params = [tenantID, plainArray(ids), all, new Date(since.getTime() - CLOCKS_MS).toISOString()];
  const { rows } = await onEntities(em)<User>(USERS, params);
  if (rows.length === 0) return;
  const shown = rows.slice(0, MAX_SHOWN);
  const users = await Promise.all(shown.map((user) => wordsOf(importing, user)));
  const more = rows.length > MAX_SHOWN ? [`and others`] : [];
  const first = removed.find(({ assetID }) => assetID === rows[0]?.named);
  const what = first ? `The ${kinds[first.type].noun} "${first.title}"` : 'An asset';
  throw new AppError(
    'CONFLICT',
    `${what} of this import is still used: change or delete first ${[...users, ...more].join(', ')}`,
  );
}

/** The title is shown to callers who may read the asset. */
async function wordsOf({ input }: Importing, { type, id, title }: User): Promise<string> {
  const { noun, resource } = kinds[type];
  const permission: Permission = kinds[type].read;
  const isReadable = await isAllowed(input, { permission, object: `${resource}:${id}` });
  return isReadable ? `the ${noun} "${title}"` : `a ${noun} that you may not read`;
}

/** Allowance for the differing clocks of processes. */
const CLOCKS_MS = 300_000;

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/** SQL that finds the first removed asset that a text names. */
const namedIn = (text: string) => `
cross join lateral (
  select found[1]::uuid as named from regexp_matches(lower(${text}), '${UUID}', 'g') found
  where found[1]::uuid = any($2::uuid[]) limit 1
) mention`;

// An asset uses the ids in its text, code of workflows included.
const USERS = `
select type, id, title, named from (
  select 'dataQuery' as type, id, data_query_title as title, datasource_id as named, updated_at as saved_at, tenant_id
  from data_query where datasource_id = any($2::uuid[])
  union all
  select 'listener', id, listener_title, datasource_id, now(), tenant_id from listener where datasource_id = any($2::uuid[])
  union all
  select 'listener', l.id, l.listener_title, named, now(), l.tenant_id
  from listener l join listener_action a on a.listener_id = l.id ${namedIn('a.action_config::text')}
  union all
  select 'workflow', w.id, w.title, named, v.created_at, w.tenant_id
  from workflow w join workflow_version v
    on v.id = coalesce(w.version_id, (select id from workflow_version where workflow_id = w.id order by number desc limit 1))
  ${namedIn('concat(v.nodes, v.options, w.workflow_options)')}
  union all
  select 'widget', id, widget_title, named, updated_at, tenant_id from widget ${namedIn('widget_config::text')}
  union all
  select 'appPage', id, app_page_title, named, updated_at, tenant_id from app_page ${namedIn('app_page_config::text')}
  union all
  select 'dashboard', id, dashboard_title, named, updated_at, tenant_id from dashboard ${namedIn('dashboard_config::text')}
  union all
  select 'cronJob', id, cron_job_title, named, updated_at, tenant_id from cron_job ${namedIn('cron_job_config::text')}
) use
where tenant_id = $1 and saved_at >= $4 and id <> all($3::uuid[])
order by saved_at, id limit ${MAX_SHOWN + 1}`;
