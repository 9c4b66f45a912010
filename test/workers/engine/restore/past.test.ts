import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { createReadPast } from '#workers/engine/restore/past.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** Ids of each statement that was sent. */
let statements: string[][] = [];
beforeEach(() => {
  statements = [];
});

function openReadPast() {
  const { pool } = deployment;
  const query = (statement: { values: [string[]] }) => {
    statements.push(statement.values[0]);
    return pool.query(statement as never);
  };
  return createReadPast({ query } as never);
}

/** A run with one event for each output, from number 1, and then an event of the run itself. */
async function addRun(outputs: readonly string[]): Promise<{ id: string; seq: number }> {
  const id = newID();
  await deployment.pool.query(
    `insert into run_event (instance_id, seq, node_id, status, exit, payload)
     select $1::uuid, cardinality($2::text[]) + 1, null, 'RUNNING', null, null
     union all select $1::uuid, n, 'node' || n, 'SUCCESS', 'output', jsonb_build_object('output', jsonb_build_object('text', value))
     from unnest($2::text[]) with ordinality as t(value, n)`,
    [id, outputs],
  );
  return { id, seq: outputs.length + 1 };
}

async function addCheckpoint(id: string, seq: number, state: object): Promise<void> {
  await deployment.pool.query('insert into run_checkpoint (instance_id, seq, state) values ($1, $2, $3)', [
    id,
    seq,
    JSON.stringify(state),
  ]);
}

const textOf = ({ payload }: { payload: unknown }) => (payload as { output: { text: string } }).output.text;

test('short pasts that are asked for in one turn are read by one statement, each with its own events in order', async () => {
  const readPast = openReadPast();
  const texts = Array.from({ length: 20 }, (_, run) => [`${run} first`, `${run} second`]);
  const runs = await Promise.all(texts.map(addRun));

  const pasts = await Promise.all(runs.map((run) => readPast(run)));

  expect(pasts.map(({ events }) => events.map(textOf))).toEqual(texts);
  expect(statements).toEqual([runs.map(({ id }) => id)]);
});

test('a past with many events, or with a large output, holds up no other', async () => {
  const readPast = openReadPast();
  // Does not compress.
  const large = Array.from({ length: 4000 }, () => Math.random().toString(36).slice(2)).join('');
  const small = await addRun(['small']);
  const long = await addRun(Array.from({ length: 51 }, (_, index) => `${index}`));
  const heavy = await addRun(['light', large]);

  const pasts = await Promise.all([small, long, heavy].map((run) => readPast(run)));

  expect(pasts.map(({ events }) => events.length)).toEqual([1, 51, 2]);
  expect(pasts[2]?.events.map(textOf)).toEqual(['light', large]);
  expect(statements).toContainEqual([long.id]);
  expect(statements).toContainEqual([small.id, heavy.id]);
  expect(statements).toContainEqual([heavy.id]);
});

test('after a checkpoint only later events are read, and earlier ones whose outputs it names', async () => {
  const readPast = openReadPast();
  const outputs = Array.from({ length: 40 }, (_, index) => `${index + 1}`);
  const known = await addRun(outputs);
  const unknown = await addRun(outputs);
  await addCheckpoint(known.id, 37, { version: 2, outputs: [3, 5] });
  await addCheckpoint(unknown.id, 37, { version: 3, outputs: [3, 5] });

  const [past, ignoring] = await Promise.all([known, unknown].map((run) => readPast(run)));

  expect(past).toMatchObject({ seq: 37, checkpoint: { version: 2, outputs: [3, 5] } });
  expect(past?.events.map(textOf)).toEqual(['3', '5', '38', '39', '40']);
  expect(ignoring).toMatchObject({ seq: 0, checkpoint: null });
  expect(ignoring?.events.map(textOf)).toEqual(outputs);
});

test('a run without events has an empty past', async () => {
  expect(await openReadPast()({ id: newID(), seq: 4 })).toEqual({ checkpoint: null, seq: 0, events: [] });
});
