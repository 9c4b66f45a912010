import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { GROUPS, type Group } from './program.ts';
import { COUNTERS } from './steps.ts';

export interface CounterService extends AsyncDisposable {
  readonly url: string;
  /** Counters by group. */
  readonly counters: Record<Group, number[]>;
  /** Calls that came again with a key that had been counted. */
  readonly repeated: number;
}

/**
 * The outside world: counters in a database of their own, which no fault touches. A call is counted once for its idempotency key,
 * as a payment service would. It fails the first calls with a key, as many as the call asks for.
 */
export async function startCounterService(): Promise<CounterService> {
  const db = new DatabaseSync(':memory:');
  db.exec('create table counter (name text, id integer, value integer not null, primary key (name, id))');
  db.exec(
    'create table call (key text primary key, calls integer not null, failures integer not null, is_counted integer not null default 0)',
  );
  for (const group of GROUPS)
    for (let id = 0; id < COUNTERS; id += 1) db.prepare('insert into counter values (?, ?, 0)').run(group, id);
  const read = db.prepare('select value from counter where name = ? order by id');
  const call = db.prepare(
    'insert into call (key, calls, failures) values (?, 1, ?) on conflict do update set calls = calls + 1 returning calls, is_counted',
  );
  const count = db.prepare('update call set is_counted = 1 where key = ?');
  const add = db.prepare('update counter set value = value + ? where name = ? and id = ?');

  function answer(key: string, { counter, amount, failures, group }: Call): number {
    const { calls, is_counted } = call.get(key, failures) as { calls: number; is_counted: number };
    if (calls <= failures) return 503;
    if (is_counted === 0) {
      count.run(key);
      add.run(amount, group, counter);
    }
    return 200;
  }

  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => '');
    if (body === '') return void response.destroy();
    response.statusCode = answer(String(request.headers['idempotency-key']), JSON.parse(body));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get counters() {
      const [certain = [], cancelled = []] = GROUPS.map((group) => read.all(group).map(({ value }) => Number(value)));
      return { certain, cancelled };
    },
    get repeated() {
      return Number(db.prepare('select count(*) as n from call where calls > failures + 1').get()?.n);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      db.close();
    },
  };
}

interface Call {
  counter: number;
  amount: number;
  failures: number;
  group: Group;
}
