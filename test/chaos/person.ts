import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosClient } from './client.ts';
import { broughtTo } from './steps.ts';
import type { World } from './world.ts';

/**
 * A person who answers questions, each after all its reminders, and sends the events that runs wait for and are not sent by the
 * program; twenty of each at a time, until disposed.
 */
export function answerQuestions({ pool }: Pick<World, 'pool'>, client: ChaosClient): AsyncDisposable {
  let isOver = false;
  const answering = (async () => {
    while (!isOver) {
      const questions = await pool.query<{ id: string; title: string }>(QUESTIONS).catch(() => ({ rows: [] }));
      const waits = await pool.query<{ name: string; key: string }>(WAITS).catch(() => ({ rows: [] }));
      await Promise.all([
        ...questions.rows.map(({ id, title }) => client.answer(id, title)),
        ...waits.rows.map(async ({ name, key }) => {
          const brings = broughtTo(name);
          if (brings !== undefined) await client.bring({ name, key, brings });
        }),
      ]);
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

const QUESTIONS = `
select id, coalesce(collection_config ->> 'title', '') as title from collection_request r
where status = 'PENDING' and coalesce(collection_config ->> 'title', '') <> 'never'
  and coalesce(jsonb_array_length(collection_config -> 'reminders'), 0) <= (
    select count(*) from run_event e
    where e.instance_id = r.instance_id and e.payload -> 'reminder' ->> 'collectionRequestID' = r.id::text)
order by random() limit 20`;

const WAITS = `
select name, key from (select distinct name, key from event_wait where is_open and name like 'asked %') w order by random() limit 20`;
