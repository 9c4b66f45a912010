import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import type { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { mqtt } from '#shared/datasources/types/mqtt.ts';
import type { QueryResult } from '../../../connections/connection.ts';
import { createBatch } from '../../../connections/fetch-batch.ts';
import { bytesOf, writtenBytes } from '../../../connections/payload.ts';
import { createSharedConnection } from '../../../connections/shared-connection.ts';
import { type Certificates, openStream } from '../../../outbound/tls.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { formatAddress } from '../../../outbound/upstream-error.ts';
import type { Connector } from '../connector.ts';
import { type Greeting, type MqttConnection, type MqttMessage, openMqttConnection } from './connection.ts';

type Options = z.output<(typeof mqtt)['options']>;
type Query = z.output<(typeof mqtt)['query']>;
type Reading = Extract<Query, { operation: 'read' }>;

/** All publishing calls share one connection. A call that reads opens its own, so that it receives only its own messages. */
export const connectMqtt: Connector<typeof mqtt> = (options, { outbound }) => {
  const endpoint = endpointOf(options);
  const where = formatAddress(endpoint.host, endpoint.port);
  const createConnectionAs = (clientId: string) =>
    createSharedConnection<MqttConnection>({
      where,
      async open(signal) {
        const socket = await openStream(endpoint, outbound, signal);
        return await openMqttConnection(socket, { where, greeting: greetingOf(options, clientId) }, signal);
      },
      isOpen: ({ closed }) => !closed.aborted,
      close: (connection) => connection.close(),
    });
  const shared = createConnectionAs(options.clientId || randomID());

  return {
    test: (signal) => shared.use(signal, (connection) => connection.ping()),
    async execute({ query }, { signal, maxRows }) {
      if (query.operation === 'read') {
        await using own = createConnectionAs(options.clientId ? `${options.clientId}-${randomID()}` : randomID());
        return await own.use(signal, (connection) => {
          connection.countFor(currentReservation());
          return unlessAborted(connection.closed, read(connection, query, maxRows));
        });
      }
      const { topic, qos, retain } = query;
      const payload = bytesOf('message', query.message, query.encoding);
      if (payload.length > MAX_PAYLOAD) throw invalidField('message', `must have at most ${MAX_PAYLOAD} bytes`);
      await shared.use(signal, (connection) => connection.publish({ topic, payload, qos, retain }));
      return { data: { topic, bytes: payload.length }, affectedRows: 1 };
    },
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
};

/** The protocol limits a packet to 268,435,455 bytes; the difference is for the topic and the header. */
const MAX_PAYLOAD = 268_000_000;

interface MqttEndpoint {
  host: string;
  port: number;
  certificates: Certificates | null;
}

export function endpointOf(options: Options): MqttEndpoint {
  const { brokerUrl, useTLS } = options;
  const url = URL.parse(/^\w+:\/\//.test(brokerUrl) ? brokerUrl : `mqtt://${brokerUrl}`);
  if (url && /^wss?:$/.test(url.protocol))
    throw invalid('MQTT through WebSockets is not supported; use mqtt:// or mqtts://');
  if (
    !url?.hostname ||
    !/^(?:mqtts?|tcp|ssl):$/.test(url.protocol) ||
    /[?#]|^[/].*[^/]/.test(url.pathname + url.search)
  )
    throw invalid('must be like mqtt://host:1883 or mqtts://host:8883');
  if (url.username || url.password) throw invalid('must be without credentials, which have fields of their own');
  const isEncrypted = useTLS || /^(?:mqtts|ssl):$/.test(url.protocol);
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (isEncrypted ? 8883 : 1883)),
    certificates: isEncrypted ? options : null,
  };
}

function invalid(what: string): AppError {
  return invalidField('datasourceOptions.brokerUrl', what);
}

/** A client id of letters and digits only, and short enough for every broker. */
export function randomID(): string {
  return `gantry${randomBytes(8).toString('hex')}`;
}

export function greetingOf({ protocolVersion, username, password, keepAlive }: Options, clientId: string): Greeting {
  return { protocolVersion: protocolVersion === '5' ? 5 : 4, clientId, username, password, keepAlive };
}

async function read(connection: MqttConnection, query: Reading, maxRows: number): Promise<QueryResult> {
  const { topic, qos, encoding, waitSeconds, messageCount } = query;
  const batch = createBatch();
  const wanted = Math.min(messageCount, maxRows);
  const enough = Promise.withResolvers<void>();
  // The promise may reject before it is awaited; that must not count as an unhandled rejection.
  enough.promise.catch(() => undefined);
  let isFull = false;

  function onMessage({ topic: messageTopic, payload, qos: messageQos, retain }: MqttMessage): void {
    if (isFull) return;
    try {
      const message = writtenBytes(`The message at ${messageTopic}`, payload, encoding);
      isFull = !batch.add({ topic: messageTopic, message, qos: messageQos, retain }) || batch.rows.length === wanted;
    } catch (error) {
      isFull = true;
      enough.reject(error);
    }
    if (isFull) enough.resolve();
  }

  await connection.subscribe({ topic, qos }, onMessage);
  const stopWaiting = new AbortController();
  // Retained messages come before the answer to the ping; the waiting time begins after it.
  const waited = connection.ping().then(() => sleep(waitSeconds * 1_000, undefined, { signal: stopWaiting.signal }));
  waited.catch(() => undefined);
  try {
    await Promise.race([enough.promise, waited]);
  } finally {
    stopWaiting.abort();
  }
  const { rows } = batch;
  return { data: rows, rowCount: rows.length, truncated: isFull && rows.length < messageCount };
}
