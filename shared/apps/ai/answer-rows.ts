import type { Query } from '../../db/query.ts';
import type { StoredPart } from './tool-calls.ts';

/** Appends chunks to those of an answer, whose row the transaction has locked. */
export async function appendChunks(query: Query, answerID: string, chunks: readonly object[]): Promise<void> {
  if (chunks.length > 0) await query(APPEND, [answerID, JSON.stringify(chunks)]);
}

const APPEND = `
insert into ai_chunk (answer_id, number, tenant_id, chunks)
select $1, coalesce((select max(number) from ai_chunk where answer_id = $1), 0) + 1, tenant_id, $2 from ai_answer where id = $1`;

/** Writes the message of an answer as it is by now. */
export async function saveMessage(query: Query, answerID: string, parts: readonly StoredPart[]): Promise<void> {
  if (parts.length > 0) await query(SAVE, [answerID, JSON.stringify(parts)]);
}

const SAVE = `
insert into ai_message (session_id, number, tenant_id, role, message_id, parts)
select a.session_id, coalesce(
    (select m.number from ai_message m where m.session_id = a.session_id and m.message_id = coalesce(a.message_id, a.id::text)),
    (select coalesce(max(m.number), 0) + 1 from ai_message m where m.session_id = a.session_id)),
  a.tenant_id, 'assistant', coalesce(a.message_id, a.id::text), $2
from ai_answer a where a.id = $1
on conflict (session_id, number) do update set parts = excluded.parts`;
