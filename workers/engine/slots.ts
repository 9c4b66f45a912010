import type { ByteAccount } from '#shared/byte-account.ts';
import { createLane } from '#shared/lanes.ts';
import { isPure } from '#shared/nodes/properties.ts';
import type { Turn } from '#shared/turns.ts';
import { Place } from '#shared/work.ts';
import type { GraphNode } from '#shared/workflow/graph.ts';
import type { Lease } from './lease.ts';

/**
 * Nodes of one process that have begun and not ended, for each slot: those that wait for a connection or the sandbox have given back
 * their slot, but hold their config and input.
 */
const BEGUN_PER_SLOT = 4;
/** The share of slots that only short nodes get. */
const RESERVE = 1 / 5;
/**
 * Slots that a creator may have for each free one. A creator alone gets four fifths of them, since half would halve the work of a
 * deployment with one creator. The next creator finds one at once, also while the nodes of the first wait for silent servers.
 */
const SHARE = 4;

export interface SlotWork {
  turn: Turn;
  /** The node ends soon: it neither reaches out of the process nor runs code of its tenant. */
  isShort: boolean;
  /** Whether the node must not run any more, asked after a wait. */
  isOver(): boolean;
  run(): Promise<void>;
}

/**
 * The slots of a process for nodes; creators take turns. A node that waits for a connection to the outside or for the sandbox gives
 * its slot back meanwhile. Creators share the slots, and the nodes that may have begun, so that a wide run does not fill the process.
 */
export interface Slots {
  /** Does the work in a slot and under a valid lease, at once if it can. */
  enter(work: SlotWork): Promise<void>;
  readonly used: number;
  readonly waiting: number;
}

export function createSlots(
  places: number,
  lease: Pick<Lease, 'isValid' | 'untilValid'>,
  bytes: Pick<ByteAccount, 'open'>,
): Slots {
  const begun = createLane({ places: places * BEGUN_PER_SLOT, sharesByCreator: true });
  const slots = createLane({ places, reserve: Math.floor(places * RESERVE), sharesByCreator: SHARE });

  /** Waits for a slot under a valid lease; the wait for the one may outlast the other. */
  async function untilMayStart(turn: Turn): Promise<void> {
    for (;;) {
      await lease.untilValid();
      if (!slots.take(turn)) await slots.wait(turn);
      if (lease.isValid) return;
      slots.leave(turn);
    }
  }

  async function runInSlot(turn: Turn, { isOver, run }: SlotWork): Promise<void> {
    if (!lease.isValid || !slots.take(turn)) await untilMayStart(turn);
    using place = new Place(slots, turn, turn.isShort ? undefined : bytes.open(turn));
    if (!isOver()) await (turn.isShort ? run() : place.run(run));
  }

  return {
    get used() {
      return slots.used;
    },
    get waiting() {
      return slots.waiting + begun.waiting;
    },
    async enter(work) {
      const { turn, isShort, isOver } = work;
      if (isShort) return await runInSlot({ ...turn, isShort }, work);
      if (!begun.take(turn)) await begun.wait(turn);
      try {
        if (!isOver()) await runInSlot(turn, work);
      } finally {
        begun.leave(turn);
      }
    },
  };
}

const known = new WeakMap<GraphNode, boolean>();

export function isShortNode(node: GraphNode): boolean {
  let isShort = known.get(node);
  if (isShort === undefined) {
    const { definition, config } = node;
    isShort = isPure(definition, config) || (!definition.clocked && !definition.snippets);
    known.set(node, isShort);
  }
  return isShort;
}
