import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { map as definition } from '#shared/workflow/nodes/kinds/map.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '5', NODE_OUTPUT_MAX_BYTES: '20000' });
  await deployment.startWorker();
});
afterAll(() => deployment[Symbol.asyncDispose]());

const start = { type: 'start' };
const map = (more: object = {}) => ({ type: 'map', sourceVariable: '{{ctx.input.items}}', ...more });
/** Answers with what a template gives. */
const end = (sourceVariable: unknown) => ({ type: 'end', outputParameters: [{ name: 'value', sourceVariable }] });
const results = end('{{ctx.mapResults}}');

async function begin(shape: ReturnType<typeof graph>, input: JsonObject = {}, options: JsonObject = {}) {
  const versionID = await deployment.saveVersion(shape, options);
  return (await deployment.runs.accept(deployment.newRun(versionID, input))).instanceID;
}

async function ended(id: string) {
  await eventually(async () => expect((await deployment.read(id)).status).toMatch(/^(COMPLETED|FAILED|CANCELLED)$/));
  return deployment.read(id);
}

async function run(...of: Parameters<typeof begin>) {
  return ended(await begin(...of));
}

interface ChunkRow {
  id: string;
  n: number;
  first: number;
  size: number;
  status: string;
  chunk_status: string | null;
}

/** Those that have been started, in the order of their items. */
async function chunksOf(id: string): Promise<ChunkRow[]> {
  const { rows } = await deployment.pool.query<ChunkRow>(
    `select i.id, c.n, c.first, c.size, i.status, c.status as chunk_status
     from run_map m join map_chunk c on c.map_id = m.id join workflow_instance i on i.id = c.instance_id
     where m.instance_id = $1 order by m.path, c.n`,
    [id],
  );
  return rows;
}

async function lastOutput(id: string, nodeID = 'map'): Promise<unknown> {
  const events = await deployment.events(id);
  return events.findLast(({ node_id, status }) => node_id === nodeID && status === 'SUCCESS')?.payload?.output;
}

const doubled = code('return ctx.item * 2 + ctx.index', { outputVariable: 'doubled' });
const simple = (more: object = {}) =>
  graph({ start, map: map(more), doubled, end: results }, ['start>map', 'map:map>doubled', 'map:completed>end']);
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('a map', () => {
  test.each([
    ['a list', [1, 2, 3], [2, 5, 8], 3],
    ['a single value', 5, [10], 1],
    ['null', null, [], 0],
    ['an empty list', [], [], 0],
  ])('over %s gives the value of its last node for each item, in order', async (_name, items, value, totalItems) => {
    const id = await begin(simple(), { items });

    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', output: { value } });
    expect(await lastOutput(id)).toEqual({ mapResults: value, totalItems, failedItems: 0, success: true });
    const events = await deployment.events(id);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });

  test('works off its items in chunks, each a run of its own, and keeps their order', async () => {
    const id = await begin(simple({ concurrency: 2, chunkSize: 3 }), { items: numbers(10) });

    expect((await ended(id)).output).toEqual({ value: numbers(10).map((n) => n * 3) });
    const chunks = await chunksOf(id);
    expect(chunks.map(({ first, size, status }) => [first, size, status])).toEqual([
      [0, 3, 'COMPLETED'],
      [3, 3, 'COMPLETED'],
      [6, 3, 'COMPLETED'],
      [9, 1, 'COMPLETED'],
    ]);
    const paths = await deployment.pool.query<{ n: number }>(
      `select iteration as n from run_event where instance_id = $1 and node_id = 'doubled' order by seq`,
      [chunks[1]?.id],
    );
    expect(paths.rows.map(({ n }) => n)).toEqual([3, 4, 5]);
  });

  test('may be led back to, and its exit may be called done', async () => {
    const row = await run(
      graph({ start, map: map(), doubled, end: results }, [
        'start>map',
        'map:map>doubled',
        'doubled:success>map',
        'map:done>end',
      ]),
      { items: [1, 2] },
    );

    expect(row).toMatchObject({ status: 'COMPLETED', output: { value: [2, 5] } });
  });

  test('without a body gives no results, and disabled is passed through', async () => {
    const bare = await run(graph({ start, map: map(), end: results }, ['start>map', 'map>end']), { items: [1, 2] });
    const disabled = await begin(simple({ isDisabled: true }), { items: [1, 2] });

    expect(bare).toMatchObject({ status: 'COMPLETED', output: { value: [] } });
    expect(await ended(disabled)).toMatchObject({ status: 'COMPLETED', output: { value: null } });
    expect(await chunksOf(disabled)).toEqual([]);
  });

  test('keeps what its body sets inside of the item, which sees what is around the map', async () => {
    const row = await run(
      graph(
        {
          start,
          before: code('return "before"', { outputVariable: 'seen' }),
          map: map(),
          look: code('return [ctx.seen, ctx.own ?? null, ctx.item, ctx.input.more]', { outputVariable: 'looked' }),
          set: code('return "inside"', { outputVariable: 'seen' }),
          own: code('return [ctx.looked, ctx.seen]', { outputVariable: 'own' }),
          end: end(['{{ctx.seen}}', '{{ctx.own}}', '{{ctx.item}}', '{{ctx.mapResults}}']),
        },
        [
          'start>before',
          'before:success>map',
          'map:map>look',
          'look:success>set',
          'set:success>own',
          'map:completed>end',
        ],
      ),
      { items: ['a', 'b'], more: 1 },
    );

    const each = ['a', 'b'].map((item) => [['before', null, item, 1], 'inside']);
    expect(row.output).toEqual({ value: ['before', null, null, each] });
  });

  test('works inside of a loop, of a map and around a loop', async () => {
    const cell = code('return ctx.y + "." + ctx.index + "=" + ctx.item', { outputVariable: 'cell' });
    const kinds = ['loop', 'map'] as const;
    for (const [outer, inner] of [
      ['loop', 'map'],
      ['map', 'map'],
      ['map', 'loop'],
    ] satisfies (typeof kinds)[number][][]) {
      const row = await run(
        graph(
          {
            start,
            rows: { ...map({ indexVariable: 'y', itemVariable: 'row', outputVariable: 'all' }), type: outer ?? '' },
            cells: { ...map({ sourceVariable: '{{ctx.row}}', outputVariable: 'cells' }), type: inner ?? '' },
            cell,
            after: code('return ctx.cells.join(" ")', { outputVariable: 'after' }),
            end: end('{{ctx.all}}'),
          },
          [
            'start>rows',
            `rows:${outer}>cells`,
            `cells:${inner}>cell`,
            'cell:success>cells',
            'cells:completed>after',
            'after:success>rows',
            'rows:completed>end',
          ],
        ),
        { items: [['a', 'b'], [], ['c']] },
      );

      expect(row, `${inner} in ${outer}`).toMatchObject({
        status: 'COMPLETED',
        output: { value: ['0.0=a 0.1=b', '', '2.0=c'] },
      });
    }
  });

  test('with collectResults false keeps the numbers only', async () => {
    const id = await begin(simple({ collectResults: false }), { items: numbers(5) });

    expect((await ended(id)).output).toEqual({ value: null });
    expect(await lastOutput(id)).toEqual({ mapResults: null, totalItems: 5, failedItems: 0, success: true });
  });

  test('fails when its items, or the results of all, are larger than an output may be', async () => {
    const text = 'x'.repeat(1_500);
    const large = graph({ start, map: map({ chunkSize: 2 }), text: code(`return "${text}"`) }, [
      'start>map',
      'map:map>text',
    ]);

    expect(await run(large, { items: numbers(30) })).toMatchObject({
      status: 'FAILED',
      error: { code: 'OUTPUT_TOO_LARGE', nodeID: 'map', message: expect.stringContaining('collectResults') },
    });
    const joined = map({ chunkSize: 30, failurePolicy: 'collect' });
    const inOneChunk = graph({ start, map: joined, text: code(`return "${text}"`) }, ['start>map', 'map:map>text']);
    expect(await run(inOneChunk, { items: numbers(30) })).toMatchObject({
      status: 'FAILED',
      error: { code: 'OUTPUT_TOO_LARGE', nodeID: 'map', message: expect.stringContaining('collectResults') },
    });
    expect(await run(simple({ sourceVariable: [text.repeat(20)] }))).toMatchObject({
      status: 'FAILED',
      error: { code: 'OUTPUT_TOO_LARGE', nodeID: 'map' },
    });
  });

  test('with more items than it may have fails, by its exit if that is connected', async () => {
    const nodes = { start, map: map({ maxIterations: 2 }), doubled };
    const input = { items: [1, 2, 3] };
    const failed = await run(graph(nodes, ['start>map', 'map:map>doubled']), input);
    const left = await run(
      graph({ ...nodes, end: end('left') }, ['start>map', 'map:map>doubled', 'map:error>end']),
      input,
    );

    const message = 'The list has 3 items, more than maxIterations (2)';
    expect(failed).toMatchObject({ status: 'FAILED', error: { code: 'NODE_FAILED', nodeID: 'map', message } });
    expect(left).toMatchObject({ status: 'COMPLETED', output: { value: 'left' } });
  });

  test('ends an item at an end, which fails it if it says so', async () => {
    const branch = { id: 'odd', conditions: [{ operator: 'contains', leftValue: 'b d', rightValue: '{{ctx.item}}' }] };
    const row = await run(
      graph(
        {
          start,
          map: map({ failurePolicy: 'collect' }),
          which: { type: 'condition', branches: [branch] },
          bad: { type: 'end', status: 'failure', message: 'bad {{ctx.item}}' },
          good: end('{{ctx.item}}'),
          end: end('{{ctx.mapResults}}'),
        },
        ['start>map', 'map:map>which', 'which:odd>bad', 'which:default>good', 'map:completed>end'],
      ),
      { items: ['a', 'b', 'c', 'd'] },
    );

    const failed = (item: string) => ({ success: false, error: { code: 'NODE_FAILED', message: `bad ${item}` } });
    expect(row).toMatchObject({
      status: 'COMPLETED',
      output: { value: [{ value: 'a' }, failed('b'), { value: 'c' }, failed('d')] },
    });
  });
});

describe('items that fail', () => {
  const odd = code('if (ctx.item % 2) throw new Error("odd " + ctx.item); return ctx.item;');
  const failing = (more: object, edges: readonly string[] = ['map:completed>end']) =>
    graph({ start, map: map(more), odd, end: end('{{ctx.mapResults}}') }, ['start>map', 'map:map>odd', ...edges]);
  const error = (item: number) => ({
    success: false,
    error: { code: 'NODE_FAILED', message: expect.stringContaining(`odd ${item}`) },
  });

  test('fail the node at once with fail-fast, which names the item, and stop the others', async () => {
    const waiting = graph(
      {
        start,
        map: map({ concurrency: 3 }),
        odd,
        wait: { type: 'delay', delayMinutes: 60 },
        end: end('{{ctx.mapResults}}'),
      },
      ['start>map', 'map:map>odd', 'odd:success>wait', 'map:completed>end'],
    );
    const id = await begin(waiting, { items: [2, 3, 4] });

    expect(await ended(id)).toMatchObject({
      status: 'FAILED',
      error: { nodeID: 'map', message: expect.stringMatching(/^Item 1: .*odd 3/) },
    });
    await eventually(async () =>
      expect((await chunksOf(id)).map(({ status }) => status)).toEqual(['CANCELLED', 'FAILED', 'CANCELLED']),
    );
    // Stopped ones have not failed.
    await eventually(async () => {
      const { rows } = await deployment.pool.query(
        'select failed_items, ended, outcome from run_map where instance_id = $1',
        [id],
      );
      expect(rows).toEqual([{ failed_items: 1, ended: 3, outcome: 'failed' }]);
    });
  });

  test('leave by the error exit of the node, or by its usual exit with errorHandling continue', async () => {
    const input = { items: [1] };

    expect(await run(failing({}, ['map:error>end']), input)).toMatchObject({
      status: 'COMPLETED',
      output: { value: null },
    });
    expect(await run(failing({ errorHandling: 'continue' }), input)).toMatchObject({ status: 'COMPLETED' });
    expect(await run(failing({ errorHandling: 'fail_workflow' }, ['map:error>end']), input)).toMatchObject({
      status: 'FAILED',
    });
  });

  test('are what `continue` speaks of: a map that cannot begin or end for another reason still fails', async () => {
    const large = graph({ start, map: map({ errorHandling: 'continue' }), large: code('return "x".repeat(5_000)') }, [
      'start>map',
      'map:map>large',
    ]);
    const tooLong = 'The list has 3 items, more than maxIterations (2)';
    const badConfig = failing({ errorHandling: 'continue', maxIterations: '{{ctx.input.many}}' });
    const cases: [ReturnType<typeof graph>, JsonObject, object][] = [
      [failing({ errorHandling: 'continue', maxIterations: 2 }), { items: [2, 4, 6] }, { message: tooLong }],
      [badConfig, { items: [2], many: 'many' }, { code: 'VALIDATION_ERROR' }],
      [large, { items: numbers(20) }, { code: 'OUTPUT_TOO_LARGE' }],
    ];
    for (const [shape, input, of] of cases)
      expect(await run(shape, input)).toMatchObject({ status: 'FAILED', error: { nodeID: 'map', ...of } });

    const handled = failing({ errorHandling: 'continue', maxIterations: 2 }, ['map:error>end']);
    expect(await run(handled, { items: [2, 4, 6] })).toMatchObject({ status: 'COMPLETED', output: { value: null } });
  });

  test('are their errors among the results with collect', async () => {
    const id = await begin(failing({ failurePolicy: 'collect', chunkSize: 2 }), { items: numbers(5) });

    expect((await ended(id)).output).toEqual({ value: [0, error(1), 2, error(3), 4] });
    expect(await lastOutput(id)).toMatchObject({ totalItems: 5, failedItems: 2, success: false });
  });

  test.each([
    [2, 'COMPLETED'],
    [1, 'FAILED'],
  ])('with tolerate may be as many as %s: %s', async (toleratedFailures, status) => {
    for (const chunkSize of [1, 5]) {
      const shape = failing({ failurePolicy: 'tolerate', toleratedFailures, chunkSize });
      const row = await run(shape, { items: numbers(5) });

      expect(row.status).toBe(status);
      if (status === 'COMPLETED') expect(row.output).toEqual({ value: [0, error(1), 2, error(3), 4] });
      else {
        const message = 'Error: odd 1 (line 1)';
        const many = `2 items have failed, more than toleratedFailures (1). The first is item 1: ${message}`;
        const path = [{ nodeID: 'map', iteration: 1 }];
        const cause = {
          code: 'NODE_FAILED',
          message,
          nodeID: 'odd',
          frame: path,
          attempt: 1,
          instanceID: expect.any(String),
        };
        expect(row.error).toMatchObject({ code: 'NODE_FAILED', message: many, nodeID: 'map', cause });
      }
    }
  });

  test('are counted as those that have failed, not as all of their chunk', async () => {
    const id = await begin(failing({ failurePolicy: 'fail-fast', chunkSize: 5 }), { items: numbers(5) });

    await ended(id);
    const { rows } = await deployment.pool.query('select failed_items from run_map where instance_id = $1', [id]);
    expect(rows).toEqual([{ failed_items: 1 }]);
  });

  test('are, in a chunk that is lost to its workers, those that have not ended: the others keep their results', async () => {
    const pause = { type: 'delay', delayType: 'dynamic', delayVariable: '{{ctx.item}}' };
    const last = code('return ctx.item');
    const shape = graph(
      { start, map: map({ failurePolicy: 'collect', chunkSize: 4 }), odd, pause, last, end: results },
      ['start>map', 'map:map>odd', 'odd:success>pause', 'pause>last', 'map:completed>end'],
    );
    const id = await begin(shape, { items: [2, 3, 3_600_000, 4] });
    await eventually(async () => expect(await chunksOf(id)).toMatchObject([{ status: 'WAITING' }]));
    const [chunk] = await chunksOf(id);
    await deployment.pool.query(
      'update workflow_instance set losses = 3, ready_at = now(), dispatched_at = now() where id = $1',
      [chunk?.id],
    );

    const { output } = await ended(id);
    const lost = { success: false, error: { code: 'WORKER_LOST', message: expect.any(String) } };
    expect(output).toEqual({ value: [2, error(3), lost, lost] });
    expect(await lastOutput(id)).toMatchObject({ totalItems: 4, failedItems: 3 });
    const path = [{ nodeID: 'map', iteration: 2 }];
    expect((await deployment.read(chunk?.id ?? '')).error).toMatchObject({ nodeID: 'pause', frame: path, attempt: 1 });
  });

  test('are retried as their node says', async () => {
    const flaky = code('if (ctx.item % 2) throw new Error("odd"); return ctx.item;', {
      retryLimit: 1,
      retryDelaySeconds: 0,
    });
    const id = await begin(
      graph({ start, map: map({ failurePolicy: 'collect' }), flaky }, ['start>map', 'map:map>flaky']),
      { items: [1] },
    );

    await ended(id);
    const [chunk] = await chunksOf(id);
    const attempts = (await deployment.events(chunk?.id ?? '')).filter(({ status }) => status === 'FAILED');
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test('fail the item of a loop around the map', async () => {
    const row = await run(
      graph(
        {
          start,
          outer: { type: 'loop', sourceVariable: '{{ctx.input.items}}', errorHandling: 'continue' },
          inner: map({ sourceVariable: '{{ctx.item}}' }),
          odd,
          end: end('{{ctx.loopResults}}'),
        },
        ['start>outer', 'outer:loop>inner', 'inner:map>odd', 'outer:completed>end'],
      ),
      { items: [[2, 4], [2, 3, 4], [6]] },
    );

    expect(row.output).toEqual({ value: [[2, 4], error(3), [6]] });
  });
});

describe('a body that waits', () => {
  test('for people asks for all items at once, each in its own chunk', async () => {
    const ask = { type: 'dataCollection', fields: [{ key: 'answer' }] };
    const id = await begin(graph({ start, map: map(), ask, end: results }, ['start>map', 'map:map>ask', 'map>end']), {
      items: ['a', 'b'],
    });
    const open = () =>
      deployment.pool.query<{ id: string; n: number; chunk: string }>(
        `select r.id, r.iteration as n, r.instance_id as chunk from collection_request r join workflow_instance i on i.id = r.instance_id
         where i.parent_id = $1 and r.status = 'PENDING' order by n desc`,
        [id],
      );
    await eventually(async () => expect((await open()).rows).toHaveLength(2));
    expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null });

    for (const { id: requestID, n, chunk } of (await open()).rows) {
      await deployment.pool.query(
        `update collection_request set status = 'COMPLETED', submitted_data = $2 where id = $1`,
        [requestID, { answer: n }],
      );
      await deployment.runs.wake([chunk]);
    }

    expect(await ended(id)).toMatchObject({ output: { value: [{ answer: 0 }, { answer: 1 }] } });
  });

  test('for a child run or a moment goes on', async () => {
    const child = await deployment.saveWorkflow(
      graph({ start, end: { type: 'end', outputParameters: [{ name: 'got', sourceVariable: '{{ctx.input.n}}' }] } }, [
        'start>end',
      ]),
    );
    const row = await run(
      graph(
        {
          start,
          map: map({ chunkSize: 2 }),
          wait: { type: 'delay', delayMs: 1 },
          sub: { type: 'subWorkflow', childWorkflowID: child.workflowID, inputMapping: { n: '{{ctx.item}}' } },
          end: results,
        },
        ['start>map', 'map:map>wait', 'wait>sub', 'map:completed>end'],
      ),
      { items: [1, 2, 3] },
    );

    expect(row).toMatchObject({ status: 'COMPLETED', output: { value: [{ got: 1 }, { got: 2 }, { got: 3 }] } });
  });
});

describe('the end of the run', () => {
  const waiting = graph({ start, map: map({ concurrency: 2 }), wait: { type: 'delay', delayMinutes: 60 } }, [
    'start>map',
    'map:map>wait',
  ]);

  async function waitingRun(options: JsonObject = {}, timeoutMs = 3_600_000) {
    const versionID = await deployment.saveVersion(waiting, options);
    const newRun = deployment.newRun(versionID, { items: [1, 2, 3] }, { timeoutMs });
    const { instanceID: id } = await deployment.runs.accept(newRun);
    await eventually(async () =>
      expect((await chunksOf(id)).map(({ status }) => status)).toEqual(['WAITING', 'WAITING']),
    );
    return id;
  }

  test('stops its chunks, and starts no other', async () => {
    const id = await waitingRun();

    await deployment.runs.stop(deployment.tenantID, id);

    const chunks = await chunksOf(id);
    expect(chunks.map(({ status, chunk_status }) => [status, chunk_status])).toEqual([
      ['CANCELLED', 'CANCELLED'],
      ['CANCELLED', 'CANCELLED'],
    ]);
    expect(await ended(id)).toMatchObject({ status: 'CANCELLED' });
  });

  test('comes to its chunks with its deadline', async () => {
    const id = await waitingRun({}, 3_000);

    const { rows } = await deployment.pool.query<{ same: boolean }>(
      'select c.deadline_at = p.deadline_at as same from workflow_instance c join workflow_instance p on p.id = c.parent_id where p.id = $1',
      [id],
    );
    expect(rows).toEqual([{ same: true }, { same: true }]);
    expect(await ended(id)).toMatchObject({ status: 'FAILED', error: { code: 'RUN_TIMEOUT' } });
    await eventually(async () => {
      for (const { status } of await chunksOf(id)) expect(status).toMatch(/^(FAILED|CANCELLED)$/);
    });
  });

  test('of one chunk, stopped by itself, fails the map without counting a failed item', async () => {
    const id = await waitingRun();
    const [first] = await chunksOf(id);

    await deployment.runs.stop(deployment.tenantID, first?.id ?? '');

    expect(await ended(id)).toMatchObject({ status: 'FAILED', error: { message: 'A part of the map was stopped' } });
    const { rows } = await deployment.pool.query('select failed_items from run_map where instance_id = $1', [id]);
    expect(rows).toEqual([{ failed_items: 0 }]);
  });
});

test('a wrong config is refused with its path', () => {
  const parse = (config: object) =>
    definition.config.safeParse({ sourceVariable: [], ...config }).error?.issues.map(({ path }) => path.join('.'));

  expect(parse({})).toBeUndefined();
  expect(parse({ concurrency: 0 })).toEqual(['concurrency']);
  expect(parse({ concurrency: 1_001 })).toEqual(['concurrency']);
  expect(parse({ chunkSize: 0 })).toEqual(['chunkSize']);
  expect(parse({ maxIterations: 100_001 })).toEqual(['maxIterations']);
  expect(parse({ failurePolicy: 'ignore' })).toEqual(['failurePolicy']);
  expect(parse({ failurePolicy: 'tolerate' })).toEqual(['toleratedFailures']);
  expect(parse({ toleratedFailures: 2 })).toEqual(['toleratedFailures']);
  expect(parse({ indexVariable: 'item' })).toEqual(['indexVariable']);
  expect(parse({ errorHandling: 'skip_item' })).toEqual(['errorHandling']);
});
