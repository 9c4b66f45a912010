/** The server of P4, in a process of its own: it answers each request after so many ms (its argument), and counts them. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';

const answerMs = Number(process.argv[2]);

/** Since the last measurement. */
export interface Served {
  /** From the first request to the last answer. */
  seconds: number;
  answered: number;
  /** The time of all requests together, from arrival to response: a timer is late by a part of a millisecond, and by more on a busy machine. */
  openSeconds: number;
  mostAtOnce: number;
}

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';

let [first, last, answered, openMs, open, most] = [0, 0, 0, 0, 0, 0];

// A server of HTTP takes three times as much processor time, which its clients on the same cores lack. No request here has a body.
const server = createServer({ noDelay: true }, (socket) => {
  let unread = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    const requests = (unread + text).split('\r\n\r\n');
    unread = requests.pop() ?? '';
    for (const _ of requests) answerLater(() => socket.writable && socket.write(ANSWER));
  });
  socket.on('error', () => socket.destroy());
});

function answerLater(answer: () => void): void {
  const began = performance.now();
  first ||= began;
  open += 1;
  most = Math.max(most, open);
  setTimeout(() => {
    answer();
    last = performance.now();
    openMs += last - began;
    open -= 1;
    answered += 1;
  }, answerMs);
}

process.on('message', () => {
  process.send?.({
    seconds: (last - first) / 1_000,
    answered,
    openSeconds: openMs / 1_000,
    mostAtOnce: most,
  } satisfies Served);
  [first, last, answered, openMs, most] = [0, 0, 0, 0, 0];
});

server.listen(0, '127.0.0.1');
await once(server, 'listening');
// A TCP server's address is never a string.
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
