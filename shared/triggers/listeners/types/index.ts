import type { ListenerDefinition } from './define-listener.ts';
import { graphql } from './graphql.ts';
import { imap } from './imap.ts';
import { mqtt } from './mqtt.ts';
import { nats } from './nats.ts';
import { postgresql } from './postgresql.ts';
import { rabbitmq } from './rabbitmq.ts';
import { redis } from './redis.ts';
import { sse } from './sse.ts';
import { syslog } from './syslog.ts';
import { webhook } from './webhook.ts';
import { websocket } from './websocket.ts';

/** All listener types. */
export const listeners = [
  webhook,
  postgresql,
  redis,
  mqtt,
  rabbitmq,
  nats,
  websocket,
  sse,
  graphql,
  imap,
  syslog,
] as const satisfies readonly ListenerDefinition[];

type AnyListener = (typeof listeners)[number];

/** Types whose listeners have a connection of their own, which one worker at a time owns. */
export type AnyLiveListener = Exclude<AnyListener, typeof webhook>;

const byType = new Map<string, AnyListener>(listeners.map((definition) => [definition.type, definition]));

export function findListenerType(type: string): ListenerDefinition | undefined {
  return byType.get(type);
}

/** Names of all types, for schemas and error messages. */
export const listenerTypes: readonly string[] = [...byType.keys()];
