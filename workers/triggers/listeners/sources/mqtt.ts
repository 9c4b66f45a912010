import { hash } from 'node:crypto';
import type { mqtt as mqttDatasource } from '#shared/datasources/types/mqtt.ts';
import { namesIn } from '#shared/triggers/listeners/names-in.ts';
import type { mqtt } from '#shared/triggers/listeners/types/mqtt.ts';
import {
  type MqttConnection,
  openMqttConnection,
  type Receiver,
} from '../../../datasources/connectors/mqtt/connection.ts';
import { endpointOf, greetingOf, randomID } from '../../../datasources/connectors/mqtt/mqtt.ts';
import { openStream } from '../../../outbound/tls.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { formatAddress } from '../../../outbound/upstream-error.ts';
import { answered, connecting, untilSilent } from './alive.ts';
import type { SourceOf } from './source.ts';

type MqttSource = SourceOf<typeof mqttDatasource, typeof mqtt>;
type CleanupContext = Parameters<NonNullable<MqttSource['remoteResourceOf']>>[0];

/** Time for which the broker stores messages while no worker is connected. */
const SESSION_SECONDS = 86_400;

export const mqttSource: MqttSource = {
  async receive(context) {
    const { config, options, signal, services } = context;
    const endpoint = endpointOf(options);
    const where = formatAddress(endpoint.host, endpoint.port);
    const socket = await openStream(endpoint, services.outbound, connecting(signal));
    const recordArrival = context.recordFrom(socket);
    const receiver: Receiver = {
      onMessage: ({ topic, payload, qos, retain }, acknowledge) =>
        recordArrival({ body: payload, meta: { topic, qos, retain } }, acknowledge),
    };
    const session = sessionOf(context);
    const greeting = {
      ...greetingOf(options, session ?? (options.clientId ? `${options.clientId}-${randomID()}` : randomID())),
      ...(session !== undefined && { sessionSeconds: SESSION_SECONDS }),
    };
    let connection: MqttConnection | undefined;
    try {
      connection = await openMqttConnection(socket, { where, greeting, receiver }, connecting(signal));
      const { closed } = connection;
      // Subscribing again would bring the retained messages again.
      if (!connection.isResumed)
        for (const topic of namesIn(config.topics))
          await answered(where, signal, unlessAborted(closed, connection.subscribe({ topic, qos: config.qos })));
      context.ready();
      const { ping } = connection;
      await unlessAborted(
        closed,
        untilSilent(where, { ...context, signal: AbortSignal.any([signal, closed]) }, { ask: ping }),
      );
    } finally {
      connection?.close();
      socket.destroy();
    }
  },
  remoteResourceOf: sessionOf,
  /** A session ends when its client connects with a clean one. */
  async removeRemoteResource(context) {
    const { options, services, signal } = context;
    const endpoint = endpointOf(options);
    const where = formatAddress(endpoint.host, endpoint.port);
    const socket = await openStream(endpoint, services.outbound, signal);
    const connection = await openMqttConnection(
      socket,
      { where, greeting: greetingOf(options, sessionOf(context) ?? randomID()) },
      signal,
    );
    connection.close();
  },
};

/**
 * Client id of the session in which the broker stores messages: of letters and digits, and short enough for every broker. Undefined for
 * QoS 0, for which nothing is stored.
 */
function sessionOf({ config, options, listenerID }: CleanupContext): string | undefined {
  if (config.qos === 0) return undefined;
  const digest = hash('sha256', `${listenerID} ${config.topics} ${config.qos}`).slice(0, 17);
  return options.clientId ? `${options.clientId}-${digest}` : `gantry${digest}`;
}
