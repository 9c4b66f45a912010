import type { Socket } from 'node:net';
import { generate, type Packet, parser, type QoS } from 'mqtt-packet';
import type { Reservation } from '#shared/concurrency/memory-budget.ts';
import { createSemaphore, IN_ORDER } from '#shared/concurrency/semaphore.ts';
import { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { createBackPressure } from '../../../connections/back-pressure.ts';
import { tooLarge } from '../../../connections/fetch-batch.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { type Reason, upstreamError } from '../../../outbound/upstream-error.ts';

export interface Greeting {
  protocolVersion: 4 | 5;
  clientId: string;
  username: string;
  password: string;
  keepAlive: number;
  /** Seconds for which the server stores the subscriptions, and messages for them, after the connection has ended. Default: 0. */
  sessionSeconds?: number;
}

/** Receives all messages of a connection. The server gets an acknowledgement only when the receiver calls `acknowledge`. */
export interface Receiver {
  onMessage(message: MqttMessage, acknowledge: () => void): void;
}

export interface MqttMessage {
  topic: string;
  payload: Buffer;
  qos: QoS;
  retain: boolean;
}

/** A connection that the server has accepted. */
export interface MqttConnection {
  /** Aborted when the connection has ended. */
  readonly closed: AbortSignal;
  /** Whether the server has resumed the stored session of an earlier connection, with its subscriptions. */
  readonly isResumed: boolean;
  /** Resolves when the server has confirmed the message. For QoS 0 that is the answer to a ping that is sent after the message. */
  publish(message: MqttMessage): Promise<void>;
  subscribe(filter: { topic: string; qos: QoS }, onMessage?: (message: MqttMessage) => void): Promise<void>;
  /** Resolves when the server has read everything that was sent before. */
  ping(): Promise<void>;
  /** Counts the bytes that arrive from now on against the memory reservation of one call; `undefined` ends the counting. */
  countFor(reservation: Reservation | undefined): void;
  close(): void;
}

/** Limit of the bytes of an incomplete packet; a larger packet ends the connection instead of being buffered. */
const MAX_INFLOW = 32 * 1024 * 1024;
/** Time that the server has to close the socket after a DISCONNECT. */
const CLOSE_MS = 1_000;
/** Unconfirmed messages at once on one connection. */
const MAX_UNDER_WAY = 1_000;

type Reply = PromiseWithResolvers<Packet>;

/** MQTT on a connected socket. It never reconnects, keeps no messages to send later, and checks every packet of the server. */
export async function openMqttConnection(
  socket: Socket,
  { where, greeting, receiver }: { where: string; greeting: Greeting; receiver?: Receiver },
  signal: AbortSignal,
): Promise<MqttConnection> {
  const { protocolVersion, keepAlive } = greeting;
  const packets = parser({ protocolVersion });
  const backPressure = createBackPressure();
  const closed = new AbortController();
  const replies = new Map<string, Reply>();
  const pings: Reply[] = [];
  /** Received messages of QoS 2, which may come again until the server sends PUBREL. */
  const received = new Set<number>();
  let onMessage: ((message: MqttMessage) => void) | undefined;
  /** Limits unconfirmed messages: a server of MQTT 5 ends the connection when there are more than its `receiveMaximum`. */
  let publishing = createSemaphore({ permits: MAX_UNDER_WAY });
  let lastID = 0;

  function end(error: unknown): void {
    if (closed.signal.aborted) return;
    closed.abort(error instanceof AppError ? error : upstreamError('lost', where, error));
    clearInterval(pingTimer);
    socket.destroy();
  }

  function send(packet: Packet): void {
    if (!closed.signal.aborted) socket.write(generate(packet, { protocolVersion }));
  }

  async function reply(key: string, packet: Packet): Promise<Packet> {
    const waiting = Promise.withResolvers<Packet>();
    replies.set(key, waiting);
    try {
      send(packet);
      return await unlessAborted(closed.signal, waiting.promise);
    } finally {
      replies.delete(key);
    }
  }

  function nextID(): number {
    do lastID = (lastID % 65_535) + 1;
    while (['puback', 'pubrec', 'pubcomp', 'suback'].some((cmd) => replies.has(`${cmd}.${lastID}`)));
    return lastID;
  }

  async function ping(): Promise<void> {
    const waiting = Promise.withResolvers<Packet>();
    pings.push(waiting);
    send({ cmd: 'pingreq' });
    await unlessAborted(closed.signal, waiting.promise);
  }

  function receive(packet: Packet): void {
    switch (packet.cmd) {
      case 'publish':
        return onPublish(packet);
      case 'pubrel':
        received.delete(packet.messageId ?? 0);
        return send({ cmd: 'pubcomp', messageId: packet.messageId });
      case 'pingresp':
        return pings.shift()?.resolve(packet);
      case 'connack':
        return replies.get('connack')?.resolve(packet);
      case 'disconnect':
        return end(new Error(`the server disconnects: ${packet.reasonCode}`));
      default:
        return replies.get(`${packet.cmd}.${packet.messageId}`)?.resolve(packet);
    }
  }

  function onPublish({ topic, payload, qos, retain, messageId }: Extract<Packet, { cmd: 'publish' }>): void {
    const isRepeated = qos === 2 && received.has(messageId ?? 0);
    if (qos === 2) received.add(messageId ?? 0);
    const acknowledge = () => {
      if (qos > 0) send({ cmd: qos === 1 ? 'puback' : 'pubrec', messageId });
    };
    const message = { topic, payload: Buffer.from(payload), qos, retain };
    if (receiver) return isRepeated ? undefined : receiver.onMessage(message, acknowledge);
    acknowledge();
    // No listener before `subscribe`: some brokers send messages without a subscription.
    if (!isRepeated) onMessage?.(message);
  }

  /** Sends a ping, or ends the connection if the last one was not answered. */
  function keepAliveNow(): void {
    if (pings.length > 0) return end(new Error('the server does not answer a ping'));
    ping().catch(() => undefined);
  }

  // Every three quarters of the keep-alive time, which is in seconds: a server may drop a connection that is silent for longer.
  const pingTimer = keepAlive === 0 ? undefined : setInterval(keepAliveNow, keepAlive * 750).unref();

  packets.on('packet', receive);
  packets.on('error', end);
  socket.on('error', end);
  socket.on('close', () => end(new Error('the connection was closed')));
  socket.on('data', (bytes) => {
    backPressure.arrived(bytes.length, socket);
    try {
      if (packets.parse(typeof bytes === 'string' ? Buffer.from(bytes) : bytes) > MAX_INFLOW) end(tooLarge());
    } catch (error) {
      end(error);
    }
  });

  const connection = (answer: Packet): MqttConnection => ({
    closed: closed.signal,
    isResumed: answer.cmd === 'connack' && answer.sessionPresent,
    ping,
    async publish({ topic, payload, qos, retain }) {
      const packet = { cmd: 'publish', topic, payload, qos, retain, dup: false } as const;
      if (qos === 0) {
        send(packet);
        return await ping();
      }
      return await publishing.run(IN_ORDER, async () => {
        const messageId = nextID();
        checkPublished(
          topic,
          await reply(qos === 1 ? `puback.${messageId}` : `pubrec.${messageId}`, { ...packet, messageId }),
        );
        if (qos === 2) await reply(`pubcomp.${messageId}`, { cmd: 'pubrel', messageId });
      });
    },
    async subscribe({ topic, qos }, listener) {
      if (listener) onMessage = listener;
      const messageId = nextID();
      const answer = await reply(`suback.${messageId}`, {
        cmd: 'subscribe',
        messageId,
        subscriptions: [{ topic, qos, nl: false, rap: true, rh: 0 }],
      });
      if (answer.cmd !== 'suback' || !answer.granted.every((code) => Number(code) < 128))
        throw invalidField('topic', `${topic} may not be read`, { code: 'DB_ERROR' });
    },
    countFor: (reservation) => backPressure.assignTo(reservation),
    close() {
      backPressure.assignTo(undefined);
      if (closed.signal.aborted) return;
      send({ cmd: 'disconnect' });
      clearInterval(pingTimer);
      socket.end();
      setTimeout(() => socket.destroy(), CLOSE_MS).unref();
    },
  });

  try {
    const answer = await unlessAborted(signal, reply('connack', connectPacket(greeting)));
    checkConnack(answer, where);
    const maxByServer = (answer.cmd === 'connack' && answer.properties?.receiveMaximum) || MAX_UNDER_WAY;
    if (maxByServer < MAX_UNDER_WAY) publishing = createSemaphore({ permits: maxByServer });
    return connection(answer);
  } catch (error) {
    end(error);
    throw error;
  }
}

function connectPacket({
  protocolVersion,
  clientId,
  username,
  password,
  keepAlive,
  sessionSeconds = 0,
}: Greeting): Packet {
  return {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion,
    // MQTT 3.1.1 cannot limit how long the server stores a session.
    clean: sessionSeconds === 0,
    ...(protocolVersion === 5 && sessionSeconds > 0 && { properties: { sessionExpiryInterval: sessionSeconds } }),
    clientId,
    keepalive: keepAlive,
    ...(username !== '' && { username }),
    ...(username !== '' && password !== '' && { password: Buffer.from(password) }),
  };
}

/** Reasons by the code of a CONNACK: below 128 in MQTT 3.1.1, from 128 in MQTT 5. */
const reasonByCode: Readonly<Record<number, Reason>> = {
  3: 'busy',
  4: 'authentication',
  5: 'authentication',
  134: 'authentication',
  135: 'authentication',
  136: 'busy',
  137: 'busy',
  138: 'authentication',
  140: 'authentication',
  159: 'busy',
};

function checkConnack(packet: Packet, where: string): void {
  const code = packet.cmd === 'connack' ? (packet.reasonCode ?? packet.returnCode) : undefined;
  if (code !== 0) throw upstreamError(reasonByCode[code ?? -1] ?? 'refused', where, new Error(`CONNACK ${code}`));
}

/** Throws if the server has refused a message. Reason codes from 128 are errors. */
function checkPublished(topic: string, packet: Packet): void {
  const code = 'reasonCode' in packet ? (packet.reasonCode ?? 0) : 0;
  if (code < 128) return;
  const why = code === 135 ? 'may not be published to' : `was not accepted by the server, reason ${code}`;
  throw invalidField('topic', `${topic} ${why}`, { code: 'DB_ERROR', details: { mqtt_code: code } });
}
