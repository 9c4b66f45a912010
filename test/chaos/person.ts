import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosClient } from './client.ts';
import type { World } from './world.ts';

/** A person who looks for questions and answers them, at most twenty at a time, until disposed. */
export function answerQuestions({ pool }: Pick<World, 'pool'>, client: ChaosClient): AsyncDisposable {
  let isOver = false;
  const answering = (async () => {
    while (!isOver) {
      const { rows } = await pool
        .query<{ id: string }>(`select id from collection_request where status = 'PENDING' order by random() limit 20`)
        .catch(() => ({ rows: [] }));
      await Promise.all(rows.map(({ id }) => client.answer(id)));
      await sleep(200);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      await answering;
    },
  };
}
