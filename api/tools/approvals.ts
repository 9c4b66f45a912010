import { type AuditRecord, insertAuditRecords, wholeEntry } from '#shared/access/audit/records.ts';
import { requireQuota } from '#shared/access/quotas.ts';
import { APPROVAL_HOURS, type ToolApprovalPolicy } from '#shared/apps/ai/tool-approvals.ts';
import { digestOf, type ToolCallStatus } from '#shared/apps/ai/tool-calls.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json } from '#shared/core/json.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient, onPool, type Query } from '#shared/db/query.ts';
import type { ToolRights } from '../auth/tool-rights.ts';

/** A call of a tool over MCP that waits, or has waited, for the approval of a person. */
export interface WaitingCall {
  id: string;
  tool: string;
  status: ToolCallStatus | 'expired';
  /** JSON: what the tool answered, or the text of an error. */
  output: string | null;
  /** The reason why it was denied. */
  reason: string | null;
  expiresAt: Date;
}

/** Waiting calls that one tenant may have. */
const MAX_WAITING = 100;
/** Calls that are stored for one tenant, including those that have ended. */
const MAX_STORED = 1_000;
/** Characters of the input as JSON: a person has to read it. */
const MAX_INPUT = 64_000;

const isWaiting = `status = 'asked' and expires_at > now()`;

export async function readApprovalPolicy(pool: Pool, tenantID: string): Promise<ToolApprovalPolicy> {
  const { rows } = await pool.query<{ policy: ToolApprovalPolicy }>(POLICY, [tenantID]);
  return rows[0]?.policy ?? 'none';
}

const POLICY = 'select tool_approval as policy from tenant where id = $1';

interface NewCall {
  tenantID: string;
  caller: Caller;
  tool: string;
  input: object;
  /** The input without its secrets. */
  shownInput: Json;
  /** Users who are notified. */
  approvers: readonly string[];
}

/**
 * Records a call that waits for a person, and returns its id. If the same caller has the same call waiting or approved,
 * returns the id of that call.
 */
export async function recordCall(pool: Pool, call: NewCall): Promise<string> {
  const { tenantID, caller, tool, shownInput, approvers } = call;
  const input = JSON.stringify(call.input);
  if (input.length > MAX_INPUT)
    throw new AppError(
      'PAYLOAD_TOO_LARGE',
      `Input that a person must approve may have ${MAX_INPUT} characters as JSON`,
    );
  const digest = digestOf(call.input);
  return inTransaction(pool, async (client) => {
    const query = onClient(client);
    await query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`tool.approvals.${tenantID}`]);
    const { rows } = await query<{ id: string }>(SAME, [tenantID, caller.id, tool, digest]);
    if (rows[0]) return rows[0].id;
    await requireCapacity(query, tenantID, Buffer.byteLength(input));
    const id = newID();
    const who = [JSON.stringify(caller), JSON.stringify(shownInput), APPROVAL_HOURS];
    await query(ADD, [id, tenantID, tool, input, digest, ...who]);
    await client.query(NOTIFY, [tenantID, approvers, `Call of ${tool}`, id]);
    await query(FORGET, [tenantID, MAX_STORED]);
    return id;
  });
}

const SAME = `
select id from ai_tool_call where tenant_id = $1 and origin = 'mcp' and created_at > now() - interval '2 days'
  and caller::jsonb ->> 'id' = $2 and tool = $3 and input_digest = $4 and (status = 'ready' or ${isWaiting}) limit 1`;

async function requireCapacity(query: Query, tenantID: string, amount: number): Promise<void> {
  const { rows } = await query<{ n: number }>(COUNT, [tenantID]);
  if ((rows[0]?.n ?? 0) >= MAX_WAITING)
    throw new AppError(
      'RATE_LIMITED',
      `${MAX_WAITING} calls of this tenant wait for an approval: have some decided first`,
    );
  await requireQuota(query, { quota: 'aiChatBytes', ownerID: tenantID, amount });
}

const COUNT = `select count(*)::int as n from ai_tool_call where tenant_id = $1 and origin = 'mcp' and ${isWaiting}`;

const ADD = `
insert into ai_tool_call (id, tenant_id, turn_id, number, origin, status, tool, input, input_digest, caller, shown_input, expires_at)
values ($1, $2, $1, 1, 'mcp', 'asked', $3, $4, $5, $6, $7, now() + make_interval(hours => $8))`;

const NOTIFY = `
insert into notification (tenant_id, user_id, kind, title, description, subject_id, action, action_text)
select $1::uuid, u.id, 'toolApproval', 'Your approval is awaited', $3, $4::uuid,
  '../tenants/' || $1::uuid || '/tool-approvals/' || $4::uuid, 'Decide'
from unnest($2::uuid[]) as u(id)`;

// Keeps the newest calls and those that wait. The input of an expired call is deleted.
const FORGET = `
with kept as (
  select id from ai_tool_call where tenant_id = $1 and origin = 'mcp' order by created_at desc, id desc limit $2),
expired as (
  update ai_tool_call set input = '{}'
  where tenant_id = $1 and origin = 'mcp' and status = 'asked' and expires_at <= now() and input <> '{}')
delete from ai_tool_call
where tenant_id = $1 and origin = 'mcp' and (ended_at is not null or expires_at <= now() - interval '1 day')
  and id not in (select id from kept)`;

/** Finds a call of this caller. */
export async function readWaitingCall(
  pool: Pool,
  { tenantID, callerID, id }: { tenantID: string; callerID: string; id: string },
): Promise<WaitingCall | undefined> {
  const { rows } = await pool.query<WaitingCall>(READ, [tenantID, callerID, id]);
  return rows[0];
}

const READ = `
select id, tool, case when status = 'asked' and expires_at <= now() then 'expired' else status end as status, output, reason,
  expires_at as "expiresAt"
from ai_tool_call where tenant_id = $1 and origin = 'mcp' and caller::jsonb ->> 'id' = $2 and id = $3`;

interface Decision {
  tenantID: string;
  id: string;
  deciderID: string;
  isApproved: boolean;
  reason: string | null;
}

/** Records once what a person has decided. A process then executes an approved call. */
export async function decideCall({ pool, toolRights }: DecisionServices, decision: Decision): Promise<void> {
  const { tenantID, id, deciderID, isApproved, reason } = decision;
  const isDone = await inTransaction(pool, async (client) => {
    const status = isApproved ? 'ready' : 'denied';
    const { rows } = await onClient(client)<Decided>(DECIDE, [tenantID, id, status, deciderID, reason, isApproved]);
    const [decided] = rows;
    if (!decided) return false;
    const input = await toolRights.auditableInput(decided.tool, JSON.parse(decided.shown) as Json);
    await insertAuditRecords(client, [entryOf(decision, { ...decided, input })]);
    return true;
  });
  if (isDone) return;
  const { rows } = await onPool(pool)<{ isWaiting: boolean }>(IS_WAITING, [tenantID, id]);
  const [call] = rows;
  if (!call) throw new AppError('NOT_FOUND', 'Call of a tool not found');
  if (!call.isWaiting)
    throw new AppError('CONFLICT', 'This call does not wait for an approval: it was decided, or has expired');
  throw new AppError('PERMISSION_DENIED', 'In this tenant another person than the caller must approve', {
    reason: 'permission',
  });
}

interface DecisionServices {
  pool: Pool;
  toolRights: Pick<ToolRights, 'auditableInput'>;
}

interface Decided {
  tool: string;
  shown: string;
  callerID: string;
}

/** The audit entry of a decision: calls are deleted after a while, and the audit trail keeps what a person has decided. */
function entryOf(
  { tenantID, id, deciderID, isApproved, reason }: Decision,
  { tool, input, callerID }: Pick<Decided, 'tool' | 'callerID'> & { input: Json },
): AuditRecord {
  return wholeEntry({
    ...{ tenantID, type: 'AI_TOOL_CALL', action: isApproved ? 'confirm' : 'deny', userID: deciderID },
    details: { tool, toolCallID: id, input, reason, callerID },
  });
}

// Callers may always deny their own calls.
const DECIDE = `
update ai_tool_call c set status = $3, decided_by = $4::uuid, decided_at = now(), reason = $5,
  ended_at = case when $6::boolean then null else now() end, input = case when $6::boolean then input else '{}' end
from tenant t
where c.tenant_id = $1 and c.id = $2 and c.origin = 'mcp' and ${isWaiting} and t.id = c.tenant_id
  and (not $6::boolean or not t.is_approved_by_another or c.caller::jsonb ->> 'id' <> $4::uuid::text)
returning c.tool, coalesce(c.shown_input, '{}') as shown, c.caller::jsonb ->> 'id' as "callerID"`;

const IS_WAITING = `
select ${isWaiting} as "isWaiting" from ai_tool_call where tenant_id = $1 and id = $2 and origin = 'mcp'`;

/** Denies a call whose client has cancelled it, unless it was decided before. */
export async function withdrawCall(pool: Pool, { tenantID, id }: { tenantID: string; id: string }): Promise<void> {
  await pool.query(WITHDRAW, [tenantID, id]);
}

const WITHDRAW = `
update ai_tool_call set status = 'denied', reason = 'Its client has cancelled it', ended_at = now(), input = '{}'
where tenant_id = $1 and id = $2 and origin = 'mcp' and ${isWaiting}`;
