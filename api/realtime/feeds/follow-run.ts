import type { ServerMessage } from '#shared/messaging/realtime/events.ts';
import type { RunWatch } from '../../streams/run-watch.ts';
import { type ClientSocket, type Follower, sendTo, type Told } from '../sockets/socket.ts';

/**
 * Sends a follower every change after `lastSeq`, in order and once. Of the messages about one change, to all followers together, each but
 * the last has `more`: so a client that reconnects knows up to which change it has got everything. Returns the function that ends it.
 */
export function follow(
  socket: ClientSocket,
  watch: Pick<RunWatch, 'watch'>,
  { instanceID, lastSeq, tell }: { instanceID: string; lastSeq: number; tell?: Follower['tell'] },
): () => void {
  const { feeds } = socket.data;
  const feed = feeds.get(instanceID) ?? { followers: new Set<Follower>(), stop: () => undefined };
  const follower: Follower = { next: lastSeq + 1, ...(tell && { tell }) };
  feeds.set(instanceID, feed);
  feed.followers.add(follower);
  restart();

  /** Watches from the first change that a follower lacks; followers that have a change already do not get it again. */
  function restart(): void {
    feed.stop();
    const after = Math.min(...[...feed.followers].map(({ next }) => next)) - 1;
    const send = sendTo(socket);
    const deliver = (messages: ServerMessage[]) => tellAll(feed.followers, messages, send);
    feed.stop = watch.watch(instanceID, after, Object.assign(deliver, { capacity: send.capacity }));
  }

  return () => {
    feed.followers.delete(follower);
    if (feed.followers.size > 0) return;
    feed.stop();
    if (feeds.get(instanceID) === feed) feeds.delete(instanceID);
  };
}

type Send = (messages: Told[]) => void;

function tellAll(followers: ReadonlySet<Follower>, messages: ServerMessage[], send: Send): void | Promise<void> {
  const [only, ...others] = followers;
  if (only && others.length === 0 && !only.tell) return tellPlainly(only, messages, send);
  return tellRoundRobin(followers, messages, send);
}

function tellPlainly(follower: Follower, messages: ServerMessage[], send: Send): void {
  const { next } = follower;
  const last = messages.at(-1);
  if (last) follower.next = Math.max(next, last.payload.seq + 1);
  send(messages.filter(({ payload }) => payload.seq >= next));
}

async function tellRoundRobin(followers: ReadonlySet<Follower>, messages: ServerMessage[], send: Send): Promise<void> {
  for (const [seq, change] of Map.groupBy(messages, ({ payload }) => payload.seq)) {
    const outgoing: Told[] = [];
    for (const follower of [...followers]) {
      if (follower.next > seq) continue;
      follower.next = seq + 1;
      outgoing.push(...(follower.tell ? await follower.tell(change) : change));
    }
    send(outgoing.map((message, at) => withMore(message, at < outgoing.length - 1)));
  }
}

/** The messages of a run are shared with other sockets, so they are copied. */
function withMore({ event, payload: { more: _, ...payload } }: Told, hasMore: boolean): Told {
  // Safe: `more` is optional in every payload.
  return { event, payload: { ...payload, ...(hasMore && { more: true }) } } as Told;
}
