import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { Shape } from '#shared/workflow/nodes/results.ts';
import { eventRead, eventsRead, type ListenerIDs } from '../client/listeners.ts';
import type { Schemas } from '../client/types.ts';
import { OfferedInCode } from '../code/offered.ts';
import { ValuesOfStep } from '../values/context.ts';
import { ValueField } from '../values/field.tsx';
import { FillButton } from '../values/fill-button.tsx';
import { scopeOf } from '../values/scope.ts';
import { partsOf, type Value, type Values } from '../values/value.ts';

type RecordedEvent = Pick<
  Schemas['ListenerEventDetail'],
  'eventID' | 'listenerID' | 'method' | 'path' | 'query' | 'params' | 'meta' | 'receivedAt' | 'bodyText'
> & { headers: readonly (readonly string[])[] | null };

const TEXT: Shape = { type: 'text' };

/** An event as actions read it. Its source may add further fields. */
const SHAPE: Shape = {
  type: 'object',
  fields: {
    body: { type: 'any value', note: 'What was sent' },
    headers: { type: 'object', note: 'By names in small letters' },
    query: { type: 'object', note: 'Parameters of the address' },
    params: { type: 'object', note: 'Parts of the path' },
    method: TEXT,
    url: TEXT,
    timestamp: { ...TEXT, note: 'When it came' },
    eventID: TEXT,
    listenerID: TEXT,
  },
};

/** Gives the fields of an action what they can name: parts of the event, with those of the newest one as a sample. */
export function EventValues({ ids, children }: { ids: ListenerIDs; children: ReactNode }) {
  const { data: newest } = useQuery({ ...eventsRead(ids, {}), refetchInterval: false });
  const eventID = newest?.events[0]?.eventID ?? '';
  const { data: event } = useQuery({
    ...eventRead({ ...ids, eventID }),
    enabled: eventID !== '',
    refetchInterval: false,
  });
  return <ValuesOfEvent event={event}>{children}</ValuesOfEvent>;
}

/** The same, before a listener has any: of the event only that is known which each has. */
export function ValuesOfEvent({ event, children }: { event?: RecordedEvent | undefined; children: ReactNode }) {
  const values = useMemo(() => valuesOf(event), [event]);
  const here = useMemo(
    () => ({
      values,
      isTested: event !== undefined,
      onNeed: () => undefined,
      Field: ValueField,
      Fill: FillButton,
    }),
    [values, event],
  );
  const offered = useMemo(() => ({ names: scopeOf(values) }), [values]);
  return (
    <ValuesOfStep value={here}>
      <OfferedInCode value={offered}>{children}</OfferedInCode>
    </ValuesOfStep>
  );
}

function valuesOf(event: RecordedEvent | undefined): Values {
  const whole: Value = { path: ['event'], name: 'event', shape: SHAPE, sample: event && sampleOf(event) };
  return {
    ...{ input: whole, groups: [{ title: 'Newest event', values: [...partsOf(whole)] }] },
    ...{ source: 'event', roots: ['event'], elsewhere: new Map(), open: new Set() },
  };
}

/** An event as the first action reads it; a body that is no JSON is not known here. */
function sampleOf(event: RecordedEvent): object {
  const { eventID, listenerID, method, path, query, params, headers, meta, receivedAt } = event;
  return {
    ...meta,
    ...{ eventID, listenerID, method, params: params ?? {} },
    url: path === null ? null : `${path}${query ? `?${query}` : ''}`,
    query: joined(new URLSearchParams(query ?? '')),
    headers: Object.fromEntries((headers ?? []).map(([name = '', value]) => [name.toLowerCase(), value])),
    ...bodyOf(event),
    timestamp: receivedAt,
  };
}

function joined(pairs: Iterable<readonly [string, string]>): Record<string, string | string[]> {
  const all = Map.groupBy(pairs, ([name]) => name);
  return Object.fromEntries(
    [...all].map(([name, found]) => {
      const values = found.map(([, value]) => value);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

function bodyOf({ bodyText }: RecordedEvent): { body?: unknown } {
  try {
    return bodyText === null ? {} : { body: JSON.parse(bodyText) as unknown };
  } catch {
    return {};
  }
}
