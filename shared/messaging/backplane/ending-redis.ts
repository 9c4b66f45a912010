import type { Redis } from 'ioredis';

/** Commands that ioredis stores of a connection that broke, to send them again on the next one. Its types do not name them. */
interface Unsent {
  prevCommandQueue?: { shift(): { command: { reject(error: Error): void } } | undefined } | null;
}

/**
 * Makes a connection, and all duplicates of it, end on `disconnect` also while it waits to reconnect. ioredis 6.0.0 then only stops its
 * timer: it never emits `end`, which BullMQ waits for when it closes a consumer, and the commands that it would send again stay without
 * an answer, so that the process never ends (redis/ioredis#2169, taskforcesh/bullmq#4656).
 */
export function endingRedis(client: Redis): Redis {
  const disconnect = client.disconnect.bind(client);
  client.disconnect = (reconnect = false) => {
    // In the state `wait` ioredis ends at once.
    if (client.status === 'reconnecting' && !reconnect) client.status = 'wait';
    disconnect(reconnect);
  };
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => endingRedis(duplicate(override));
  client.on('end', () => {
    const { prevCommandQueue: unsent } = client as Unsent;
    for (let item = unsent?.shift(); item; item = unsent?.shift())
      item.command.reject(new Error('Connection is closed.'));
  });
  return client;
}
