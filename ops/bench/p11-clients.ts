/** Clients of runs, in a process of their own: each goes on at the other address when its own closes, from the last change it has. */
import { io, type Socket } from 'socket.io-client';
import { z } from 'zod';

const Watching = z.object({
  urls: z.array(z.string()),
  tokens: z.array(z.string()),
  runs: z.array(z.string()),
  clients: z.int(),
  coldMs: z.number(),
});
export type Watching = z.input<typeof Watching>;

export interface Watched {
  kind: 'watched';
  /** Clients that have every change of their run once, in order, to its end. */
  whole: number;
  moved: number;
  changes: number;
  /** Latencies of changes on the first connection, until any client has lost its own; from the time in the event. */
  latenciesMs: number[];
  /** As above, of the first changes. */
  coldMs: number[];
}

const CONNECTING = 50;
let warmFrom = 0;
let firstLossAt = Number.POSITIVE_INFINITY;

interface Client {
  seqs: number[];
  latenciesMs: number[];
  coldMs: number[];
  moves: number;
  isOver: boolean;
  socket?: Socket;
}

process.once('message', async (message) => {
  const { urls, tokens, runs, clients: count, coldMs } = Watching.parse(message);
  const clients: Client[] = [];
  const ends: Promise<void>[] = [];
  for (let from = 0; from < count; from += CONNECTING) {
    const joined = Array.from({ length: Math.min(CONNECTING, count - from) }, (_, at) => {
      const [n, client] = [from + at, { seqs: [], latenciesMs: [], coldMs: [], moves: 0, isOver: false } as Client];
      clients.push(client);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.push(promise);
      const instanceID = runs[n % runs.length] ?? '';
      // Neighbours watch one run at different addresses.
      const own = { instanceID, token: tokens[n % tokens.length] ?? '', urls, coldMs, onEnd: resolve };
      return watch(client, own, Math.floor(n / runs.length) % urls.length);
    });
    await Promise.all(joined);
  }
  process.send?.({ kind: 'joined' });
  await Promise.all(ends);
  for (const { socket } of clients) socket?.disconnect();
  const watched: Watched = {
    kind: 'watched',
    whole: clients.filter(({ seqs }) => seqs.every((seq, at) => seq === at + 1)).length,
    moved: clients.filter(({ moves }) => moves > 0).length,
    changes: clients.reduce((sum, { seqs }) => sum + seqs.length, 0),
    latenciesMs: clients.flatMap(({ latenciesMs }) => latenciesMs),
    coldMs: clients.flatMap(({ coldMs }) => coldMs),
  };
  process.send?.(watched, () => process.disconnect?.());
});

interface Own {
  instanceID: string;
  token: string;
  urls: readonly string[];
  coldMs: number;
  onEnd(): void;
}

/** Resolves when the run is joined. */
async function watch(client: Client, own: Own, at: number): Promise<void> {
  const url = own.urls[at % own.urls.length] ?? '';
  const socket = io(url, {
    auth: { token: own.token },
    transports: ['websocket'],
    forceNew: true,
    reconnection: false,
  });
  client.socket = socket;
  const goOn = () => setTimeout(() => void watch(client, own, at + 1), 50);
  socket.onAny((event: string, { seq, more, at: time, status }) => {
    if (!(seq > 0) || more) return;
    client.seqs.push(seq);
    warmFrom ||= Date.now() + own.coldMs;
    const counted = Date.now() < warmFrom ? client.coldMs : client.latenciesMs;
    if (client.moves === 0 && Date.now() < firstLossAt) counted.push(Date.now() - Date.parse(time));
    if (event !== 'workflow_status_update' || status !== 'COMPLETED') return;
    client.isOver = true;
    own.onEnd();
  });
  socket.once('connect_error', goOn);
  socket.once('disconnect', (reason) => {
    if (client.isOver || reason === 'io client disconnect') return;
    firstLossAt = Math.min(firstLossAt, Date.now());
    client.moves += 1;
    goOn();
  });
  await new Promise<void>((resolve) => {
    socket.once('connect', () => {
      const lastSeq = client.seqs.at(-1) ?? 0;
      socket.emit('workflow_run_join', { instanceID: own.instanceID, lastSeq }, () => resolve());
    });
  });
}
