import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { AppError } from '#shared/core/errors.ts';
import { readNetwork } from '#shared/core/setting-formats.ts';
import type { syslog as syslogDatasource } from '#shared/datasources/types/syslog.ts';
import { namesIn } from '#shared/triggers/listeners/names-in.ts';
import { severities, type syslog } from '#shared/triggers/listeners/types/syslog.ts';
import { requireOwnPort } from '../../../datasources/connectors/syslog.ts';
import { isWithin, networksOf } from '../../../outbound/addresses.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { untilFailed } from './alive.ts';
import type { Arrival, SourceOf } from './source.ts';
import { readSyslog } from './syslog-message.ts';

type SyslogSource = SourceOf<typeof syslogDatasource, typeof syslog>;
type Context = Parameters<SyslogSource['receive']>[0];

const ADDRESS = '0.0.0.0';
const MAX_SENDERS = 200;
const MAX_MESSAGE_BYTES = 65_536;
/** A TCP sender that is silent for so long is disconnected. */
const SILENT_MS = 3_600_000;

/** Receives on a port of this worker while it owns the listener. */
export const syslogSource: SyslogSource = {
  async receive(context) {
    const { options, services, tenantID, signal } = context;
    requireOwnPort(options.port, { tenantID, syslogPorts: services.syslogPorts });
    const bound = options.protocol === 'udp' ? await bindUDP(context) : await bindTCP(context);
    context.ready();
    try {
      await unlessAborted(signal, bound.failed);
    } finally {
      await bound.close();
    }
  },
};

interface Bound {
  /** Rejects when the socket fails. */
  failed: Promise<never>;
  close(): Promise<void>;
}

/** UDP has no back-pressure, so messages that come while too many are not recorded yet are lost, as they would be in a full buffer. */
async function bindUDP(context: Context): Promise<Bound> {
  const socket = createSocket('udp4');
  const { failed, fail: reject } = untilFailed();
  socket.on('error', (error) => reject(portError(error, context)));
  let isPaused = false;
  const recordArrival = context.recordFrom({
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
  });
  const accept = filterFor(context);
  socket.on('message', (bytes, { address }) => {
    const arrival = isPaused ? undefined : accept(bytes, address);
    if (arrival) recordArrival(arrival);
  });
  socket.bind(context.options.port, ADDRESS);
  await Promise.race([failed, once(socket, 'listening')]);
  return {
    failed,
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.close(() => resolve());
      await promise;
    },
  };
}

async function bindTCP(context: Context): Promise<Bound> {
  const accept = filterFor(context);
  const senders = new Set<Socket>();
  const server = createServer((socket) => {
    const { remoteAddress = '' } = socket;
    socket.on('error', () => undefined);
    socket.on('close', () => senders.delete(socket));
    if (!accept.isAllowed(remoteAddress)) return void socket.destroy();
    senders.add(socket);
    socket.setTimeout(SILENT_MS, () => socket.destroy());
    const recordArrival = context.recordFrom(socket);
    const feed = createMessageSplitter((bytes) => {
      const arrival = accept(bytes, remoteAddress);
      if (arrival) recordArrival(arrival);
    });
    socket.on('data', (bytes: Buffer) => {
      if (!feed(bytes)) socket.destroy();
    });
  });
  server.maxConnections = MAX_SENDERS;
  const { failed, fail: reject } = untilFailed();
  server.on('error', (error) => reject(portError(error, context)));
  server.listen(context.options.port, ADDRESS);
  await Promise.race([failed, once(server, 'listening')]);
  return {
    failed,
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      for (const socket of senders) socket.destroy();
      await promise;
    },
  };
}

/** Splits a stream by lengths (`11 <13>message`) or by lines, as RFC 6587 says. Returns false for a message that is too long. */
export function createMessageSplitter(onMessage: (bytes: Buffer) => void): (bytes: Buffer) => boolean {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (let message = firstMessageOf(rest); message; message = firstMessageOf(rest)) {
      const { start, end, next } = message;
      if (end - start > MAX_MESSAGE_BYTES) return false;
      if (end > rest.length) return true;
      if (end > start) onMessage(rest.subarray(start, end));
      rest = rest.subarray(next);
    }
    return rest.length <= MAX_MESSAGE_BYTES;
  };
}

/** Position of the first message; undefined while its end cannot be known. */
function firstMessageOf(bytes: Buffer): { start: number; end: number; next: number } | undefined {
  if (bytes.length === 0) return undefined;
  const [counted, length] = /^(\d{1,5}) </.exec(bytes.toString('latin1', 0, 8)) ?? [];
  if (counted !== undefined) {
    const start = counted.length - 1;
    const end = start + Number(length);
    return { start, end, next: end };
  }
  const end = bytes.indexOf(0x0a);
  return end < 0 ? undefined : { start: 0, end, next: end + 1 };
}

interface Accept {
  (bytes: Buffer, address: string): Arrival | undefined;
  isAllowed(address: string): boolean;
}

function filterFor({ options, config }: Context): Accept {
  const networks = options.allowedSources.split(',').flatMap((part) => readNetwork(part.trim()) ?? []);
  const allowed = networksOf(networks);
  const maxSeverity = config.severityFilter === 'all' ? severities.length : severities.indexOf(config.severityFilter);
  const facilities = new Set(namesIn(config.facilityFilter));
  const hosts = new Set(namesIn(config.hostnameFilter));

  const isAllowed = (address: string) => networks.length === 0 || isWithin(allowed, address);
  function accept(bytes: Buffer, address: string): Arrival | undefined {
    if (!isAllowed(address)) return undefined;
    const message = readSyslog(bytes.toString('utf8').replace(/[\r\n\0]+$/, ''));
    if (severities.indexOf(message.severity) > maxSeverity) return undefined;
    if (facilities.size > 0 && !facilities.has(message.facility)) return undefined;
    if (hosts.size > 0 && !hosts.has(message.hostname ?? address)) return undefined;
    return { body: Buffer.from(JSON.stringify(message)), meta: { sender: address }, contentType: 'application/json' };
  }
  return Object.assign(accept, { isAllowed });
}

function portError(error: Error, { options: { port } }: Context): AppError {
  const why = 'code' in error && error.code === 'EADDRINUSE' ? 'is in use' : 'cannot be bound';
  return new AppError('UPSTREAM_FAILED', `Port ${port} of the worker ${why}`, { cause: error });
}
