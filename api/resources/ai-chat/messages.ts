import { presentCall, type StoredPart, TOOL_CALL, type ToolCall } from '#shared/apps/ai/tool-calls.ts';
import { newestWithin, ofCall, ofMessage } from '#shared/db/newest-within-bytes.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Chat } from '../../ai/chat.ts';

export interface StoredMessage {
  [field: string]: unknown;
  id: string;
  role: string;
  parts: Record<string, unknown>[];
}

/** Bytes of a session that a client gets at once: to parse and to write more holds up the process. */
const MAX_READ = 2 * 1024 ** 2;

/**
 * The newest messages of a session, oldest first; none if there is no session. Parts that an unfinished answer adds are left out, because
 * its stream sends them. Calls of tools beyond the limit are left out of their messages.
 */
export async function readMessages(
  pool: Pool,
  { tenantID, caller, chatID }: Chat,
): Promise<{ messages: StoredMessage[]; isCut: boolean }> {
  const values = [tenantID, caller.id, chatID, MAX_READ];
  const { rows } = await pool.query<Stored>(MESSAGES, values);
  const found = await pool.query<ToolCall & { isCut: boolean }>(CALLS, values);
  const calls = new Map(found.rows.map((call) => [call.id, call]));
  const messages = rows
    .filter(({ said }) => said !== 0)
    .map(({ id, role, parts, said }) => {
      const stored = JSON.parse(parts) as StoredPart[];
      return { id, role, parts: stored.slice(0, said ?? undefined).flatMap((part) => presentPart(part, calls)) };
    });
  return { messages, isCut: [...rows, ...found.rows].some((row) => row.isCut) };
}

interface Stored {
  id: string;
  role: string;
  parts: string;
  /** Number of parts that the message had before an unfinished answer; null if no answer is being written. */
  said: number | null;
  /** Whether the next older row is left out. */
  isCut: boolean;
}

function presentPart(part: StoredPart, calls: ReadonlyMap<string, ToolCall>): Record<string, unknown>[] {
  if (part.type !== 'call') return [part];
  const call = calls.get(part.id);
  return call ? [presentCall(call)] : [];
}

const MESSAGES = `
select m.message_id as id, m.role, m.parts, m."isCut",
  (select a.from_part from ai_answer a
    where a.session_id = m.session_id and a.ended_at is null and coalesce(a.message_id, a.id::text) = m.message_id) as said
from ai_session s join lateral (${newestWithin('select * from ai_message where session_id = s.id', { ...ofMessage, most: '$4' })}) m on true
where s.tenant_id = $1 and s.owner_id = $2 and s.chat_id = $3 order by m.number`;

const CALLS = `
select ${TOOL_CALL}, c."isCut"
from ai_session s join lateral (${newestWithin('select * from ai_tool_call where session_id = s.id', { ...ofCall, most: '$4' })}) c on true
where s.tenant_id = $1 and s.owner_id = $2 and s.chat_id = $3`;
