import { io, type Socket } from 'socket.io-client';

export interface SocketMessage {
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  payload: any;
}

export interface TestSocket extends AsyncDisposable {
  readonly raw: Socket;
  /** Messages that have arrived but for news, in order. */
  readonly messages: SocketMessage[];
  /** Notifications and changes of assets, runs and questions, which come beside what a test watches. */
  readonly news: SocketMessage[];
  /** Emits and answers with the acknowledgement. */
  // biome-ignore lint/suspicious/noExplicitAny: an acknowledgement has the shape its event gives it
  ask(event: string, payload: unknown): Promise<any>;
}

/** A client as a browser has it; resolves when connected, rejects when the handshake is refused. */
export async function openSocket(baseURL: string, token: string | undefined): Promise<TestSocket> {
  const raw = io(baseURL, { auth: { token }, transports: ['websocket'], reconnection: false, forceNew: true });
  const messages: SocketMessage[] = [];
  const news: SocketMessage[] = [];
  raw.onAny((event: string, payload: unknown) => {
    const list = event.endsWith('_changed') || event === 'notification' ? news : messages;
    list.push({ event, payload });
  });
  await new Promise<void>((resolve, reject) => {
    raw.once('connect', resolve);
    raw.once('connect_error', reject);
  });
  return {
    raw,
    messages,
    news,
    ask: (event, payload) => raw.timeout(5000).emitWithAck(event, payload),
    async [Symbol.asyncDispose]() {
      raw.disconnect();
    },
  };
}
