import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { ADD_COUNTS, ADD_USAGE } from './event-rows.ts';

/** Counts received events in memory until the next flush. A process that is killed loses up to a second of counts, but no events. */
export function createReceived(pool: Pool, logger: Logger) {
  let byTenant = new Map<string, Sum>();
  let byListener = new Map<string, { events: number; at: Date }>();

  return {
    add({ tenantID, listenerID, body }: Event): void {
      const sum = byTenant.get(tenantID) ?? { events: 0, bytes: 0 };
      sum.events += 1;
      sum.bytes += body.length;
      byTenant.set(tenantID, sum);
      const events = (byListener.get(listenerID)?.events ?? 0) + 1;
      byListener.set(listenerID, { events, at: new Date() });
    },
    async flush(): Promise<void> {
      if (byTenant.size === 0) return;
      const tenants = [...byTenant].map(([tenant_id, sum]) => ({ tenant_id, ...sum }));
      const listeners = [...byListener].map(([listener_id, sum]) => ({ listener_id, ...sum }));
      byTenant = new Map();
      byListener = new Map();
      const report = (error: unknown) => logger.warn({ err: error }, 'counts of events are lost');
      await pool.query(ADD_USAGE, [JSON.stringify(tenants)]).catch(report);
      await pool.query(ADD_COUNTS, [JSON.stringify(listeners)]).catch(report);
    },
  };
}

interface Event {
  tenantID: string;
  listenerID: string;
  body: Buffer;
}

interface Sum {
  events: number;
  bytes: number;
}
