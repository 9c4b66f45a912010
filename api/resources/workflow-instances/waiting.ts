import type { z } from 'zod';
import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import { RunEvent } from '#shared/entities/tables/run-event.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import type { RunEventPayload } from '#shared/messaging/realtime/run-events.ts';
import type { Waiting } from '../../runs/wait-schemas.ts';
import { hasLiveWorker } from './live-worker.ts';

type Reason = z.input<typeof Waiting>;

/** Reason why a run waits: the waits of its nodes, or that no worker has taken it. `latest` are its nodes' last events. */
export async function findWaiting(
  { em, pool }: { em: EntityManager; pool: Pool },
  run: Omit<WorkflowInstance, 'input' | 'output'>,
  latest: readonly Pick<RunEvent, 'seq' | 'status'>[],
): Promise<Reason | undefined> {
  if (run.status !== 'PENDING' && run.status !== 'WAITING') return undefined;
  if (run.status === 'PENDING' && !run.readyAt && run.wakeAt)
    return { reason: 'delay', until: run.wakeAt.toISOString() };
  if (run.readyAt || run.keptSince) return { reason: (await hasLiveWorker(pool)) ? 'queue' : 'no-worker' };

  // A failed node with a retry ahead waits like a suspended one.
  const seqs = latest.filter(({ status }) => status === 'SUSPENDED' || status === 'FAILED').map(({ seq }) => seq);
  const events = await em.find(RunEvent, { instanceID: run.id, seq: { $in: seqs } });
  const reasons = events.flatMap(reasonOf);
  const shown = reasons.sort((one, other) => rank[one.reason] - rank[other.reason]).slice(0, MAX_SHOWN);
  const [reason, ...others] = await withExpiries(em, shown);
  if (reason) return { ...reason, ...(others.length > 0 && { others }) };
  // A pause between two items of a loop has no event.
  return run.wakeAt ? { reason: 'delay', until: run.wakeAt.toISOString() } : undefined;
}

/** Nodes whose waits are shown. */
const MAX_SHOWN = 101;

/** The waits, with the times when questions expire. Their events do not say, because the clock of the database decides. */
async function withExpiries(em: EntityManager, reasons: readonly Reason[]): Promise<Reason[]> {
  const ids = reasons.flatMap(({ collectionRequestID }) => collectionRequestID ?? []);
  if (ids.length === 0) return [...reasons];
  const requests = await em.find(CollectionRequest, { id: { $in: ids } }, { fields: ['expiresAt'] });
  const expiries = new Map(requests.map(({ id, expiresAt }) => [id, expiresAt]));
  return reasons.map((reason) => {
    const until = expiries.get(reason.collectionRequestID ?? '')?.toISOString();
    return { ...reason, ...(until !== undefined && { until }) };
  });
}

function reasonOf({ nodeID, payload: stored }: RunEvent): Reason[] {
  // The engine writes these payloads.
  const payload = stored as RunEventPayload | null | undefined;
  const at = { ...(nodeID && { nodeID }), ...(payload?.dueAt && { until: payload.dueAt }) };
  if (payload?.wait === 'input')
    return [
      { reason: 'input', ...at, collectionRequestID: (payload.request ?? payload.reminder)?.collectionRequestID },
    ];
  if (payload?.wait === 'child' || payload?.wait === 'chunks') return [{ reason: 'child', ...at }];
  if (payload?.wait === 'event') return [{ reason: 'event', ...at, ...(payload.event && { event: payload.event }) }];
  return payload?.dueAt ? [{ reason: 'delay', ...at }] : [];
}

/** Chooses, of several waits, the one that a user can act on. */
const rank = { input: 0, event: 1, child: 2, delay: 3, queue: 4, 'no-worker': 5 } as const satisfies Record<
  Reason['reason'],
  number
>;
