import type { AnyLiveListener } from '#shared/triggers/listeners/types/index.ts';
import type { Source } from './source.ts';

/** The source of each listener type that keeps a connection. It and its driver are loaded when the first listener of the type runs. */
const sources = {
  postgresql: async () => (await import('./postgresql.ts')).postgresqlSource,
  redis: async () => (await import('./redis.ts')).redisSource,
  mqtt: async () => (await import('./mqtt.ts')).mqttSource,
  rabbitmq: async () => (await import('./rabbitmq.ts')).rabbitmqSource,
  nats: async () => (await import('./nats.ts')).natsSource,
  websocket: async () => (await import('./websocket.ts')).websocketSource,
  sse: async () => (await import('./sse.ts')).sseSource,
  imap: async () => (await import('./imap.ts')).imapSource,
  syslog: async () => (await import('./syslog.ts')).syslogSource,
  graphql: async () => (await import('./graphql.ts')).graphqlSource,
} satisfies { [L in AnyLiveListener as L['type']]: () => Promise<unknown> };

/** Names of the types. */
export const sourceTypes: readonly string[] = Object.keys(sources);

export async function sourceOf(type: string): Promise<Source> {
  const load = Object.hasOwn(sources, type) ? sources[type as keyof typeof sources] : undefined;
  if (!load) throw new Error(`No source for listeners of type ${type}`);
  // Options and config have been parsed by the type's own schemas, which is what the source's type asks for.
  return (await load()) as unknown as Source;
}
