import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { AppError } from '#shared/core/errors.ts';
import type { sse as sseDatasource } from '#shared/datasources/types/sse.ts';
import { namesIn } from '#shared/triggers/listeners/names-in.ts';
import type { sse } from '#shared/triggers/listeners/types/sse.ts';
import { openEvents } from '../../../datasources/connectors/sse.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { upstreamError } from '../../../outbound/upstream-error.ts';
import { connecting, untilFailed } from './alive.ts';
import { createCursor } from './cursor.ts';
import type { SourceOf } from './source.ts';

type SseSource = SourceOf<typeof sseDatasource, typeof sse>;
type Context = Parameters<SseSource['receive']>[0];

const MAX_EVENT_CHARACTERS = 10_000_000;

/** A server that knows the id of the last event sends what came after it. */
export const sseSource: SseSource = {
  async receive(context) {
    const { signal, options, cursor, services } = context;
    const lastEventID = typeof cursor?.lastEventID === 'string' ? cursor.lastEventID : undefined;
    const { response, socket, where } = await openEvents(options, {
      outbound: services.outbound,
      signal: connecting(signal),
      lastEventID,
    });
    try {
      const { failed: refused, fail: reject } = untilFailed();
      const feed = createFeed(response, context, (error) => reject(error));
      response.on('data', (bytes: Buffer) => feed(bytes));
      context.ready();
      const ended = once(response, 'close').then(() => {
        throw upstreamError('lost', where);
      });
      await unlessAborted(signal, Promise.race([refused, ended]));
    } finally {
      response.destroy();
      socket.destroy();
    }
  },
};

function createFeed(
  response: IncomingMessage,
  context: Context,
  fail: (error: Error) => void,
): (bytes: Buffer) => void {
  const { config } = context;
  const types = new Set(namesIn(config.eventTypes));
  const recordArrival = context.recordFrom(response);
  const cursor = createCursor<string>((lastEventID) => context.keepCursor({ lastEventID }));
  const decoder = new TextDecoder();

  function onEvent({ event = 'message', id, data }: EventSourceMessage): void {
    const done = id === undefined ? () => undefined : cursor.begin(id);
    if (types.size > 0 && !types.has(event)) return done();
    const body = Buffer.from(data);
    recordArrival(
      {
        body,
        meta: { eventType: event, ...(id !== undefined && { lastEventID: id }) },
        ...(!config.parseAsJSON && { contentType: 'text/plain' }),
        ...(id !== undefined && id !== '' && { key: id }),
      },
      done,
    );
  }

  const parser = createParser({
    onEvent,
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded')
        fail(
          new AppError('UPSTREAM_FAILED', `An event has more than ${MAX_EVENT_CHARACTERS} characters`, {
            cause: error,
          }),
        );
    },
    maxBufferSize: MAX_EVENT_CHARACTERS,
  });
  return (bytes) => parser.feed(decoder.decode(bytes, { stream: true }));
}
