import { isDeepStrictEqual } from 'node:util';
import type { Json } from '#shared/core/json.ts';
import type { Query } from '#shared/db/query.ts';

/**
 * SQL assignments that end a call which will never be made. The model reads that it was denied; its input is dropped, as
 * nothing needs it.
 */
export const END_UNCALLED = `
status = 'denied', reason = 'the answer was ended before', ended_at = now(), input = coalesce(shown_input, '{}')`;

/** Ends the calls that answers left open when they ended. A call that the user has confirmed is kept for the next answer. */
export async function endCallsOf(query: Query, answerIDs: readonly string[]): Promise<void> {
  if (answerIDs.length === 0) return;
  const { rows } = await query<{ id: string; turnID: string; input: string }>(END_CALLS, [JSON.stringify(answerIDs)]);
  for (const { id, turnID, input } of rows) await hideInput(query, turnID, { id, shown: JSON.parse(input) as Json });
}

const END_CALLS = `
update ai_tool_call c set ${END_UNCALLED} from ai_answer a
where a.id in (select value::uuid from json_array_elements_text($1)) and a.ended_at is not null and c.turn_id = a.id and c.status = 'ready' and c.decided_at is null
returning c.id, c.turn_id as "turnID", c.input`;

interface Piece {
  type: string;
  toolCallId?: string;
  input?: Json;
}

/** Replaces the input of a call that is over in the pieces of its answer. */
export async function hideInput(
  query: Query,
  answerID: string,
  { id, shown }: { id: string; shown: Json },
): Promise<void> {
  const { rows } = await query<{ number: number; chunks: string }>(HOLDING, [answerID, id]);
  for (const { number, chunks } of rows) {
    // Safe cast: only workers and the API write this column.
    const before = JSON.parse(chunks) as Piece[];
    const after = before.map((piece) =>
      piece.type === 'tool-input-available' && piece.toolCallId === id ? { ...piece, input: shown } : piece,
    );
    if (!isDeepStrictEqual(before, after)) await query(REPLACE, [answerID, number, JSON.stringify(after)]);
  }
}

const HOLDING = 'select number, chunks from ai_chunk where answer_id = $1 and strpos(chunks, $2) > 0';
const REPLACE = 'update ai_chunk set chunks = $3 where answer_id = $1 and number = $2';
