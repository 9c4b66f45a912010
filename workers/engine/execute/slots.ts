import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import type { MemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { Permit, type PermitSource } from '#shared/concurrency/work-context.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import { isPure } from '#shared/workflow/nodes/properties.ts';
import type { Lease } from '../lease/lease.ts';

/**
 * Nodes that may have begun and not ended in a process, for each slot. Those that wait for a connection or the sandbox have released
 * their slot, but their config and input are still in memory.
 */
const BEGUN_PER_SLOT = 4;
/** The share of slots that only short nodes get. */
const SHORT_ONLY = 1 / 5;
/**
 * Slots that a creator may have for each free slot. With 4, a single creator gets four fifths of all slots (with 1 it would be half, too few
 * for a deployment with one creator). The next creator finds a free slot at once, even while the nodes of the first wait for silent servers.
 */
const PER_FREE_SLOT = 4;

export interface SlotWork {
  flow: FlowKey;
  /** The node ends soon: it neither reaches out of the process nor runs code of its tenant. */
  isShort: boolean;
  /** Whether the node must not run any more. Asked after each wait for a slot. */
  isOver(): boolean;
  run(): Promise<void>;
}

/**
 * The slots of a process for nodes, a fair queue in front of them. A node that waits for a connection to the outside or for the sandbox
 * releases its slot meanwhile. Creators share the slots, and the nodes that may have begun, so that a wide run does not fill the process.
 */
export interface Slots {
  /** Does the work in a slot and under a valid lease, at once if it can. */
  enter(work: SlotWork): Promise<void>;
  readonly used: number;
  readonly waiting: number;
}

export function createSlots(
  count: number,
  lease: Pick<Lease, 'isValid' | 'untilValid'>,
  bytes: Pick<MemoryBudget, 'openReservation'>,
): Slots {
  const begun = createSemaphore({ permits: count * BEGUN_PER_SLOT, dynamicLimit: 1 });
  const slots = createSemaphore({
    permits: count,
    permitsForShort: Math.floor(count * SHORT_ONLY),
    dynamicLimit: PER_FREE_SLOT,
  });

  /** Slots that are acquired only under a valid lease. A node that released its slot for a wait acquires one here before it goes on. */
  const leasedSlots: PermitSource = {
    tryAcquire: (flow) => lease.isValid && slots.tryAcquire(flow),
    /** Waits for the lease and a slot, and again for both if the lease ended during the wait for the slot. */
    async acquire(flow, signal, options) {
      for (;;) {
        if (!(await unlessAborted(lease.untilValid(), signal))) return false;
        if (!slots.tryAcquire(flow) && !(await slots.acquire(flow, signal, options))) return false;
        if (lease.isValid) return true;
        slots.release(flow);
      }
    },
    release: (flow) => slots.release(flow),
  };

  async function runInSlot(flow: FlowKey, { isOver, run }: SlotWork): Promise<void> {
    if (!leasedSlots.tryAcquire(flow)) await leasedSlots.acquire(flow);
    using permit = new Permit(leasedSlots, flow, flow.isShort ? undefined : bytes.openReservation(flow));
    if (!isOver()) await (flow.isShort ? run() : permit.run(run));
  }

  return {
    get used() {
      return slots.used;
    },
    get waiting() {
      return slots.waiting + begun.waiting;
    },
    async enter(work) {
      const { flow, isShort, isOver } = work;
      if (isShort) return await runInSlot({ ...flow, isShort }, work);
      if (!begun.tryAcquire(flow)) await begun.acquire(flow);
      try {
        if (!isOver()) await runInSlot(flow, work);
      } finally {
        begun.release(flow);
      }
    },
  };
}

/** Awaits a promise; returns false if the signal is aborted before. */
async function unlessAborted(wait: Promise<void>, signal: AbortSignal | undefined): Promise<boolean> {
  if (!signal) return wait.then(() => true);
  if (signal.aborted) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const giveUp = () => resolve(false);
  signal.addEventListener('abort', giveUp, { once: true });
  void wait.then(() => resolve(true));
  return promise.finally(() => signal.removeEventListener('abort', giveUp));
}

const known = new WeakMap<GraphNode, boolean>();

/** Whether a node ends soon: it is pure, or its kind neither reaches out (`clocked`) nor runs code of the tenant (`snippets`). */
export function isShortNode(node: GraphNode): boolean {
  let isShort = known.get(node);
  if (isShort === undefined) {
    const { definition, config } = node;
    isShort = isPure(definition, config) || (!definition.clocked && !definition.snippets);
    known.set(node, isShort);
  }
  return isShort;
}
