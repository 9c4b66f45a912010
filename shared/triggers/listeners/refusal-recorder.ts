import { LRUCache } from 'lru-cache';
import { newID } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { createThrottledWarning } from '../../core/throttled-warning.ts';
import type { Pool } from '../../db/pool.ts';
import { storable } from '../../db/storable.ts';

/** A delivery that a listener has refused. Without secrets. */
export interface Refusal {
  tenantID: string;
  listenerID: string;
  status: number;
  code: string;
  reason: string;
  /** The network address of the sender. */
  address: string | null;
  method: string;
  path: string;
  /** Names of parameters of the query. */
  parameters: readonly string[];
  headers: readonly [string, string][];
  /** The beginning of the body, if it was read. */
  body: Buffer | null;
  bodyBytes: number | null;
}

export interface RefusalRecorder extends AsyncDisposable {
  /** Counts the refusal; unless there are too many, describes it, and stores it a moment later. */
  record(listenerID: string, describe: () => Refusal): void;
}

/** Refusals of a listener that are stored at once, and then one in each second. Senders are not known, and may send any number. */
const BURST = 5;
/** Refusals in memory, which are stored by one statement. */
const MAX_PENDING = 100;
const MAX_LISTENERS = 2_000;
/** Newest ones that are kept of a listener and of a tenant. */
const MAX_OF_LISTENER = 50;
const MAX_OF_TENANT = 500;
const FLUSH_MS = 300;

interface Bucket {
  tokens: number;
  filledAt: number;
  /** Refusals that were not stored since the last one that was. */
  omitted: number;
}

/** Stores what was refused for a day, bounded before anything is written: by rate for each listener, and by number for listener and tenant. */
export function createRefusalRecorder({ pool, logger }: { pool: Pool; logger: Logger }): RefusalRecorder {
  const buckets = new LRUCache<string, Bucket>({ max: MAX_LISTENERS });
  const warn = createThrottledWarning(logger);
  let pending: (Refusal & { omitted: number; at: Date })[] = [];
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> | undefined;

  function flushLater(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      flushing = flush();
    }, FLUSH_MS).unref();
  }

  async function flush(): Promise<void> {
    await flushing;
    if (pending.length === 0) return;
    const rows = pending;
    pending = [];
    const listeners = [...new Set(rows.map(({ listenerID }) => listenerID))];
    const tenants = [...new Set(rows.map(({ tenantID }) => tenantID))];
    try {
      await pool.query(ADD_REFUSALS, [JSON.stringify(rows.map(rowOf))]);
      await pool.query(TRIM_REFUSALS, [listeners, MAX_OF_LISTENER, tenants, MAX_OF_TENANT]);
    } catch (error) {
      warn(error, 'refused deliveries are not recorded');
    }
  }

  return {
    record(listenerID, describe) {
      const now = performance.now();
      const bucket = buckets.get(listenerID) ?? { tokens: BURST, filledAt: now, omitted: 0 };
      buckets.set(listenerID, bucket);
      bucket.tokens = Math.min(BURST, bucket.tokens + (now - bucket.filledAt) / 1_000);
      bucket.filledAt = now;
      if (bucket.tokens < 1 || pending.length >= MAX_PENDING) {
        bucket.omitted += 1;
        return;
      }
      bucket.tokens -= 1;
      pending.push({ ...describe(), omitted: bucket.omitted, at: new Date() });
      bucket.omitted = 0;
      flushLater();
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await flush();
    },
  };
}

function rowOf({ body, at, ...refusal }: Refusal & { omitted: number; at: Date }) {
  const { tenantID, listenerID, reason, path, parameters, headers, bodyBytes, ...rest } = refusal;
  return {
    ...rest,
    id: newID(),
    tenant_id: tenantID,
    listener_id: listenerID,
    refused_at: at,
    reason: storable(reason),
    path: storable(path),
    parameters: parameters.map(storable),
    headers: headers.map((header) => header.map(storable)),
    body: body?.toString('base64') ?? null,
    body_bytes: bodyBytes,
  };
}

// A listener that was deleted meanwhile has no refusals.
const ADD_REFUSALS = `
insert into listener_refusal
  (id, tenant_id, listener_id, refused_at, status, code, reason, address, method, path, parameters, headers, body, body_bytes, omitted)
select r.id, r.tenant_id, r.listener_id, r.refused_at, r.status, r.code, r.reason, r.address, r.method, r.path, r.parameters, r.headers,
  decode(r.body, 'base64'), r.body_bytes, r.omitted
from jsonb_to_recordset($1::jsonb) as r (
  id uuid, tenant_id uuid, listener_id uuid, refused_at timestamptz, status smallint, code text, reason text, address text, method text,
  path text, parameters text[], headers jsonb, body text, body_bytes integer, omitted integer)
join listener l on l.id = r.listener_id and l.tenant_id = r.tenant_id`;

const TRIM_REFUSALS = `
delete from listener_refusal where id in (
  select id from (
    select id, row_number() over (partition by listener_id order by id desc) as n
    from listener_refusal where listener_id = any($1::uuid[])) of_listener
  where n > $2
  union all
  select id from (
    select id, row_number() over (partition by tenant_id order by id desc) as n
    from listener_refusal where tenant_id = any($3::uuid[])) of_tenant
  where n > $4)`;
