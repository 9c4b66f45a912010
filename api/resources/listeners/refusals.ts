import type { Query } from '#shared/db/query.ts';
import { tenantRoute } from '../../context/routes.ts';
import { getListener } from './find.ts';
import { Refusals } from './refusal-schemas.ts';
import { ListenerID } from './schemas.ts';

interface RefusalRow {
  id: string;
  refusedAt: Date;
  status: number;
  code: string;
  reason: string;
  address: string | null;
  method: string;
  path: string;
  parameters: string[];
  headers: [string, string][];
  body: Buffer | null;
  bodyBytes: number | null;
  omitted: number;
}

const REFUSALS = `
select id, refused_at as "refusedAt", status, code, reason, address, method, path, parameters, headers, body,
  body_bytes as "bodyBytes", omitted
from listener_refusal where tenant_id = $1 and listener_id = $2 and expires_at > now()
order by id desc limit 50`;

const COUNTS = `
select listener_id as id, count(*)::int as count from listener_refusal
where tenant_id = $1 and expires_at > now() group by listener_id`;

/** How many refused deliveries of the last day are recorded, by the ids of the listeners that have some. */
export async function countRefusals(run: Query, tenantID: string): Promise<ReadonlyMap<string, number>> {
  const { rows } = await run<{ id: string; count: number }>(COUNTS, [tenantID]);
  return new Map(rows.map(({ id, count }) => [id, count]));
}

export const listRefusals = tenantRoute({
  name: 'listListenerRefusals',
  method: 'get',
  path: '/listeners/:listenerID/refusals',
  summary: 'List the deliveries that a listener has refused',
  description:
    'Returns the newest deliveries of the last day that a webhook has refused, with the reason: at most 50, of which five at once and then one in each second are recorded.',
  permission: 'listener.read',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: ListenerID,
  response: Refusals,

  async handle({ params, em, tenantID }, { pool }) {
    const { id } = await getListener(em, params.listenerID);
    const { rows } = await pool.query<RefusalRow>(REFUSALS, [tenantID, id]);
    return {
      refusals: rows.map(({ id: refusalID, refusedAt, body, ...row }) => ({
        ...row,
        refusalID,
        refusedAt: refusedAt.toISOString(),
        bodyStart: body?.toString('utf8') ?? null,
      })),
    };
  },
});
