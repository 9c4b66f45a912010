import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import type { ListFilter } from './list-filter.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const LISTENERS = '/api/v1/tenants/{tenantID}/listeners';
const LISTENER = `${LISTENERS}/{listenerID}` as const;
const EVENT = `${LISTENER}/events/{eventID}` as const;
const ACTION = `${LISTENER}/actions/{actionID}` as const;
const PAGE = 50;

export interface ListenerIDs {
  tenantID: string;
  listenerID: string;
}

export type EventState = Schemas['ListenerEvent']['state'];

export interface EventFilter {
  state?: EventState;
  cursor?: string;
}

export function listenersRead(tenantID: string, filter: ListFilter) {
  return queryOptions({
    queryKey: ['listeners', tenantID, filter],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { ...filter, limit: PAGE } };
      const { listeners, nextCursor } = await body(rest.GET(LISTENERS, { params }));
      return { rows: listeners, nextCursor };
    },
    placeholderData: keepPreviousData,
    refetchInterval: every(10_000),
  });
}

/** Whether the listeners receive events, by their ids. */
export function connectionsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['listeners', tenantID, 'connections'],
    queryFn: async () =>
      (await body(rest.GET(`${LISTENERS}/status/connections`, { params: { path: { tenantID } } }))).status,
    refetchInterval: every(3_000),
  });
}

/** The form of each type of listener, and of each kind of action. */
export function listenerFormsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['listener-forms', tenantID],
    queryFn: () => body(rest.GET(`${LISTENERS}/schemas`, { params: { path: { tenantID } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export async function createListener(tenantID: string, made: Schemas['ListenerCreate']): Promise<string> {
  return (await body(rest.POST(LISTENERS, { params: { path: { tenantID } }, body: made }))).listener.listenerID;
}

export async function deleteListener(path: ListenerIDs): Promise<void> {
  await body(rest.DELETE(LISTENER, { params: { path } }));
}

export async function addAction(path: ListenerIDs, action: Schemas['ListenerActionCreate']): Promise<void> {
  await body(rest.POST(`${LISTENER}/actions`, { params: { path }, body: action }));
}

export async function changeAction(
  path: ListenerIDs & { actionID: string },
  change: Schemas['ListenerActionUpdate'],
): Promise<void> {
  await body(rest.PUT(ACTION, { params: { path }, body: change }));
}

export async function deleteAction(path: ListenerIDs & { actionID: string }): Promise<void> {
  await body(rest.DELETE(ACTION, { params: { path } }));
}

export function listenerRead(path: ListenerIDs) {
  return queryOptions({
    queryKey: ['listener', path],
    queryFn: async () => (await body(rest.GET(LISTENER, { params: { path } }))).listener,
    refetchInterval: every(5_000),
  });
}

export function eventsRead(path: ListenerIDs, filter: EventFilter) {
  return queryOptions({
    queryKey: ['listener-events', path, filter],
    queryFn: () => body(rest.GET(`${LISTENER}/events`, { params: { path, query: { ...filter, limit: PAGE } } })),
    placeholderData: keepPreviousData,
    // Later pages are of the past.
    refetchInterval: every(filter.cursor ? false : 3_000),
  });
}

export function eventRead(path: ListenerIDs & { eventID: string }) {
  return queryOptions({
    queryKey: ['listener-event', path],
    queryFn: async () => (await body(rest.GET(EVENT, { params: { path } }))).event,
    refetchInterval: every((data) => (data?.state === 'pending' ? 1_000 : false)),
  });
}

/** How many dead letters of a period there are. */
export function deadLettersRead(path: ListenerIDs, from: string, to: string) {
  return queryOptions({
    queryKey: ['listener-events', path, 'dead', from, to],
    queryFn: async () =>
      (await body(rest.GET(`${LISTENER}/events/counts`, { params: { path, query: { from, to } } }))).dead,
  });
}

export async function setListening(path: ListenerIDs, verb: 'activate' | 'deactivate'): Promise<void> {
  await body(rest.POST(`${LISTENER}/${verb}` as const, { params: { path } }));
}

export async function saveListener(path: ListenerIDs, change: Schemas['ListenerUpdate']): Promise<void> {
  await body(rest.PATCH(LISTENER, { params: { path }, body: change }));
}

/** The id of the event that is processed: another one if it was corrected. */
export async function redriveEvent(
  path: ListenerIDs & { eventID: string },
  correction: Schemas['DeadLetterCorrection'],
): Promise<string> {
  return (await body(rest.POST(`${EVENT}/redrive`, { params: { path }, body: correction }))).eventID;
}

/** Processes a finished event once more, as a new one, whose id it answers. */
export async function replayEvent(path: ListenerIDs & { eventID: string }): Promise<string> {
  return (await body(rest.POST(`${EVENT}/replay`, { params: { path } }))).eventID;
}

export interface RedrivenLetters {
  redriven: number;
  /** Not processed again, because another delivery with their id was accepted. */
  duplicates: number;
}

/** All that match, in as many requests as that takes. */
export async function redriveEvents(path: ListenerIDs, from: string, to: string): Promise<RedrivenLetters> {
  const filter = { receivedFrom: from, receivedUntil: to };
  const sum = { redriven: 0, duplicates: 0 };
  for (;;) {
    const answer = await body(rest.POST(`${LISTENER}/events/redrive`, { params: { path }, body: { filter } }));
    sum.redriven += answer.redriven;
    sum.duplicates += answer.duplicates;
    if (!answer.hasMore) return sum;
  }
}
