import { requireQuota } from '#shared/access/quotas.ts';
import { CHAT_LEASE_MS, CHAT_READER_MS, CHAT_WAIT_MS } from '#shared/apps/ai/chat.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError, reviveError, toWireError, WireError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient, onPool, type Query } from '#shared/db/query.ts';
import { requireBudgetForAnswer, settleLostCall } from '#shared/tenants/ai-usage.ts';
import { END_UNCALLED, endCallsOf } from './tool-inputs.ts';

/** The session of a caller: users and API keys have their own. */
export interface Chat {
  tenantID: string;
  caller: Caller;
  chatID: string;
}

export interface ChatMessage {
  messageID: string;
  text: string;
}

const MAX_SESSIONS = 100;
const MAX_MESSAGES = 500;
/** Calls of tools in one session. */
const MAX_CALLS = 500;

/** How an answer is to be made. */
export interface Answering {
  isResumable: boolean;
  /** The place in the client where the user is: JSON that the client has sent. */
  place: string | null;
}

/**
 * Writes a message of the user and the answer that is to come; without a message, another answer to the last one. The conversation is
 * what is stored: what a client says of earlier messages is not read. An earlier answer is not wanted any more.
 */
export async function beginAnswer(
  pool: Pool,
  chat: Chat,
  { message, ...answering }: Answering & { message: ChatMessage | null },
): Promise<string> {
  const { tenantID, caller, chatID } = chat;
  return inTransaction(pool, async (client) => {
    const query = onClient(client);
    const bytes = Buffer.byteLength(message?.text ?? '');
    await requireQuota(query, { quota: 'aiChatBytes', ownerID: tenantID, amount: bytes });
    const { rows } = await query<{ id: string }>(OPEN, [newID(), tenantID, caller.id, caller.userID ?? null, chatID]);
    const sessionID = rows[0]?.id ?? '';
    await query('delete from ai_answer where session_id = $1', [sessionID]);
    await query(SUPERSEDE, [sessionID]);
    await query(TRIM_CALLS, [sessionID, MAX_CALLS]);
    if (message) await addMessage(query, { tenantID, sessionID }, message);
    else await dropAnswers(query, sessionID);
    await query(FORGET, [tenantID, caller.id, MAX_SESSIONS]);
    const answerID = newID();
    await insertAnswer(query, { answerID, sessionID, chat, messageID: null, fromPart: 0 }, answering);
    return answerID;
  });
}

/** SQL that ends calls of earlier answers, which nothing makes any more. The model reads that they were denied. */
const SUPERSEDE = `
update ai_tool_call set ${END_UNCALLED}
where session_id = $1 and status in ('ready', 'asked')`;

const TRIM_CALLS = `
delete from ai_tool_call where id in (
  select id from ai_tool_call where session_id = $1 order by created_at desc, number desc offset $2)`;

interface NewAnswer {
  answerID: string;
  sessionID: string;
  chat: Chat;
  /** The message that the answer continues; null if it begins a new one. */
  messageID: string | null;
  /** Number of parts that this message has already. */
  fromPart: number;
}

/** Inserts an answer, which an API process then claims. */
export async function insertAnswer(
  query: Query,
  { answerID, sessionID, chat, messageID, fromPart }: NewAnswer,
  { isResumable, place }: Answering,
): Promise<void> {
  const { tenantID, caller } = chat;
  await requireBudgetForAnswer(query, tenantID);
  const seconds = CHAT_WAIT_MS / 1_000;
  const said = [JSON.stringify(caller), place, messageID, fromPart];
  const values = [answerID, sessionID, tenantID, String(isResumable), seconds, ...said, CHAT_READER_MS / 1_000];
  await query(BEGIN, values);
}

const OPEN = `
insert into ai_session (id, tenant_id, owner_id, user_id, chat_id) values ($1, $2, $3, $4, $5)
on conflict (tenant_id, owner_id, chat_id) do update set updated_at = now() returning id`;

const FORGET = `
delete from ai_session where id in (
  select id from ai_session where tenant_id = $1 and owner_id = $2 order by updated_at desc offset $3)`;

const BEGIN = `
insert into ai_answer (id, session_id, tenant_id, is_resumable, status, alive_until, caller, place, message_id, from_part, read_until)
values ($1, $2, $3, $4::boolean, 'calling', now() + make_interval(secs => $5), $6, $7, $8, $9::integer,
  case when not $4::boolean then now() + make_interval(secs => $10) end)`;

/** Adds a message of the user. One that is sent again, perhaps changed, replaces the stored one and all that follow it. */
async function addMessage(
  query: Query,
  { tenantID, sessionID }: { tenantID: string; sessionID: string },
  { messageID, text }: ChatMessage,
): Promise<void> {
  await query(REPLACE, [sessionID, messageID]);
  const parts = JSON.stringify([{ type: 'text', text }]);
  await query(ADD, [sessionID, tenantID, messageID, parts]);
  await query(TRIM, [sessionID, MAX_MESSAGES]);
}

const REPLACE = `
delete from ai_message where session_id = $1
  and number >= (select min(number) from ai_message where session_id = $1 and message_id = $2)`;

const ADD = `
insert into ai_message (session_id, number, tenant_id, role, message_id, parts)
values ($1, (select coalesce(max(number), 0) + 1 from ai_message where session_id = $1), $2, 'user', $3, $4)`;

const TRIM = `
delete from ai_message where session_id = $1
  and number <= (select max(number) from ai_message where session_id = $1) - $2`;

async function dropAnswers(query: Query, sessionID: string): Promise<void> {
  await query(DROP, [sessionID]);
  const { rowCount } = await query('select from ai_message where session_id = $1', [sessionID]);
  if (!rowCount) throw new AppError('VALIDATION_ERROR', 'messages: this session has no message to answer again');
}

const DROP = `
delete from ai_message where session_id = $1
  and number > coalesce((select max(number) from ai_message where session_id = $1 and role = 'user'), 0)`;

/** The newest answer of a session that has not ended. */
export async function findOpenAnswer(pool: Pool, { tenantID, caller, chatID }: Chat): Promise<OpenAnswer | undefined> {
  const { rows } = await pool.query<OpenAnswer>(FIND, [tenantID, caller.id, chatID]);
  return rows[0];
}

interface OpenAnswer {
  answerID: string;
  isResumable: boolean;
}

const FIND = `
select a.id as "answerID", a.is_resumable as "isResumable" from ai_session s join ai_answer a on a.session_id = s.id
where s.tenant_id = $1 and s.owner_id = $2 and s.chat_id = $3 and a.ended_at is null order by a.created_at desc limit 1`;

export interface AnswerState {
  isOver: boolean;
  error: AppError | null;
  /** Whether neither a worker nor an API process has renewed the answer for too long. */
  isLost: boolean;
  /** JSON arrays of chunks, in their order. */
  rows: { number: number; chunks: string }[];
}

/** Undefined if the answer is not wanted any more. */
export async function readAnswer(pool: Pool, answerID: string, after: number): Promise<AnswerState | undefined> {
  // The state is read before the chunks: if the answer is over by then, all of its chunks are stored.
  const { rows } = await pool.query<{ isOver: boolean; error: string | null; isLost: boolean }>(STATE, [answerID]);
  const [state] = rows;
  if (!state) return undefined;
  const read = await pool.query<AnswerState['rows'][number]>(CHUNKS, [answerID, after, PAGE]);
  const isOver = state.isOver && read.rows.length < PAGE;
  return { ...state, isOver, error: state.error === null ? null : errorOf(state.error), rows: read.rows };
}

const PAGE = 100;

/** How often a step whose worker is gone is started again. */
export const MAX_RESTARTS = 2;

/** SQL condition of a lost answer: it has no restart left, or no process has restarted it within a lease. */
const LOST = `ended_at is null and alive_until < now() - case
  when status = 'streaming' and restarts < ${MAX_RESTARTS} and caller is not null
  then interval '${CHAT_LEASE_MS} milliseconds' else interval '0' end`;

const STATE = `select ended_at is not null as "isOver", error, ${LOST} as "isLost" from ai_answer where id = $1`;

const CHUNKS = 'select number, chunks from ai_chunk where answer_id = $1 and number > $2 order by number limit $3';

function errorOf(text: string): AppError {
  return reviveError(WireError.parse(JSON.parse(text)));
}

/** Ends an answer that no worker ends, and settles what its call had reserved. */
export async function endLostAnswer(pool: Pool, answerID: string): Promise<void> {
  const lost = new AppError('UPSTREAM_FAILED', 'The worker that wrote this answer is gone: ask again', {
    details: { reason: 'worker-lost' },
  });
  const { rows } = await pool.query<{ callID: string }>(
    `${FAIL} and ${LOST} returning coalesce(call_id, id) as "callID"`,
    [answerID, textOf(lost)],
  );
  if (!rows[0]) return;
  await settleLostCall(pool, rows[0].callID);
  await endCallsOf(onPool(pool), [answerID]);
}

/** Ends an answer of which no worker has begun this step. */
export async function failStep(
  pool: Pool,
  { answerID, step }: { answerID: string; step: number },
  error: AppError,
): Promise<void> {
  await pool.query(`${FAIL} and status = 'waiting' and step = $3`, [answerID, textOf(error), step]);
}

const FAIL = `update ai_answer set status = 'failed', error = $2, ended_at = now() where id = $1 and ended_at is null`;

/**
 * Ends an answer that its client no longer waits for: at once, or while a worker writes it, when that worker sees the
 * mark.
 */
export async function dropAnswer(pool: Pool, answerID: string): Promise<void> {
  const { rowCount } = await pool.query(DROP_ANSWER, [answerID]);
  if (rowCount) await endCallsOf(onPool(pool), [answerID]);
}

export const DROP_ANSWERS = `
update ai_answer set is_unwanted = true,
  status = case status when 'streaming' then status else 'cancelled' end,
  ended_at = case status when 'streaming' then null else now() end`;

const DROP_ANSWER = `${DROP_ANSWERS} where id = $1 and ended_at is null`;

/** Notes that a client still reads an answer; an answer that no client reads is dropped. */
export async function keepReading(pool: Pool, answerID: string): Promise<void> {
  await pool.query(READING, [answerID, CHAT_READER_MS / 1_000]);
}

const READING = `
update ai_answer set read_until = now() + make_interval(secs => $2)
where id = $1 and read_until is not null and ended_at is null`;

function textOf(error: AppError): string {
  return JSON.stringify(toWireError(error));
}

/** Deletes one session of the caller, or all. Its answers are not wanted any more. */
export async function resetSessions(
  pool: Pool,
  { tenantID, caller, chatID }: Omit<Chat, 'chatID'> & { chatID: string | null },
) {
  await pool.query(
    'delete from ai_session where tenant_id = $1 and owner_id = $2 and ($3::text is null or chat_id = $3)',
    [tenantID, caller.id, chatID],
  );
}
