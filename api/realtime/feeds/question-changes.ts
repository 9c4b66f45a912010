import { AT_ONCE, type QuestionChange } from '#shared/messaging/realtime/run-changes.ts';
import { mayAnswer } from '../sockets/may-answer.ts';
import { type Member, type RoomContext, type Sockets, tellMembers, tenantsWithRoom } from '../sockets/tenant-room.ts';
import { followHeads } from './follow-heads.ts';

interface Row {
  collectionRequestID: string;
  instanceID: string;
  workflowID: string | null;
  status: NonNullable<QuestionChange['status']>;
  approvers: string[] | null;
  notBy: string | null;
  at: Date;
}

/** Tells sockets in the rooms of tenants which questions wait for an answer, and which no longer do. */
export function startQuestionChanges(sockets: Sockets, context: RoomContext): Disposable {
  return followHeads(
    {
      name: 'question_heads',
      text: QUESTION_HEADS,
      wanted: () => tenantsWithRoom(sockets()),
      async deliver(tenantID, ids) {
        const { rows } = await context.pool.query<Row>(CHANGED, [ids, tenantID]);
        const hear = (member: Member) => findVisible(context, member, rows);
        await tellMembers(sockets, context, { tenantID, event: 'workflow_data_collection_changed', hear });
      },
    },
    context,
  );
}

export const QUESTION_HEADS = `
select c.id, c.tenant_id as "tenantID", c.status as state, c.status = 'PENDING' as "isOpen",
       (extract(epoch from now() - c.updated_at) * 1000)::float8 as "ageMs"
from collection_request c
where c.id = any(array(
  select n.id from unnest($1::uuid[]) t(id) cross join lateral (
    select id from collection_request where tenant_id = t.id and status = 'PENDING' order by created_at desc limit 150
  ) n
  union select unnest($2::uuid[])
))`;

// `approvers` is null if a question names none. A value that is not a list becomes an empty one, which matches no member.
const CHANGED = `
select id as "collectionRequestID", instance_id as "instanceID", workflow_id as "workflowID", status, updated_at as at, collection_config->>'notBy' as "notBy",
       case when jsonb_exists(collection_config, 'approvers') then array(
         select jsonb_array_elements_text(case jsonb_typeof(collection_config->'approvers')
           when 'array' then collection_config->'approvers' else '[]' end)) end as approvers
from collection_request where id = any($1::uuid[]) and tenant_id = $2 order by updated_at, id`;

/** Changes of questions that the member may answer. Too many become one without ids: the client reads its list again. */
async function findVisible(context: RoomContext, member: Member, rows: readonly Row[]): Promise<QuestionChange[]> {
  const { tenantID } = member;
  const may = mayAnswer(context, member);
  const visible: Row[] = [];
  for (const row of rows) if (await may(row)) visible.push(row);
  const last = visible.at(-1);
  if (last && visible.length > AT_ONCE) return [{ ...nothing, tenantID, at: last.at.toISOString() }];
  return visible.map(({ approvers: _, notBy: __, at, ...row }) => ({ tenantID, ...row, at: at.toISOString() }));
}

const nothing = { collectionRequestID: null, instanceID: null, workflowID: null, status: null };
