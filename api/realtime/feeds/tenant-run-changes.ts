import type { Caller } from '#shared/core/caller.ts';
import { AT_ONCE, type RunChange } from '#shared/messaging/realtime/run-changes.ts';
import type { RunStatus } from '#shared/workflow/progress/status.ts';
import { findGrant, holdsAny } from '../sockets/join.ts';
import { type Member, type RoomContext, type Sockets, tellMembers, tenantsWithRoom } from '../sockets/tenant-room.ts';
import { followHeads } from './follow-heads.ts';

interface Row {
  instanceID: string;
  workflowID: string | null;
  status: RunStatus;
  errorCode: string | null;
  caller: Caller;
  at: Date;
}

/** Tells sockets in the rooms of tenants which runs are new, or have another status. */
export function startRunChanges(sockets: Sockets, context: RoomContext): Disposable {
  return followHeads(
    {
      name: 'run_heads',
      text: RUN_HEADS,
      wanted: () => tenantsWithRoom(sockets()),
      async deliver(tenantID, ids) {
        const { rows } = await context.pool.query<Row>(CHANGED, [ids, tenantID]);
        const hear = (member: Member) => findVisible(context, member, rows);
        await tellMembers(sockets, context, { tenantID, event: 'workflow_run_changed', hear });
      },
    },
    context,
  );
}

/**
 * The newest runs, and the newest of those that can change. Chunks of maps are parts of their runs, and are not listed. The ids are an
 * array, so that the planner expects few rows and reads them by id; it would plan a join as one with the whole table.
 */
export const RUN_HEADS = `
select i.id, i.tenant_id as "tenantID", i.status as state, i.completed_at is null as "isOpen",
       (extract(epoch from now() - i.updated_at) * 1000)::float8 as "ageMs"
from workflow_instance i
where i.map_id is null and i.id = any(array(
  select n.id from unnest($1::uuid[]) t(id) cross join lateral (
    (select id from workflow_instance where tenant_id = t.id order by created_at desc, id desc limit 150)
    ${(['PENDING', 'RUNNING', 'WAITING'] as const).map(newestOf).join('')}
  ) n
  union select unnest($2::uuid[])
))`;

function newestOf(status: RunStatus): string {
  return `union all
    (select id from workflow_instance where tenant_id = t.id and status = '${status}' order by created_at desc, id desc limit 50)`;
}

const CHANGED = `
select id as "instanceID", workflow_id as "workflowID", status, error->>'code' as "errorCode",
       caller, updated_at as at
from workflow_instance where id = any($1::uuid[]) and tenant_id = $2 order by updated_at, id`;

/** Changes of runs that the user may watch. Too many become one without an id: the client reads its list again. */
async function findVisible(
  { access: { policy } }: RoomContext,
  member: Member,
  rows: readonly Row[],
): Promise<RunChange[]> {
  const { tenantID, userID } = member;
  const rights = new Map<string, Promise<boolean>>();
  const visible: Row[] = [];
  for (const row of rows) {
    const { access } = findGrant({ ...row, tenantID }, userID);
    const key = JSON.stringify(access);
    const right = rights.get(key) ?? (access ? holdsAny(policy, member, access) : Promise.resolve(false));
    rights.set(key, right);
    if (await right) visible.push(row);
  }
  const last = visible.at(-1);
  if (last && visible.length > AT_ONCE) return [{ ...nothing, tenantID, at: last.at.toISOString() }];
  return visible.map(({ caller: _, at, ...row }) => ({ tenantID, ...row, at: at.toISOString() }));
}

const nothing = { instanceID: null, workflowID: null, status: null, errorCode: null };
