import { queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import type { ListenerIDs } from './listeners.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const EVENTS = '/api/v1/tenants/{tenantID}/listeners/{listenerID}/events';
const REPLAY = `${EVENTS}/{eventID}/shadow-replay` as const;
/** Requests wait no longer; runs that take longer are asked for again. */
const WAIT_SECONDS = 20;

export type Shadow = Schemas['ShadowReplayed'];

export interface ReplayedEvent extends ListenerIDs {
  eventID: string;
  /** The action that starts the workflow. */
  actionID: string;
}

/** The newest events of a listener, with the beginnings of their bodies. */
export function recentEventsRead(path: ListenerIDs) {
  return queryOptions({
    queryKey: ['listener-events', path, 'recent'],
    queryFn: async () => {
      const query = { limit: 50, preview: 'true' } as const;
      return (await body(rest.GET(EVENTS, { params: { path, query } }))).events;
    },
    staleTime: 0,
  });
}

/** Runs a version with the input of the run that an event has started; its writes are refused. */
export async function replayInShadow({ actionID, ...path }: ReplayedEvent, version: number): Promise<Shadow> {
  const params = { path, query: { wait: WAIT_SECONDS } };
  return body(rest.POST(REPLAY, { params, body: { version, actionID } }));
}

/** A replay that had not ended. */
export function shadowRead({ actionID, ...event }: ReplayedEvent, begun: Shadow) {
  const shadowID = begun.shadow.instanceID;
  return queryOptions({
    queryKey: ['shadow-replay', event, shadowID],
    queryFn: () => {
      const params = { path: { ...event, shadowID }, query: { actionID } };
      return body(rest.GET(`${REPLAY}/{shadowID}`, { params }));
    },
    initialData: begun as never,
    refetchInterval: every((data) => (data?.diff === null ? 1_500 : false)),
  });
}
