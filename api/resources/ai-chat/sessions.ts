import type { Caller } from '#shared/core/caller.ts';
import type { Pool } from '#shared/db/pool.ts';

interface Session {
  id: string;
  title: string;
  createdAt: string;
  updatedAt: string;
  isAnswering: boolean;
  isWaiting: boolean;
}

const MAX_TITLE = 100;

/** The sessions of a caller, the one that was used last first. */
export async function listSessions(
  pool: Pool,
  { tenantID, caller }: { tenantID: string; caller: Caller },
): Promise<Session[]> {
  const { rows } = await pool.query<Stored>(SESSIONS, [tenantID, caller.id]);
  return rows.map(({ beginning, createdAt, updatedAt, ...session }) => ({
    ...session,
    title: titleIn(beginning ?? ''),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }));
}

interface Stored extends Pick<Session, 'id' | 'isAnswering' | 'isWaiting'> {
  /** The beginning of the JSON of the first message's parts. */
  beginning: string | null;
  createdAt: Date;
  updatedAt: Date;
}

const SESSIONS = `
select s.chat_id as id, s.created_at as "createdAt", s.updated_at as "updatedAt",
  (select left(m.parts, 1000) from ai_message m where m.session_id = s.id and m.role = 'user' order by m.number limit 1) as beginning,
  exists (select from ai_answer a where a.session_id = s.id and a.ended_at is null) as "isAnswering",
  exists (select from ai_tool_call c where c.session_id = s.id and c.status = 'asked') as "isWaiting"
from ai_session s where s.tenant_id = $1 and s.owner_id = $2 order by s.updated_at desc limit 100`;

export async function hasOwnModel(pool: Pool, tenantID: string): Promise<boolean> {
  const { rowCount } = await pool.query('select from ai_config where tenant_id = $1 and provider is not null', [
    tenantID,
  ]);
  return rowCount === 1;
}

/** The first line of the text, which may be cut off within an escape. */
function titleIn(beginning: string): string {
  const [, text = ''] = /"text":"((?:[^"\\]|\\.)*)/.exec(beginning) ?? [];
  const [, whole = ''] = /^((?:[^\\]|\\u[\da-f]{4}|\\[^u])*)/i.exec(text) ?? [];
  const said = JSON.parse(`"${whole}"`) as string;
  const [line = ''] = said.trim().split('\n');
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1).toWellFormed()}…` : line;
}
