import { CHAT_LEASE_MS } from '#shared/ai/chat.ts';
import type { Pool } from '#shared/db/pool.ts';
import { type AppError, toWireError } from '#shared/errors.ts';
import type { AIMessage } from '#shared/queues/ai-calls.ts';

/** Takes an answer that waits. Undefined if it is not wanted any more. */
export async function claimAnswer(pool: Pool, answerID: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ sessionID: string }>(CLAIM, [answerID, CHAT_LEASE_MS / 1_000]);
  return rows[0]?.sessionID;
}

const CLAIM = `
update ai_answer set status = 'streaming', alive_until = now() + make_interval(secs => $2)
where id = $1 and status = 'waiting' returning session_id as "sessionID"`;

/** Whether the answer is still wanted. */
export async function renewAnswer(pool: Pool, answerID: string): Promise<boolean> {
  const { rowCount } = await pool.query(RENEW, [answerID, CHAT_LEASE_MS / 1_000]);
  return rowCount === 1;
}

const RENEW = `
update ai_answer set alive_until = now() + make_interval(secs => $2) where id = $1 and status = 'streaming'`;

const MAX_MESSAGES = 60;
const MAX_CHARACTERS = 300_000;

/** The last messages of a session, as many as a model is given. */
export async function readConversation(pool: Pool, sessionID: string): Promise<AIMessage[]> {
  const { rows } = await pool.query<{ role: AIMessage['role']; parts: string }>(MESSAGES, [sessionID, MAX_MESSAGES]);
  const messages: AIMessage[] = [];
  let size = 0;
  for (const { role, parts } of rows) {
    const content = textOf(parts);
    size += content.length;
    if (messages.length > 0 && size > MAX_CHARACTERS) break;
    if (content !== '') messages.unshift({ role, content });
  }
  return messages;
}

const MESSAGES = 'select role, parts from ai_message where session_id = $1 order by number desc limit $2';

function textOf(parts: string): string {
  // Written by `beginAnswer` and `endAnswer`.
  const list = JSON.parse(parts) as { type: string; text?: string }[];
  return list.flatMap(({ type, text }) => (type === 'text' && text ? [text] : [])).join('\n');
}

interface NewChunks {
  answerID: string;
  number: number;
  /** A JSON array. */
  chunks: string;
}

/** False if the answer is not wanted any more. */
export async function writeChunks(pool: Pool, { answerID, number, chunks }: NewChunks): Promise<boolean> {
  const { rowCount } = await pool.query(WRITE, [answerID, CHAT_LEASE_MS / 1_000, number, chunks]);
  return rowCount === 1;
}

const WRITE = `
with alive as (
  update ai_answer set alive_until = now() + make_interval(secs => $2)
  where id = $1 and status = 'streaming' returning tenant_id)
insert into ai_chunk (answer_id, number, tenant_id, chunks) select $1, $3, tenant_id, $4 from alive`;

interface AnswerEnd {
  answerID: string;
  status: 'done' | 'failed' | 'cancelled';
  error?: AppError;
  /** What the model has said. */
  text: string;
}

/** Ends an answer, and adds what was said to the conversation. Changes nothing when it is repeated. */
export async function endAnswer(pool: Pool, { answerID, status, error, text }: AnswerEnd): Promise<void> {
  const parts = text === '' ? null : JSON.stringify([{ type: 'text', text }]);
  await pool.query(END, [answerID, status, error ? JSON.stringify(toWireError(error)) : null, parts]);
}

const END = `
with ended as (
  update ai_answer set status = $2, error = $3, ended_at = now()
  where id = $1 and status = 'streaming' returning tenant_id, session_id)
insert into ai_message (session_id, number, tenant_id, role, message_id, parts)
select session_id, (select coalesce(max(number), 0) + 1 from ai_message m where m.session_id = ended.session_id),
  tenant_id, 'assistant', $1, $4
from ended where $4::text is not null`;
