import { z } from 'zod';
import type { Permission } from '#shared/access/policy/permissions.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { AppPage } from '#shared/entities/tables/app-page.ts';
import { CronJob } from '#shared/entities/tables/cron-job.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { type ActionDefinition, actions } from '#shared/triggers/listeners/actions.ts';
import type { Condition } from '../tenant/visible-rows.ts';

/** Assets of each type that an answer names; further ones are only counted. */
const SHOWN = 200;

/** Triggers and pages that start a workflow: active listeners, enabled cron jobs and published app pages. */
export const Starters = z.object({
  listeners: z.array(z.object({ listenerID: z.uuid(), listenerTitle: z.string() }).meta({ id: 'ListenerReference' })),
  cronJobs: z.array(z.object({ cronJobID: z.uuid(), cronJobTitle: z.string() }).meta({ id: 'CronJobReference' })),
  appPages: z.array(z.object({ appPageID: z.uuid(), appPageTitle: z.string() }).meta({ id: 'AppPageReference' })),
  otherStarters: z.int().describe('How many more there are: the caller may not read them, or the list is too long'),
});
export type Starters = z.output<typeof Starters>;

interface Source {
  em: EntityManager;
  pool: Pool;
  tenantID: string;
  visible(permission: Permission): Promise<Condition>;
}

/** Names what starts a workflow, as far as the caller may read it. */
export async function findStarters({ em, pool, tenantID, visible }: Source, workflowID: string): Promise<Starters> {
  const { rows } = await pool.query<{ type: 'listener' | 'cronJob' | 'appPage'; id: string }>(STARTERS, [
    tenantID,
    workflowID,
    JSON.stringify(STARTING),
  ]);
  if (rows.length === 0) return { listeners: [], cronJobs: [], appPages: [], otherStarters: 0 };
  const which = (wanted: string) => ({ id: { $in: rows.filter(({ type }) => type === wanted).map(({ id }) => id) } });
  const page = { limit: SHOWN, orderBy: { createdAt: 'desc' as const } };
  const listeners = await em.find(Listener, { ...which('listener'), ...(await visible('listener.read')) }, page);
  const cronJobs = await em.find(CronJob, { ...which('cronJob'), ...(await visible('cronjob.read')) }, page);
  const appPages = await em.find(AppPage, { ...which('appPage'), ...(await visible('appPage.read')) }, page);
  return {
    listeners: listeners.map(({ id, listenerTitle }) => ({ listenerID: id, listenerTitle })),
    cronJobs: cronJobs.map(({ id, cronJobTitle }) => ({ cronJobID: id, cronJobTitle })),
    appPages: appPages.map(({ id, appPageTitle }) => ({ appPageID: id, appPageTitle })),
    otherStarters: rows.length - listeners.length - cronJobs.length - appPages.length,
  };
}

/** Types of actions that start a workflow, with the field that names it. */
const STARTING = actions.flatMap(({ type, names }: ActionDefinition) =>
  names?.resource === 'workflow' ? [{ type, field: names.field }] : [],
);

const STARTERS = `
select 'listener' as type, l.id from listener l where l.tenant_id = $1 and l.status = 'active' and exists (
  select from listener_action a join jsonb_to_recordset($3::jsonb) as s(type text, field text) on s.type = a.action_type
  where a.listener_id = l.id and a.is_enabled and lower(a.action_config ->> s.field) = $2::text)
union all
select 'cronJob', j.id from cron_job j
where j.tenant_id = $1 and j.cron_job_enabled and j.stopped_at is null and lower(j.cron_job_config ->> 'workflowID') = $2::text
union all
select 'appPage', p.id from app_page p where p.tenant_id = $1 and not p.is_draft and exists (
  select from jsonb_path_query(p.app_page_config, '$.dataSources[*] ? (@.type == "workflow").workflowID') named
  where lower(named #>> '{}') = $2::text)`;
