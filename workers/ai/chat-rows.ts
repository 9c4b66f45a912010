import { appendChunks, saveMessage } from '#shared/apps/ai/answer-rows.ts';
import { CHAT_LEASE_MS } from '#shared/apps/ai/chat.ts';
import { digestOf, type OfferedTool, type StoredPart } from '#shared/apps/ai/tool-calls.ts';
import { type AppError, toWireError } from '#shared/core/errors.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient, type Query } from '#shared/db/query.ts';

/** A step of an answer that this worker has claimed. `callID` is its fencing token: writes of an earlier claim change nothing. */
export interface TakenStep {
  answerID: string;
  callID: string;
  sessionID: string;
  messageID: string;
  step: number;
  /** Tools that the model may call. */
  tools: OfferedTool[];
  /** Rows of chunks of earlier steps. */
  rows: number;
}

/** Claims a waiting step. Undefined if it is not wanted any more. */
export async function claimStep(
  pool: Pool,
  { answerID, callID, step }: { answerID: string; callID: string; step: number | undefined },
): Promise<TakenStep | undefined> {
  const { rows } = await pool.query<Omit<TakenStep, 'answerID' | 'callID' | 'tools'> & { tools: string | null }>(
    CLAIM,
    [answerID, CHAT_LEASE_MS / 1_000, callID, step ?? null],
  );
  const [row] = rows;
  // Safe: the API has written the tools.
  return row && { ...row, answerID, callID, tools: row.tools === null ? [] : (JSON.parse(row.tools) as OfferedTool[]) };
}

const CLAIM = `
update ai_answer set status = 'streaming', call_id = $3, alive_until = now() + make_interval(secs => $2)
where id = $1 and status = 'waiting' and step = coalesce($4::integer, step)
returning session_id as "sessionID", coalesce(message_id, id::text) as "messageID", step, tools,
  (select coalesce(max(number), 0) from ai_chunk where answer_id = $1) as rows`;

type ClaimedStep = Pick<TakenStep, 'answerID' | 'callID'>;

/** Renews the claim of a step. False if the step is not wanted any more, or is no longer claimed by this worker. */
export async function renewStep(pool: Pool, { answerID, callID }: ClaimedStep): Promise<boolean> {
  const { rowCount } = await pool.query(RENEW, [answerID, CHAT_LEASE_MS / 1_000, callID]);
  return rowCount === 1;
}

const OWNED = `where id = $1 and status = 'streaming' and call_id = $3`;

const RENEW = `update ai_answer set alive_until = now() + make_interval(secs => $2) ${OWNED} and not is_unwanted and coalesce(read_until > now(), true)`;

interface NewChunks extends ClaimedStep {
  number: number;
  /** A JSON array. */
  chunks: string;
}

/** Writes chunks of a step. False if the step is not wanted any more. */
export async function writeChunks(pool: Pool, { answerID, callID, number, chunks }: NewChunks): Promise<boolean> {
  const { rowCount } = await pool.query(WRITE, [answerID, CHAT_LEASE_MS / 1_000, callID, number, chunks]);
  return rowCount === 1;
}

const WRITE = `
with alive as (
  update ai_answer set alive_until = now() + make_interval(secs => $2) ${OWNED} returning tenant_id)
insert into ai_chunk (answer_id, number, tenant_id, chunks) select $1, $4, tenant_id, $5 from alive`;

/** A call that a model asks for. */
export interface WantedCall {
  id: string;
  tool: string;
  input: unknown;
  providerMetadata: object | undefined;
}

interface StepEnd extends ClaimedStep {
  parts: readonly StoredPart[];
  chunks: readonly object[];
}

/** Ends a step with calls of tools, which the API then makes. False if the step is not wanted any more. */
export function endStep(
  pool: Pool,
  { answerID, callID, parts, chunks, calls }: StepEnd & { calls: readonly WantedCall[] },
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const query = onClient(client);
    const { rowCount } = await query(STEP, [answerID, CHAT_LEASE_MS / 1_000, callID]);
    if (!rowCount) return false;
    await saveMessage(query, answerID, parts);
    for (const [at, call] of calls.entries()) await addCall(query, answerID, { ...call, number: at + 1 });
    await appendChunks(query, answerID, chunks);
    return true;
  });
}

const STEP = `
update ai_answer set status = 'calling', step = step + 1, restarts = 0, claimed_until = null,
  alive_until = now() + make_interval(secs => $2 * 6) ${OWNED}`;

async function addCall(
  query: Query,
  answerID: string,
  { id, tool, input, providerMetadata, number }: WantedCall & { number: number },
): Promise<void> {
  const metadata = providerMetadata ? JSON.stringify(providerMetadata) : null;
  await query(ADD, [id, answerID, number, tool, JSON.stringify(input), digestOf(input), metadata]);
}

const ADD = `
insert into ai_tool_call (id, tenant_id, session_id, turn_id, number, tool, input, input_digest, caller, provider_metadata)
select $1, tenant_id, session_id, id, $3, $4, $5, $6, caller, $7 from ai_answer where id = $2`;

interface AnswerEnd extends StepEnd {
  status: 'done' | 'failed' | 'cancelled';
  error?: AppError;
}

/** Ends an answer, and adds its message to the conversation. Changes nothing when it is repeated. */
export async function endAnswer(
  pool: Pool,
  { answerID, callID, status, error, parts, chunks }: AnswerEnd,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const query = onClient(client);
    const { rowCount } = await query(END, [
      answerID,
      status,
      callID,
      error ? JSON.stringify(toWireError(error)) : null,
    ]);
    if (!rowCount) return;
    await saveMessage(query, answerID, parts);
    await appendChunks(query, answerID, chunks);
  });
}

const END = `update ai_answer set status = $2, error = $4, ended_at = now() ${OWNED}`;
