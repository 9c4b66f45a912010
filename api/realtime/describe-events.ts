import type { z } from 'zod';
import { ClientFailure, clientAnswers } from '#shared/messaging/realtime/client-events.ts';
import { events, operatorEvents } from '#shared/messaging/realtime/events.ts';
import { createComponents } from '../http/openapi/components.ts';
import type { Schema } from '../http/openapi/types.ts';

type ChannelName = 'socket' | 'operators';

export interface AsyncAPI {
  asyncapi: '3.1.0';
  info: object;
  defaultContentType: string;
  servers: Record<string, object>;
  channels: Record<string, { address: string; description: string; messages: Record<string, Schema> }>;
  operations: Record<string, object>;
  components: { messages: Record<string, object>; schemas: Record<string, Schema>; securitySchemes: object };
}

/** Made once: it takes 7 ms, and anyone may ask for it. */
let contracts: Omit<AsyncAPI, 'servers'> | undefined;

/** The events on sockets as an AsyncAPI document, made of their contracts. `host`: of the server that the document names. */
export function describeEvents(host = 'localhost:8080'): AsyncAPI {
  contracts ??= describeContracts();
  const { asyncapi, info, defaultContentType, ...rest } = contracts;
  const api = {
    host,
    protocol: 'socketio',
    pathname: '/socket.io/',
    description: 'Any API process',
    security: [{ $ref: '#/components/securitySchemes/idToken' }],
  };
  return { asyncapi, info, defaultContentType, servers: { api }, ...rest };
}

function describeContracts(): Omit<AsyncAPI, 'servers'> {
  const { schemas, toSchema, add } = createComponents({});
  const messages: Record<string, object> = {};
  const operations: Record<string, object> = {};
  const channels: Record<ChannelName, Record<string, Schema>> = { socket: {}, operators: {} };

  function addMessage(
    name: string,
    payload: z.ZodType,
    io: 'input' | 'output',
    channel: ChannelName = 'socket',
  ): Schema {
    messages[name] = {
      name,
      title: titleOf(name),
      contentType: 'application/json',
      payload: add(name, toSchema(payload, io)),
    };
    channels[channel][name] = { $ref: `#/components/messages/${name}` };
    return { $ref: `#/channels/${channel}/messages/${name}` };
  }

  const failure = addMessage('failure', ClientFailure, 'output');
  for (const [name, contract] of entriesOf(events.client)) {
    const message = addMessage(name, contract, 'input');
    const answer = addMessage(`${name}_answer`, clientAnswers[name], 'output');
    operations[`receive_${name}`] = {
      action: 'receive',
      channel: { $ref: '#/channels/socket' },
      summary: `The client sends ${name}`,
      description: 'Answered by the acknowledgement, if the client asks for one.',
      messages: [message],
      reply: { channel: { $ref: '#/channels/socket' }, messages: [answer, failure] },
    };
  }
  for (const [name, contract] of entriesOf(events.server)) {
    const channel = name in operatorEvents ? 'operators' : 'socket';
    operations[`send_${name}`] = {
      action: 'send',
      channel: { $ref: `#/channels/${channel}` },
      summary: `The server sends ${name}`,
      messages: [addMessage(name, contract, 'output', channel)],
    };
  }

  return {
    asyncapi: '3.1.0',
    info: {
      title: 'Gantry events',
      version: '1.0.0',
      description:
        'Events on Socket.IO connections. Messages of a run have its `seq`, which counts its changes without a gap: a client that reconnects names the last one it has, to any API process. A message of a client has at most 64 KiB: one that sends more is disconnected. An event that is not one of these is answered with `VALIDATION_ERROR`.',
      license: { name: 'Unlicensed', url: 'https://spdx.org/licenses/' },
    },
    defaultContentType: 'application/json',
    channels: {
      socket: { address: '/', description: 'The namespace of users', messages: channels.socket },
      operators: {
        address: '/operator',
        description:
          'The namespace of operators: `auth.token` of the handshake is the token of an operator session. The events `join_room` and `leave_room` take `fleet` or `fleet:<tenantID>`. What a room is told is sent when it is joined, and with each reading.',
        messages: channels.operators,
      },
    },
    operations,
    components: {
      messages,
      schemas: sorted(schemas),
      securitySchemes: {
        idToken: {
          type: 'httpApiKey',
          in: 'query',
          name: 'token',
          description: 'The ID token of a user, in the field `auth.token` of the handshake of Socket.IO',
        },
      },
    },
  };
}

/** `Object.entries` with the names of the keys. Safe for a constant table. */
function entriesOf<T extends object>(table: T): [keyof T & string, T[keyof T]][] {
  return Object.entries(table) as [keyof T & string, T[keyof T]][];
}

/** `widget_send_input` as `Widget send input`. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function sorted(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1)));
}
