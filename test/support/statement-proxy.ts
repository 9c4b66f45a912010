import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A statement on its way to Postgres. */
export interface Statement {
  readonly text: string;
  /** The name of a prepared statement, or an empty text. */
  readonly name: string;
  /** The name that the process has given its connection. */
  readonly application: string;
  /** The values of the statement, or its text if it has none. */
  readonly sent: string;
}

/**
 * The fate of a statement: it passes, is not sent, or is executed and its answer is lost. In the last two cases the connection
 * breaks; `onLost` is called just before. `end` passes it, and the server ends the connection in the packet of the answer.
 */
export type Verdict = 'pass' | 'end' | { lose: 'statement' | 'answer'; onLost?: () => void };

export interface StatementProxy extends AsyncDisposable {
  /** The URL of the same database, through the proxy. */
  readonly databaseURL: string;
  /** Judges each statement from now on. */
  decide: (statement: Statement) => Verdict;
  /** Whether the server ends a connection of this name in the packet by which it accepts it. Only without a password. */
  endsAtStart: (application: string) => boolean;
  /** Breaks all connections and refuses new ones, until `heal`. */
  cut(): void;
  heal(): void;
}

/** The network between a process and Postgres, which can break at a statement. */
export async function startStatementProxy(databaseURL: string): Promise<StatementProxy> {
  const target = new URL(databaseURL);
  const sockets = new Set<Socket>();

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    let swallowed: { read: ReturnType<typeof createReader>; onLost: (() => void) | undefined } | undefined;
    let isEnding = false;
    const statements = createStatements();
    const sent = createReader({ hasStartup: true });

    /** Answers false when the connection has broken at the message. */
    function forward(message: Message): boolean {
      if (message.type === '') isEnding = proxy.endsAtStart(startupValue(message.body, 'application_name'));
      const statement = statements(message);
      const verdict = statement ? proxy.decide(statement) : 'pass';
      if (typeof verdict === 'object' && verdict.lose === 'statement') {
        verdict.onLost?.();
        end();
        return false;
      }
      isEnding ||= verdict === 'end';
      if (typeof verdict === 'object')
        swallowed = { read: createReader({ hasStartup: false }), onLost: verdict.onLost };
      upstream.write(message.bytes);
      return true;
    }

    client.on('data', (chunk: Buffer) => {
      for (const message of sent(chunk)) if (!forward(message)) return;
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!swallowed) return void client.write(isEnding ? Buffer.concat([chunk, ENDED]) : chunk);
      // ReadyForQuery comes when the transaction of the statement is over.
      if (!swallowed.read(chunk).some(({ type }) => type === 'Z')) return;
      swallowed.onLost?.();
      end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const { port } = server.address() as AddressInfo;
  const proxy: StatementProxy = {
    databaseURL: Object.assign(new URL(databaseURL), { hostname: '127.0.0.1', port: String(port) }).href,
    decide: () => 'pass',
    endsAtStart: () => false,
    cut() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    heal() {
      if (!server.listening) server.listen(port, '127.0.0.1');
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await once(server.close(), 'close');
    },
  };
  return proxy;
}

/** The message of a server that goes away: FATAL, 57P01. */
const ENDED = errorResponse('SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0');

function errorResponse(fields: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + fields.length);
  return Buffer.concat([Buffer.from('E'), length, Buffer.from(fields, 'latin1')]);
}

interface Message {
  /** An empty text for the startup message, which has none. */
  type: string;
  /** The whole message. */
  bytes: Buffer;
  body: Buffer;
}

/** Splits a stream of the Postgres protocol into its messages. */
function createReader({ hasStartup }: { hasStartup: boolean }): (chunk: Buffer) => Message[] {
  let rest = Buffer.alloc(0);
  let typeLength = hasStartup ? 0 : 1;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    while (rest.length >= typeLength + 4) {
      const length = typeLength + rest.readInt32BE(typeLength);
      if (rest.length < length) break;
      const bytes = rest.subarray(0, length);
      messages.push({ type: bytes.toString('latin1', 0, typeLength), bytes, body: bytes.subarray(typeLength + 4) });
      rest = rest.subarray(length);
      typeLength = 1;
    }
    return messages;
  };
}

/** Finds the statements of a connection in its messages: simple queries, and the binding of values to prepared ones. */
function createStatements(): (message: Message) => Statement | undefined {
  const texts = new Map<string, string>();
  let application = '';
  return ({ type, body }) => {
    const [first = '', second = ''] = type === '' || type === 'Q' || type === 'P' || type === 'B' ? strings(body) : [];
    if (type === '') application = startupValue(body, 'application_name');
    if (type === 'P') texts.set(first, second);
    if (type === 'Q') return { text: first, name: '', application, sent: first };
    if (type !== 'B') return undefined;
    return {
      text: texts.get(second) ?? '',
      name: second,
      application,
      get sent() {
        return body.toString('utf8');
      },
    };
  };
}

/** The first two texts of a message, each of which ends with a zero byte. */
function strings(body: Buffer): string[] {
  const end = body.indexOf(0);
  return [body.toString('utf8', 0, end), body.toString('utf8', end + 1, body.indexOf(0, end + 1))];
}

function startupValue(body: Buffer, name: string): string {
  const texts = body.toString('utf8', 4).split('\0');
  const at = texts.indexOf(name);
  return at < 0 ? '' : (texts[at + 1] ?? '');
}
