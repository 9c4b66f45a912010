import type { Pool } from '#shared/db/pool.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';

interface MapRow {
  id: string;
  node_id: string;
  frame: IterationPath | null;
  items: number;
  done_items: number;
  failed_items: number;
  chunks: number;
  started: number;
  ended: number;
  is_over: boolean;
  created_at: Date;
}

/**
 * How far the maps of a run are, from their counters; undefined if it has none. A map in a loop has one row for each
 * time it began.
 */
export async function findMaps(pool: Pool, instanceID: string) {
  const { rows } = await pool.query<MapRow>({ name: 'maps_of_run', text: MAPS, values: [instanceID] });
  if (rows.length === 0) return undefined;
  return rows.reverse().map((row) => ({
    mapID: row.id,
    nodeID: row.node_id,
    frame: row.frame ?? [],
    done: row.done_items,
    total: row.items,
    failed: row.failed_items,
    chunks: { total: row.chunks, started: row.started, ended: row.ended },
    isOver: row.is_over,
    createdAt: row.created_at.toISOString(),
  }));
}

const MAPS = `
select id, node_id, frame, items, done_items, failed_items, chunks, started, ended, outcome is not null as is_over, created_at
from run_map where instance_id = $1 order by id desc limit 100`;
