import type { z } from 'zod';
import type { Pool } from '#shared/db/pool.ts';
import type { Waiting, WaitReason } from './wait-schemas.ts';

type Reason = z.input<typeof WaitReason>;

/** Characters of a title, or of the name or the key of an event. */
const MAX_SHOWN = 100;
/** Waits that a message names. */
const MAX_NAMED = 3;

/** The reason of the first wait, which also names the other nodes that wait. */
export async function reasonOfWaits(
  pool: Pool,
  run: { id: string; tenantID: string },
  { others = [], ...first }: Wait,
): Promise<Reason | undefined> {
  const reasons: Reason[] = [];
  for (const wait of [first, ...others].slice(0, MAX_NAMED))
    reasons.push(...reasonOfWait(wait, await findTitle(pool, run, wait)));
  const [reason, ...more] = reasons;
  if (!reason) return undefined;
  const left = 1 + others.length - MAX_NAMED;
  const messages = [
    ...more.map(({ message }) => message.replace(/^waits /, '')),
    ...(left > 0 ? [`${left} more`] : []),
  ];
  return { ...reason, message: [reason.message, ...messages].join(', and ') };
}

type Wait = z.input<typeof Waiting>;

/** The title of the question or of the node that waits; null if the node is not known. */
async function findTitle(
  pool: Pool,
  run: { id: string; tenantID: string },
  { nodeID, collectionRequestID }: Wait,
): Promise<string | null> {
  if (nodeID === undefined) return null;
  const values = [run.id, run.tenantID, nodeID, collectionRequestID ?? null];
  const { rows } = await pool.query<{ title: string | null }>({ name: 'wait_title', text: TITLE, values });
  return cut(rows[0]?.title || nodeID);
}

function reasonOfWait({ reason, until, event }: Wait, title: string | null): Reason[] {
  const at = title === null ? '' : ` at “${title}”`;
  const ends = { ...(until && { until }) };
  if (reason === 'delay') {
    const seconds = until ? Math.max(0, Math.ceil((Date.parse(until) - Date.now()) / 1_000)) : null;
    return [{ ...plain('delay', `waits for a time${at}`), ...ends, estimateSeconds: seconds }];
  }
  if (reason === 'input')
    return [{ ...plain('input', `waits for an answer${title === null ? '' : ` to “${title}”`}`), ...ends }];
  if (reason === 'event') {
    const what = event ? `the event \`${cut(event.name)}\` with key \`${cut(event.key)}\`` : 'an event';
    return [{ ...plain('event', `waits for ${what}${at}`), ...ends }];
  }
  return reason === 'child' ? [plain('child', `waits for a run that it has started${at}`)] : [];
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text;
}

/** A reason without a place in a queue. */
export function plain(code: Reason['code'], message: string): Reason {
  return { code, message, position: null, estimateSeconds: null };
}

const TITLE = `
select coalesce(
  nullif((select collection_config ->> 'title' from collection_request where id = $4::uuid and instance_id = $1), ''),
  (select node #>> '{data,title}' from workflow_instance i join workflow_version v on v.id = i.version_id
   cross join lateral jsonb_array_elements(v.nodes) node
   where i.id = $1 and i.tenant_id = $2 and v.tenant_id = $2 and node ->> 'id' = $3 limit 1)) as title`;
