import { LRUCache } from 'lru-cache';
import { createBatcher } from '../concurrency/batcher.ts';
import type { FlowKey } from '../concurrency/fair-queue.ts';
import { maxEntries } from '../core/lru.ts';
import type { Pool } from '../db/pool.ts';

/** Finds the key of a tenant's work in fair queues. The creator of a tenant is read once, because it never changes. */
export interface FlowKeys {
  of(work: { tenantID: string; isShort?: boolean }): Promise<FlowKey>;
}

const MAX_REMEMBERED = 100_000;

export function createFlowKeys(pool: Pool): FlowKeys {
  const creators = new LRUCache<string, string>(maxEntries(MAX_REMEMBERED));
  const read = createBatcher((tenantIDs: string[]) => readCreators(pool, tenantIDs));

  async function creatorOf(tenantID: string): Promise<string | undefined> {
    const known = creators.get(tenantID);
    if (known !== undefined) return known;
    const creatorID = await read(tenantID);
    if (creatorID !== undefined) creators.set(tenantID, creatorID);
    return creatorID;
  }

  return {
    async of({ tenantID, isShort = false }) {
      const creatorID = await creatorOf(tenantID);
      return { tenantID, isShort, ...(creatorID !== undefined && { creatorID }) };
    },
  };
}

async function readCreators(pool: Pool, tenantIDs: readonly string[]): Promise<(string | undefined)[]> {
  const { rows } = await pool.query<{ id: string; creator_id: string }>({
    name: 'tenant_creators',
    text: 'select id, creator_id from tenant where id = any($1::uuid[])',
    values: [tenantIDs],
  });
  const found = new Map(rows.map(({ id, creator_id }) => [id, creator_id]));
  return tenantIDs.map((id) => found.get(id));
}
