import type { NodeStatus, Run, RunStatus, Schemas, TimelineEvent } from './types.ts';

/** The state of a step. One that a run has cut off by ending is unfinished: “cancelled” is what a person does to a run. */
export type StepStatus = NodeStatus | 'UNFINISHED';

/** The work of a node in one iteration. */
export interface Step {
  key: string;
  nodeID: string;
  frame: TimelineEvent['frame'];
  status: StepStatus;
  /** In order; the last one says how the step is. */
  events: TimelineEvent[];
  last: TimelineEvent;
}

/** A node of a run with all its iterations. */
export interface NodeSteps {
  nodeID: string;
  steps: Step[];
  /** The one to look at first: a failed one, else the latest. */
  shown: Step;
  failed: number;
  running: number;
  /** Exits by which the step was left in any iteration. */
  exits: ReadonlySet<string>;
  /** Whether it was skipped in all of them. */
  isSkipped: boolean;
}

export function stepKey({ nodeID, frame }: Pick<TimelineEvent, 'nodeID' | 'frame'>): string {
  return frame.length === 0 ? nodeID : `${nodeID}@${frame.map(({ iteration }) => iteration).join('.')}`;
}

/** The nodes that have begun, in the order in which they did. */
export function nodesOf(timeline: readonly TimelineEvent[], run?: RunStatus): NodeSteps[] {
  const isCut = run === 'COMPLETED' || run === 'FAILED';
  const statusOf = ({ status }: TimelineEvent) => (isCut && status === 'CANCELLED' ? 'UNFINISHED' : status);
  const nodes = new Map<string, Map<string, Step>>();
  for (const event of timeline) {
    const steps = nodes.get(event.nodeID) ?? new Map<string, Step>();
    nodes.set(event.nodeID, steps);
    const key = stepKey(event);
    const known = steps.get(key);
    if (known) {
      known.events.push(event);
      known.last = event;
      known.status = statusOf(event);
    } else {
      const { nodeID, frame } = event;
      steps.set(key, { key, nodeID, frame, status: statusOf(event), events: [event], last: event });
    }
  }
  return [...nodes].map(([nodeID, steps]) => withCounts(nodeID, [...steps.values()]));
}

/** The events of both in the order of their numbers, each once. Several may share a number: a node's outcome ends one and begins others. */
export function mergeTimeline(
  timeline: readonly TimelineEvent[],
  events: readonly TimelineEvent[],
): readonly TimelineEvent[] {
  const known = new Set(timeline.slice(-MAX_OVERLAP).map(identityOf));
  const added = events.filter((event) => {
    const identity = identityOf(event);
    if (known.has(identity)) return false;
    known.add(identity);
    return true;
  });
  if (added.length === 0) return timeline;
  return [...timeline, ...added].sort((one, other) => one.seq - other.seq);
}

/** Events that may come a second time are at most those of one reading, which are the latest. */
const MAX_OVERLAP = 10_000;

function identityOf(event: TimelineEvent): string {
  return `${event.seq} ${stepKey(event)} ${event.attempt} ${event.status}`;
}

function withCounts(nodeID: string, steps: Step[]): NodeSteps {
  const failed = steps.filter(({ status }) => status === 'FAILED');
  const running = steps.filter(({ status }) => status === 'RUNNING').length;
  // A node that has begun has a step.
  const shown = (failed.at(0) ?? steps.at(-1)) as Step;
  const exits = new Set(steps.flatMap(({ last: { exit } }) => exit ?? []));
  const isSkipped = steps.every(({ status }) => status === 'SKIPPED');
  return { nodeID, steps, shown, failed: failed.length, running, exits, isSkipped };
}

/** The number of items of a map that have failed. */
export interface FailedItems {
  failed: number;
  total: number;
}

/** The nodes whose maps have failed items, those of all iterations together. */
export function failedItemsOf(
  maps: readonly Pick<Schemas['WorkflowInstanceMap'], 'nodeID' | 'failed' | 'total'>[] = [],
): ReadonlyMap<string, FailedItems> {
  const found = new Map<string, FailedItems>();
  for (const { nodeID, failed, total } of maps) {
    const known = found.get(nodeID) ?? { failed: 0, total: 0 };
    found.set(nodeID, { failed: known.failed + failed, total: known.total + total });
  }
  return new Map([...found].filter(([, { failed }]) => failed > 0));
}

/** A part of the time of a step: an attempt, or a wait. */
export interface Span {
  kind: StepStatus | 'queue';
  from: number;
  to: number;
  attempt: number;
}

/** How a step spent its time. A node that takes no time has an outcome alone. */
export function spansOf({ events, last, status }: Step, now: number): Span[] {
  const spans: Span[] = [];
  for (const [index, event] of events.entries()) {
    const from = Date.parse(event.at);
    const next = events[index + 1];
    if (isOver(event)) {
      // The last one may have been cut off.
      end(spans, { ...event, status: event === last ? status : event.status });
    } else {
      const to = next ? Date.parse(next.at) : now;
      spans.push({ kind: event.status, from, to: Math.max(from, to), attempt: event.attempt });
    }
  }
  return spans;
}

/** The attempt that goes on has ended; without one, the step took no time. */
function end(
  spans: Span[],
  { status: kind, at, attempt }: Pick<TimelineEvent, 'at' | 'attempt'> & { status: StepStatus },
) {
  const before = spans.at(-1);
  if (before?.kind === 'RUNNING') before.kind = kind;
  else if (!before) spans.push({ kind, from: Date.parse(at), to: Date.parse(at), attempt });
}

function isOver({ status }: TimelineEvent): boolean {
  return status !== 'RUNNING' && status !== 'SUSPENDED';
}

/** The time before a worker had the run. */
export function queueSpan({ createdAt, startedAt, completedAt }: Run, now: number): Span {
  const from = Date.parse(createdAt);
  return { kind: 'queue', from, to: Date.parse(startedAt ?? completedAt ?? new Date(now).toISOString()), attempt: 0 };
}
