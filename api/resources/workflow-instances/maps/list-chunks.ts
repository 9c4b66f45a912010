import { AppError } from '#shared/core/errors.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import type { RunStatus } from '#shared/workflow/progress/status.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { findReadableRun, VALUES } from '../../../runs/find-run.ts';
import { MapChunkList, MapChunks, MapID } from './schemas.ts';

export const listMapChunks = tenantRoute({
  name: 'listMapChunks',
  method: 'get',
  path: '/workflows/instances/:instanceID/maps/:mapID/chunks',
  summary: 'List the chunks of a map',
  description:
    'Returns the chunks of a map in the order of its items: which items each has, and the run that works them off. Finds the run of one item, or those with failed items.',
  permission: 'workflow.read',
  filter: true,
  alternative: 'workflow.execute',
  params: MapID,
  query: MapChunkList,
  response: MapChunks,

  async handle({ params: { instanceID, mapID }, query, em, require, caller }, { pool }) {
    const run = await findReadableRun({ em, require, caller }, instanceID, { without: VALUES });
    const { item, failed, cursor, limit } = query;
    const values = [run.id, mapID, cursor, item ?? null, failed !== undefined, limit + 1];
    const { rows } = await pool.query<ChunkRow>({ name: 'chunks_of_map', text: CHUNKS, values });
    if (rows.length === 0 && !(await hasMap(pool, values.slice(0, 2))))
      throw new AppError('NOT_FOUND', 'Map not found');
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      chunks: shown.map(({ n: _, ...chunk }) => chunk),
      nextCursor: rows.length > limit && last ? String(last.n) : null,
    };
  },
});

interface ChunkRow {
  n: number;
  first: number;
  size: number;
  instanceID: string | null;
  status: RunStatus | null;
  failed: number | null;
  failedStep: { nodeID: string; frame: IterationPath } | null;
}

async function hasMap(pool: Pool, values: unknown[]): Promise<boolean> {
  return (await pool.query('select from run_map where instance_id = $1 and id = $2', values)).rowCount !== 0;
}

// A map has at most 10,000 chunks, whose rows are read in order. Events are read of the chunks of the page alone. A step whose failure
// was retried, or handled, has failed no item. With fail-fast the run has failed with its item.
const CHUNKS = `
with page as (
  select c.n, c.first, c.size, c.instance_id, c.status, c.failed from run_map m join map_chunk c on c.map_id = m.id
  where m.id = $2 and m.instance_id = $1 and c.n > $3
    and ($4::bigint is null or (c.first <= $4 and c.first + c.size > $4)) and (not $5::boolean or c.failed > 0)
  order by c.n limit $6
)
select page.n, page.first, page.size, page.instance_id as "instanceID", coalesce(page.status, i.status) as status, page.failed,
  case when page.failed > 0 then coalesce(
    (
      select jsonb_build_object('nodeID', e.node_id, 'frame', e.frame) from run_event e
      where e.instance_id = page.instance_id and e.status = 'FAILED' and jsonb_array_length(e.frame) = 1 and e.payload ? 'failsItem'
      order by e.seq limit 1
    ),
    case when jsonb_array_length(i.error -> 'frame') > 0 then jsonb_build_object('nodeID', i.error -> 'nodeID', 'frame', i.error -> 'frame') end
  ) end as "failedStep"
from page left join workflow_instance i on i.id = page.instance_id order by page.n`;
