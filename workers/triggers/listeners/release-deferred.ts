import { type PeriodicTask, startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { FIRST_ID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Producer } from '#shared/messaging/producer.ts';
import {
  COUNT_BREAKERS,
  FORGET_BREAKERS,
  LISTENERS_TO_RELEASE,
  RELEASE_EVENTS,
  START_PROBES,
} from '#shared/triggers/listeners/breakers.ts';
import { KEYS_WITH_DEFERRED } from '#shared/triggers/listeners/deferred-events.ts';
import { type OrderingKey, releaseNextOf } from '#shared/triggers/listeners/release-next.ts';

const START: OrderingKey = { listenerID: FIRST_ID, orderKey: '' };
/** Ordering keys of one round. The next round continues after them. */
const MAX_KEYS = 1_000;

interface Needs {
  pool: Pool;
  producer: Producer;
}

export interface DeferredRelease extends PeriodicTask {
  /** Circuit breakers that are open, of all tenants; 0 in processes that do not lead. */
  readonly openBreakers: number;
}

/**
 * Releases events that need not be deferred any more, and lets one event through each breaker whose probe is due. It finds them in the
 * database, so no message from a process that has died is missed. Only the process that leads does so: all would find the same.
 */
export function createDeferredRelease({
  leads,
  logger,
  ...needs
}: Needs & { leads(): boolean; logger: Logger }): DeferredRelease {
  let after: OrderingKey | undefined;
  let openBreakers = 0;
  const releasing = startPeriodicTask(
    {
      name: 'release deferred events',
      everyMs: 1_000,
      async run() {
        if (!leads()) {
          openBreakers = 0;
          return;
        }
        after = await releaseFirstOfKeys(needs, after);
        await releaseDeferred(needs);
        openBreakers = await tendBreakers(needs);
      },
    },
    logger,
  );
  return {
    get openBreakers() {
      return openBreakers;
    },
    trigger: releasing.trigger,
    [Symbol.asyncDispose]: () => releasing[Symbol.asyncDispose](),
  };
}

interface Released {
  deferredBy: string;
  listenerID: string;
}

/** Releases events of listeners whose breaker has closed, or that are active again. */
export async function releaseDeferred({ pool }: Pick<Needs, 'pool'>): Promise<void> {
  const { rows } = await pool.query<Released>({ name: 'listeners_to_release', text: LISTENERS_TO_RELEASE });
  for (const { deferredBy, listenerID } of rows)
    await pool.query({ name: 'release_events', text: RELEASE_EVENTS, values: [deferredBy, listenerID] });
}

/** Starts the probes that are due. Answers with the number of open breakers. */
export async function tendBreakers({ pool }: Pick<Needs, 'pool'>): Promise<number> {
  const { rows } = await pool.query<{ count: number; open: number }>({ name: 'count_breakers', text: COUNT_BREAKERS });
  const { count, open } = rows[0] ?? { count: 0, open: 0 };
  if (open > 0) await pool.query({ name: 'start_probes', text: START_PROBES });
  if (count > 0) await pool.query({ name: 'forget_breakers', text: FORGET_BREAKERS });
  return open;
}

/** Releases the first event of each key. Returns the key after which the next round continues; undefined if it begins with the first key. */
export async function releaseFirstOfKeys(needs: Needs, after: OrderingKey = START): Promise<OrderingKey | undefined> {
  const { rows } = await needs.pool.query<OrderingKey>({
    name: 'keys_with_deferred_events',
    text: KEYS_WITH_DEFERRED,
    values: [after.listenerID, after.orderKey, MAX_KEYS],
  });
  if (rows.length > 0) await releaseNextOf(needs, rows);
  return rows.length < MAX_KEYS ? undefined : rows.at(-1);
}
