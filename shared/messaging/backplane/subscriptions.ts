import type { Logger } from '../../core/logger.ts';

type Listener = (message: unknown) => void;

/** Listeners of this process by channel, for both backplanes. */
export function createSubscriptions(logger: Logger) {
  const listeners = new Map<string, Set<Listener>>();

  return {
    /** The iterator also reaches channels that are added while it runs. */
    channels: () => listeners.keys(),
    /** Whether this is the channel's first listener. */
    add(channel: string, listener: Listener): boolean {
      const known = listeners.get(channel);
      if (known) known.add(listener);
      else listeners.set(channel, new Set([listener]));
      return !known;
    },
    remove(channel: string, listener: Listener): void {
      listeners.get(channel)?.delete(listener);
    },
    deliver(channel: string, text: string): void {
      for (const listener of listeners.get(channel) ?? []) {
        try {
          listener(JSON.parse(text));
        } catch (error) {
          logger.error({ err: error, channel }, 'message listener failed');
        }
      }
    },
  };
}
