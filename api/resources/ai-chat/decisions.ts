import { type AuditRecord, insertAuditRecords, wholeEntry } from '#shared/access/audit/records.ts';
import { appendChunks } from '#shared/apps/ai/answer-rows.ts';
import { ASK_USER, digestOf } from '#shared/apps/ai/tool-calls.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json } from '#shared/core/json.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient, type Query } from '#shared/db/query.ts';
import { type Answering, type Chat, insertAnswer } from '../../ai/chat.ts';
import type { ToolRights } from '../../auth/tool-rights.ts';

/** The user's decision about a call that waits for it. */
export type Decision = {
  toolCallID: string;
  /** The input that the client has shown to the user; undefined if the client does not send it. */
  input?: Json | undefined;
} & ({ approved: boolean; reason: string | null } | { answer: Json });

interface DecisionServices {
  pool: Pool;
  toolRights: Pick<ToolRights, 'auditableInput'>;
}

interface Waiting {
  id: string;
  tool: string;
  /** The input without secrets, as JSON. */
  shown: string;
  digest: string;
}

interface OpenSession {
  sessionID: string;
  messageID: string;
  parts: number;
}

/**
 * Records what the user has decided, and inserts the answer that continues the conversation. Only calls that wait in this session of the
 * caller can be decided, and they are made with the input of their rows, not with what the client sends.
 */
export async function decideCalls(
  { pool, toolRights }: DecisionServices,
  chat: Chat,
  { decisions, ...answering }: Answering & { decisions: readonly Decision[] },
): Promise<string> {
  const { tenantID, caller, chatID } = chat;
  return inTransaction(pool, async (client) => {
    const query = onClient(client);
    const opened = await query<OpenSession>(OPEN, [tenantID, caller.id, chatID]);
    const [session] = opened.rows;
    const waiting = session ? (await query<Waiting>(WAITING, [session.sessionID])).rows : [];
    const known = new Map(waiting.map((call) => [call.id, call]));
    for (const decision of decisions) await decide(query, known, { decision, deciderID: caller.id });
    // Each confirmation or refusal is recorded, with the input as the audit trail may store it.
    for (const decision of decisions) {
      const call = known.get(decision.toolCallID);
      if (!call || 'answer' in decision) continue;
      const input = await toolRights.auditableInput(call.tool, JSON.parse(call.shown) as Json);
      await insertAuditRecords(client, [entryOf(chat, decision, { ...call, input })]);
    }
    // Not reached: without a session no call waits, so `decide` has refused the decision.
    if (!session) throw notWaiting();
    const { sessionID, messageID, parts } = session;
    await query('delete from ai_answer where session_id = $1', [sessionID]);
    const answerID = newID();
    await insertAnswer(query, { answerID, sessionID, chat, messageID, fromPart: parts }, answering);
    await query(MOVE_CALLS, [sessionID, answerID]);
    await appendChunks(query, answerID, [{ type: 'start', messageId: messageID }, ...decisions.flatMap(chunksOf)]);
    return answerID;
  });
}

// The session is locked against a second request with the same decisions.
const OPEN = `
select s.id as "sessionID", m.message_id as "messageID", json_array_length(m.parts::json) as parts
from ai_session s join lateral (
  select message_id, parts from ai_message where session_id = s.id and role = 'assistant' order by number desc limit 1) m on true
where s.tenant_id = $1 and s.owner_id = $2 and s.chat_id = $3 for update of s`;

const WAITING = `
select id, tool, coalesce(shown_input, input) as shown, input_digest as digest from ai_tool_call where session_id = $1 and status = 'asked' for update`;

/** The record of who has confirmed or denied a call of a tool: the chat may be deleted, the audit trail is kept. */
function entryOf(
  { tenantID, caller }: Chat,
  { approved, reason }: { approved: boolean; reason: string | null },
  { id, tool, input }: { id: string; tool: string; input: Json },
): AuditRecord {
  return wholeEntry({
    ...{ tenantID, type: 'AI_TOOL_CALL', action: approved ? 'confirm' : 'deny' },
    userID: caller.userID ?? (caller.type === 'user' ? caller.id : null),
    apiKeyID: caller.type === 'apiKey' ? caller.id : null,
    details: { tool, toolCallID: id, input, reason },
  });
}

/** Moves calls to the new answer: confirmed ones, which are made now, and those that still wait for the user. */
const MOVE_CALLS = `
update ai_tool_call set turn_id = $2, claimed_until = null
where session_id = $1 and (status = 'asked' or status = 'ready' and decided_at is not null)`;

interface Deciding {
  decision: Decision;
  deciderID: string;
}

async function decide(query: Query, waiting: ReadonlyMap<string, Waiting>, { decision, deciderID }: Deciding) {
  const call = waiting.get(decision.toolCallID);
  if (!call || (call.tool === ASK_USER) !== 'answer' in decision) throw notWaiting();
  if (decision.input !== undefined && digestOf(decision.input) !== call.digest)
    throw new AppError('VALIDATION_ERROR', 'messages: the input that was confirmed is not that of the call');
  if ('answer' in decision)
    return query(DECIDE, [call.id, 'done', deciderID, JSON.stringify(decision.answer), null, false]);
  const { approved, reason } = decision;
  return query(DECIDE, [call.id, approved ? 'ready' : 'denied', deciderID, null, reason, approved]);
}

const DECIDE = `
update ai_tool_call set status = $2, decided_by = $3, decided_at = now(), output = $4, reason = $5,
  ended_at = case when $6::boolean then null else now() end,
  input = case when $6::boolean then input else coalesce(shown_input, input) end
where id = $1`;

function chunksOf(decision: Decision): object[] {
  const { toolCallID: toolCallId } = decision;
  if ('answer' in decision)
    return [{ type: 'tool-output-available', toolCallId, output: decision.answer, dynamic: true }];
  return decision.approved ? [] : [{ type: 'tool-output-denied', toolCallId }];
}

function notWaiting(): AppError {
  return new AppError(
    'CONFLICT',
    'messages: this call of a tool does not wait for a confirmation: load the chat again',
    { retry: false },
  );
}
