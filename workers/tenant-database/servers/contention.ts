import { z } from 'zod';
import { createSemaphore, type Semaphore } from '#shared/concurrency/semaphore.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';

/** Messages between workers about servers that have no connection left. A worker alone sees only its own connections. */
export interface Contention extends Disposable {
  /** Tells all workers to close idle connections to the server, and to leave none idle for a second. */
  announce(server: string): void;
  /** Whether the server had no connection left a moment ago. */
  isContended(server: string): boolean;
  /** Calls the listener when a worker, also this one, has announced a server. Returns a function that ends that. */
  onAnnounced(listener: (server: string) => void): () => void;
  /** A semaphore with one permit: after the server has refused connections, they are tried one after the other, tenants in fair order. */
  retriesOf(server: string): Semaphore;
}

const CHANNEL = 'tenant.server.crowded';
const Announcement = z.object({ server: z.string() });
/** Time for which an announcement has an effect. */
const CROWDED_MS = 1_000;
/** Least time between two announcements of a server: shorter than their effect, which so lasts as long as the contention. */
const ANNOUNCE_MS = 400;

export function createContention(messages: Messages): Contention {
  const contendedUntil = new Map<string, number>();
  const announcedAt = new Map<string, number>();
  const listeners = new Set<(server: string) => void>();
  const retries = new Map<string, Semaphore>();
  const unsubscribe = messages.subscribe(CHANNEL, (message) => {
    const { data } = Announcement.safeParse(message);
    if (data) onAnnouncement(data.server);
  });

  function onAnnouncement(server: string): void {
    contendedUntil.set(server, performance.now() + CROWDED_MS);
    for (const listener of listeners) listener(server);
  }

  return {
    announce(server) {
      if (performance.now() - (announcedAt.get(server) ?? Number.NEGATIVE_INFINITY) < ANNOUNCE_MS) return;
      announcedAt.set(server, performance.now());
      onAnnouncement(server);
      // A lost message is followed by another, as long as the server has contention.
      messages.publish(CHANNEL, { server } satisfies z.output<typeof Announcement>).catch(() => undefined);
    },
    isContended: (server) => performance.now() < (contendedUntil.get(server) ?? 0),
    onAnnounced(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    retriesOf(server) {
      const known = retries.get(server) ?? createSemaphore({ permits: 1 });
      retries.set(server, known);
      return known;
    },
    [Symbol.dispose]: unsubscribe,
  };
}
