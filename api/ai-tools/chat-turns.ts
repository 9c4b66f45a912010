import { appendChunks } from '#shared/apps/ai/answer-rows.ts';
import { CHAT_WAIT_MS, MAX_STEPS } from '#shared/apps/ai/chat.ts';
import { NOT_CALLED, type OfferedTool, type ToolCallStatus } from '#shared/apps/ai/tool-calls.ts';
import { Caller } from '#shared/core/caller.ts';
import type { Json } from '#shared/core/json.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient, onPool } from '#shared/db/query.ts';
import { settleLostCall } from '#shared/tenants/ai-usage.ts';
import { DROP_ANSWERS, MAX_RESTARTS } from '../ai/chat.ts';
import { endCallsOf, hideInput } from '../ai/tool-inputs.ts';

/** A call of a tool that this process has claimed. */
export interface ClaimedCall {
  id: string;
  tenantID: string;
  /** Null if an `ai` node, not a chat, asks for the call. */
  sessionID: string | null;
  turnID: string;
  tool: string;
  input: Json;
  caller: Caller;
  /** Whether the user has confirmed the call, or the author of the node has listed the tool. */
  isConfirmed: boolean;
  attempts: number;
  /** Attempts that may have called the tool: all but those that ended with the question to the user. */
  tries: number;
  /** `mcp` if a client of the MCP service asked for the call and a person has approved it. */
  origin: string | null;
}

const LEASE_SECONDS = 10;
/** Calls at once of one tenant, over all processes. */
const MAX_OF_TENANT = 4;
/** Calls at once of all tenants that one user has created, over all processes. */
const MAX_OF_CREATOR = 6;
/** A call whose processes died this often is not tried again; its answer fails when `alive_until` has passed. */
const MAX_ATTEMPTS = 5;

/**
 * Claims a waiting call. Creators and tenants with fewer calls under way come first; calls of one turn are made in their order. A
 * creator may have fewer calls under way than this process has free permits, so the last permit is for a creator who has none.
 */
export async function claimCall(pool: Pool, { free }: { free: number }): Promise<ClaimedCall | undefined> {
  const values = [LEASE_SECONDS, MAX_OF_TENANT, MAX_ATTEMPTS, Math.min(MAX_OF_CREATOR, free)];
  const { rows } = await pool.query<Omit<ClaimedCall, 'input' | 'caller'> & { input: string; caller: string }>({
    name: 'ai_tool_call_claim',
    text: CLAIM,
    values,
  });
  const [row] = rows;
  return row && { ...row, input: JSON.parse(row.input) as Json, caller: Caller.parse(JSON.parse(row.caller)) };
}

/** SQL condition of a call that is still of use: no run asked for it, or that run has not ended. */
const isWanted = `(c.instance_id is null or exists (
  select from workflow_instance i where i.id = c.instance_id and i.completed_at is null))`;

// The same statement ends calls whose run has ended and that no process has claimed.
const CLAIM = `
with unwanted as (
  update ai_tool_call set status = 'failed', output = to_json('${NOT_CALLED}'::text)::text, claimed_until = null, ended_at = now(), input = '{}'
  where id in (
    select c.id from ai_tool_call c
    where c.status = 'ready' and (c.claimed_until is null or c.claimed_until <= now()) and not ${isWanted} for update skip locked)
),
running as (
  select r.tenant_id, t.creator_id from ai_tool_call r join tenant t on t.id = r.tenant_id
  where r.status = 'ready' and r.claimed_until > now()
),
open as (
  select c.id, c.created_at,
    (select count(*) from running r where r.tenant_id = c.tenant_id) as of_tenant,
    (select count(*) from running r where r.creator_id = t.creator_id) as of_creator
  from ai_tool_call c join tenant t on t.id = c.tenant_id
  where c.status = 'ready' and (c.claimed_until is null or c.claimed_until <= now()) and c.attempts < $3 and ${isWanted}
    and (c.session_id is null or exists (select from ai_answer a where a.id = c.turn_id and a.status = 'calling'))
    and not exists (
      select from ai_tool_call e where e.turn_id = c.turn_id and e.status = 'ready' and (e.created_at, e.number) < (c.created_at, c.number))
),
next as (
  select c.id from ai_tool_call c join open on open.id = c.id
  where open.of_tenant < $2 and open.of_creator < $4 and c.status = 'ready' and (c.claimed_until is null or c.claimed_until <= now())
  order by open.of_creator, open.of_tenant, open.created_at limit 1 for update of c skip locked
)
update ai_tool_call c set attempts = attempts + 1, claimed_until = now() + make_interval(secs => $1)
from next where c.id = next.id
returning c.id, c.tenant_id as "tenantID", c.session_id as "sessionID", c.turn_id as "turnID", c.tool, c.input, c.caller,
  c.is_granted or c.decided_at is not null as "isConfirmed", c.attempts,
  c.attempts - c.asked_attempts as tries, c.origin`;

/** Renews a claim. False if the call is no longer wanted, or another process has claimed it. */
export async function renewCall(pool: Pool, { id, attempts }: ClaimedCall): Promise<boolean> {
  const { rowCount } = await pool.query(RENEW, [id, attempts, LEASE_SECONDS, CHAT_WAIT_MS / 1_000]);
  return rowCount === 1;
}

// Renewing a call also moves the deadline of its answer.
const RENEW = `
with renewed as (
  update ai_tool_call c set claimed_until = now() + make_interval(secs => $3)
  where id = $1 and attempts = $2 and status = 'ready' and ${isWanted}
    and (session_id is null or exists (select from ai_answer a where a.id = c.turn_id and a.status = 'calling'))
  returning turn_id),
answer as (
  update ai_answer a set alive_until = now() + make_interval(secs => $4) from renewed
  where a.id = renewed.turn_id and a.status = 'calling')
select from renewed`;

export interface CallEnd {
  status: Exclude<ToolCallStatus, 'ready' | 'denied'>;
  output: Json;
  /** The input without secrets. It replaces the input in the row and in the chunks of the answer when the call is over. */
  shownInput: Json;
  /** Chunks of the answer that tell the client how the call ended. */
  chunks: object[];
}

/** Ends a call, or lets it wait for the user. Does nothing if another process has claimed it by now. */
export async function endCall(pool: Pool, call: ClaimedCall, end: CallEnd): Promise<void> {
  const { status, output, shownInput, chunks } = end;
  await inTransaction(pool, async (client) => {
    const query = onClient(client);
    if (call.sessionID) await query('select from ai_answer where id = $1 for update', [call.turnID]);
    const isOver = status !== 'asked';
    const values = [call.id, call.attempts, status, isOver ? JSON.stringify(output) : null, isOver];
    const { rowCount } = await query(END, [...values, JSON.stringify(shownInput)]);
    if (!rowCount || !call.sessionID) return;
    if (isOver) await hideInput(query, call.turnID, { id: call.id, shown: shownInput });
    await appendChunks(query, call.turnID, chunks);
  });
}

const END = `
update ai_tool_call set status = $3, output = $4, claimed_until = null, ended_at = case when $5::boolean then now() end,
  asked_attempts = case when $5::boolean then asked_attempts else attempts end,
  shown_input = case when $5::boolean then shown_input else $6 end,
  input = case when origin is not null then '{}' when $5::boolean then $6 else input end
where id = $1 and attempts = $2 and status = 'ready'`;

/** An answer whose calls have all ended, claimed by this process for its next step. */
export interface ClaimedTurn {
  answerID: string;
  tenantID: string;
  sessionID: string;
  caller: Caller;
  place: string | null;
  step: number;
  /** Whether calls of the answer wait for a confirmation by the user. */
  isAsked: boolean;
}

export async function claimTurn(pool: Pool): Promise<ClaimedTurn | undefined> {
  const { rows } = await pool.query<Omit<ClaimedTurn, 'caller'> & { caller: string }>({
    name: 'ai_turn_claim',
    text: CLAIM_TURN,
    values: [LEASE_SECONDS],
  });
  const [row] = rows;
  return row && { ...row, caller: Caller.parse(JSON.parse(row.caller)) };
}

/** Ends chat answers that no client reads any more and whose process died before it could drop them itself. */
export async function dropUnread(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(DROP_UNREAD);
  const ids = rows.map(({ id }) => id);
  await endCallsOf(onPool(pool), ids);
  return ids;
}

const DROP_UNREAD = `${DROP_ANSWERS} where status in ('calling', 'waiting', 'streaming') and not is_unwanted and read_until < now() returning id`;

// Tenants with fewer answers under way come first. A step that waits is claimed again when the process that asked a worker for it has gone.
const CLAIM_TURN = `
with next as (
  select a.id from ai_answer a
  where a.status in ('calling', 'waiting') and a.caller is not null and a.alive_until > now()
    and (a.claimed_until is null or a.claimed_until <= now())
    and not exists (select from ai_tool_call c where c.turn_id = a.id and c.status = 'ready')
  order by (
    select count(*) from ai_answer r where r.tenant_id = a.tenant_id and r.status in ('calling', 'waiting', 'streaming') and r.claimed_until > now()),
    a.created_at limit 1 for update of a skip locked
)
update ai_answer a set claimed_until = now() + make_interval(secs => $1) from next where a.id = next.id
returning a.id as "answerID", a.tenant_id as "tenantID", a.session_id as "sessionID", a.caller, a.place, a.step,
  exists (select from ai_tool_call c where c.turn_id = a.id and c.status = 'asked') as "isAsked"`;

/** Marks the answer as waiting for a worker, with the tools of its next step. False if it is not wanted any more. */
export async function offerStep(
  pool: Pool,
  { answerID, step }: ClaimedTurn,
  tools: readonly OfferedTool[],
): Promise<boolean> {
  const offered = step < MAX_STEPS ? JSON.stringify(tools) : '[]';
  const { rowCount } = await pool.query(OFFER, [answerID, step, offered, CHAT_WAIT_MS / 1_000, LEASE_SECONDS]);
  return rowCount === 1;
}

const OFFER = `
update ai_answer set status = 'waiting', tools = $3, claimed_until = now() + make_interval(secs => $5),
  alive_until = case status when 'waiting' then alive_until else now() + make_interval(secs => $4) end
where id = $1 and step = $2 and status in ('calling', 'waiting')`;

/** Ends an answer whose calls wait for the user. */
export async function endTurn(pool: Pool, { answerID }: ClaimedTurn): Promise<void> {
  await inTransaction(pool, async (client) => {
    const query = onClient(client);
    const { rowCount } = await query(END_TURN, [answerID]);
    if (rowCount) await appendChunks(query, answerID, [{ type: 'finish', finishReason: 'tool-calls' }]);
  });
}

const END_TURN = `update ai_answer set status = 'done', ended_at = now() where id = $1 and status = 'calling'`;

/** Renews the claims of the steps that this process carries out; returns those that are still wanted. */
export async function renewSteps(pool: Pool, answerIDs: readonly string[]): Promise<{ id: string; step: number }[]> {
  const { rows } = await pool.query<{ id: string; step: number }>(KEEP, [[...answerIDs], LEASE_SECONDS]);
  return rows;
}

const KEEP = `
update ai_answer set claimed_until = now() + make_interval(secs => $2)
where id = any($1) and status in ('waiting', 'streaming') and not is_unwanted returning id, step`;

/** Restarts steps whose worker is gone. The chunk `reset-step` tells clients to drop what the lost step has streamed. */
export async function restartLost(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(LOST, [MAX_RESTARTS]);
  const restarted: string[] = [];
  for (const { id } of rows) {
    const callID = await inTransaction(pool, async (client) => {
      const query = onClient(client);
      const { rows } = await query<{ callID: string }>(RESTART, [id, MAX_RESTARTS, CHAT_WAIT_MS / 1_000]);
      const { rowCount } = await query('select from ai_chunk where answer_id = $1 limit 1', [id]);
      if (rows[0] && rowCount) await appendChunks(query, id, [{ type: 'reset-step' }]);
      return rows[0]?.callID;
    });
    if (callID === undefined) continue;
    await settleLostCall(pool, callID);
    restarted.push(id);
  }
  return restarted;
}

const IS_LOST = `status = 'streaming' and alive_until < now() and restarts < `;

const LOST = `select id from ai_answer where ${IS_LOST} $1 and caller is not null and not is_unwanted limit 20`;

const RESTART = `
update ai_answer set status = 'calling', restarts = restarts + 1, claimed_until = null,
  alive_until = now() + make_interval(secs => $3)
where id = $1 and ${IS_LOST} $2 returning call_id as "callID"`;

/** The names of tools that a session has found or called, the newest first. */
export async function readFoundTools(pool: Pool, sessionID: string): Promise<string[]> {
  const { rows } = await pool.query<{ tool: string; output: string | null }>(FOUND, [sessionID]);
  return rows.flatMap(({ tool, output }) => (output === null ? [tool] : namesIn(output)));
}

const FOUND = `
select tool, case tool when 'search_tools' then output end as output from ai_tool_call
where session_id = $1 and status = 'done' order by created_at desc, number desc limit 12`;

function namesIn(output: string): string[] {
  // Written by `search_tools`.
  const { tools = [] } = JSON.parse(output) as { tools?: { name: string }[] };
  return tools.map(({ name }) => name);
}
