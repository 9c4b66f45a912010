import { queryOptions, skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { errorInPlaceOf } from './error-in-place.ts';
import { every } from './every.ts';
import { hasEnded } from './live-runs.ts';
import { APIError, body, isRefusal, rest } from './rest.ts';
import { mergeTimeline } from './run-steps.ts';
import { getSocket, type ServerPayload, useConnection, watchRun } from './socket.ts';
import type { Run, TimelineEvent } from './types.ts';

const PATH = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}';
const PAGE = 5_000;
/** A page holds no more; the rest of a longer run is read by its iterations and its log. */
const MAX_EVENTS = 20_000;
/** How often the reason for waiting is read again, which has no event, as the loss of a permission has none. */
const REASON_MS = 1_500;
/** Events of this time are shown together. */
const BATCH_MS = 60;

interface RunIDs {
  tenantID: string;
  instanceID: string;
}

const runKey = ({ tenantID, instanceID }: RunIDs) => ['run', tenantID, instanceID] as const;
const headKey = ({ tenantID, instanceID }: RunIDs) => ['run-head', tenantID, instanceID] as const;

/** A run as it is now: read once, then kept up by its events. After a lost connection the server sends what was missed. */
export function useLiveRun(ids: RunIDs) {
  const { tenantID, instanceID } = ids;
  const queries = useQueryClient();
  const isLost = useConnection() === 'lost';
  const [refused, setRefused] = useState<APIError>();
  const read = useQuery({
    queryKey: runKey(ids),
    queryFn: async () => {
      const next = await readRun(ids);
      // Events may have told more meanwhile.
      const shown = queries.getQueryData<Run>(runKey(ids));
      return shown && shown.seq > next.seq ? shown : next;
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
  });
  const run = read.data;
  const isLive = run !== undefined && !hasEnded(run);

  // How it is, without its timeline and its input: why it waits, and whether the caller may still see it.
  const head = useQuery({
    queryKey: headKey(ids),
    queryFn: async () => {
      const next = await readPart(ids, { afterSeq: Number.MAX_SAFE_INTEGER, timelineLimit: 1, input: 'false' });
      const key = runKey(ids);
      queries.setQueryData<Run>(key, (old) => old && withHead(old, next));
      // No more events are waited for: those that had not come are read.
      const shown = queries.getQueryData<Run>(key);
      if (shown && hasEnded(next) && shown.seq < next.seq) void queries.invalidateQueries({ queryKey: key });
      return next.seq;
    },
    enabled: isLive,
    refetchInterval: every(isLive ? REASON_MS : false),
    staleTime: 0,
    gcTime: 0,
  });

  useEffect(() => {
    if (!isLive) return;
    const key = runKey({ tenantID, instanceID });
    const current = () => queries.getQueryData<Run>(key);
    let waiting: TimelineEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      const events = waiting;
      waiting = [];
      timer = undefined;
      queries.setQueryData<Run>(key, (old) => old && withEvents(old, events));
    };
    const onNode = (event: ServerPayload<'workflow_node_update'>) => {
      if (event.instanceID !== instanceID) return;
      waiting.push(asTimelineEvent(event));
      timer ??= setTimeout(flush, BATCH_MS);
    };
    const onStatus = (update: ServerPayload<'workflow_status_update'>) => {
      if (update.instanceID !== instanceID) return;
      flush();
      queries.setQueryData<Run>(key, (old) => old && withStatus(old, update));
      // The output, if it was too large to be sent, and the reason for waiting.
      void queries.refetchQueries({ queryKey: headKey({ tenantID, instanceID }) });
      if (update.outputOmitted) void queries.invalidateQueries({ queryKey: key });
    };
    const socket = getSocket();
    setRefused(undefined);
    socket.on('workflow_node_update', onNode);
    socket.on('workflow_status_update', onStatus);
    const leave = watchRun(instanceID, {
      lastSeq: () => current()?.seq ?? 0,
      onRefused: ({ code, message }) => setRefused(new APIError({ status: 403, code, message })),
    });
    return () => {
      clearTimeout(timer);
      socket.off('workflow_node_update', onNode);
      socket.off('workflow_status_update', onStatus);
      leave();
    };
  }, [isLive, instanceID, tenantID, queries]);

  const denied = isRefusal(head.error) ? head.error : refused;
  const refetch = () => Promise.all([read.refetch(), isLive && head.refetch()]);
  return { run, error: errorInPlaceOf(read) ?? (isLive ? denied : undefined) ?? null, isLost, refetch };
}

/** The input of a run that another part of the page watches. */
export function useInputOfRun({ tenantID, instanceID }: { tenantID: string; instanceID: string | undefined }): unknown {
  const key = runKey({ tenantID, instanceID: instanceID ?? '' });
  return useQuery<Run>({ queryKey: key, queryFn: skipToken }).data?.input;
}

/** The output of a step, however large it is. */
export interface WholeOutput {
  nodeID: string;
  output: unknown;
}

/** The output of an event that the timeline leaves out. */
export function wholeOutputRead(ids: RunIDs, event: TimelineEvent) {
  return queryOptions({
    queryKey: [...runKey(ids), 'output', event.seq, event.nodeID],
    queryFn: async (): Promise<WholeOutput> => ({ nodeID: event.nodeID, output: await readWholeEvent(ids, event) }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
  });
}

/** One event with the output that the timeline leaves out. */
export async function readWholeEvent(ids: RunIDs, event: TimelineEvent): Promise<unknown> {
  const query = { afterSeq: event.seq - 1, timelineLimit: 50, outputs: 'full', input: 'false' } as const;
  const { timeline } = await readPart(ids, query);
  return timeline.find((one) => one.seq === event.seq && one.nodeID === event.nodeID)?.output;
}

async function readRun(ids: RunIDs): Promise<Run> {
  const run = await readPart(ids, { timelineLimit: PAGE });
  const timeline = [...run.timeline];
  let { nextSeq } = run;
  while (nextSeq !== null && timeline.length < MAX_EVENTS) {
    const more = await readPart(ids, { afterSeq: nextSeq, timelineLimit: PAGE, input: 'false' });
    timeline.push(...more.timeline);
    nextSeq = more.nextSeq;
  }
  return { ...run, timeline, nextSeq };
}

async function readPart(
  path: RunIDs,
  query: { afterSeq?: number; timelineLimit?: number; outputs?: 'small' | 'full'; input?: 'true' | 'false' },
): Promise<Run> {
  return body(rest.GET(PATH, { params: { path, query } }));
}

/** `seq` stays: it says up to which event the timeline is. */
function withHead(old: Run, { timeline: _, nextSeq: __, seq, ...head }: Run): Run {
  // Read before the last event came.
  if (seq < old.seq || (hasEnded(old) && !hasEnded(head))) return old;
  const { waiting: _waiting, waitReason: _reason, ...before } = old;
  return { ...before, ...head };
}

function withEvents(old: Run, events: readonly TimelineEvent[]): Run {
  const seq = Math.max(old.seq, ...events.map((event) => event.seq));
  return { ...old, seq, timeline: [...mergeTimeline(old.timeline, events)] };
}

function withStatus(old: Run, update: ServerPayload<'workflow_status_update'>): Run {
  const { status, seq, at, output, error, waiting } = update;
  const { waiting: _waiting, waitReason: _reason, ...before } = old;
  const changed = { ...before, status, seq: Math.max(old.seq, seq), startedAt: old.startedAt ?? at };
  if (hasEnded({ status })) return { ...changed, completedAt: at, output, error: error ?? null } as Run;
  return { ...changed, ...(waiting && { waiting }) };
}

function asTimelineEvent({ instanceID: _, more: __, ...event }: ServerPayload<'workflow_node_update'>): TimelineEvent {
  return event as TimelineEvent;
}
