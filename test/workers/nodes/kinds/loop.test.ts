import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph, noop } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '5' });
  await deployment.startWorker();
});
afterAll(() => deployment[Symbol.asyncDispose]());

const start = { type: 'start' };
const loop = (more: object = {}) => ({ type: 'loop', sourceVariable: '{{ctx.input.items}}', ...more });
/** Answers with what a template gives. */
const end = (sourceVariable: unknown) => ({ type: 'end', outputParameters: [{ name: 'value', sourceVariable }] });
const results = end('{{ctx.loopResults}}');

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

/** The attempts of the nodes, as `node path STATUS`. */
async function story(id: string): Promise<string[]> {
  const { rows } = await deployment.pool.query<{ line: string }>(
    `select concat_ws(' ', node_id, (select string_agg(step ->> 'iteration', '.') from jsonb_array_elements(frame) step), status) as line
     from run_event where instance_id = $1 and node_id is not null order by seq`,
    [id],
  );
  return rows.map(({ line }) => line);
}

const doubled = code('return ctx.item * 2 + ctx.index', { outputVariable: 'doubled' });

describe('a loop', () => {
  test.each([
    ['a list', [1, 2, 3], [2, 5, 8], 3],
    ['a single value', 5, [10], 1],
    ['null', null, [], 0],
    ['an empty list', [], [], 0],
  ])('over %s gives the value of its last node for each item', async (_name, items, value, totalItems) => {
    const id = await begin(
      graph({ start, loop: loop(), doubled, end: results }, ['start>loop', 'loop:loop>doubled', 'loop:completed>end']),
      { items },
    );

    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', output: { value } });
    const events = await deployment.events(id);
    const last = events.findLast(({ node_id }) => node_id === 'loop');
    expect(last).toMatchObject({
      status: 'SUCCESS',
      exit: 'completed',
      payload: { output: { totalItems, success: true } },
    });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });

  test('may be led back to, and its exit may be called done', async () => {
    const row = await run(
      graph({ start, loop: loop(), doubled, end: results }, [
        'start>loop',
        'loop:loop>doubled',
        'doubled:success>loop',
        'loop:done>end',
      ]),
      { items: [1, 2] },
    );

    expect(row).toMatchObject({ status: 'COMPLETED', output: { value: [2, 5] } });
  });

  test('without a body gives no results', async () => {
    const row = await run(graph({ start, loop: loop(), end: results }, ['start>loop', 'loop>end']), { items: [1, 2] });

    expect(row).toMatchObject({ status: 'COMPLETED', output: { value: [] } });
  });

  test('that is disabled is passed through without its body', async () => {
    const id = await begin(
      graph({ start, loop: loop({ isDisabled: true }), doubled, end: end('after') }, [
        'start>loop',
        'loop:loop>doubled',
        'loop:completed>end',
      ]),
      { items: [1, 2] },
    );

    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', output: { value: 'after' } });
    expect(await story(id)).toEqual(['start SUCCESS', 'loop SKIPPED', 'end SUCCESS']);
  });

  test('keeps what its body sets inside of the iteration', async () => {
    const row = await run(
      graph(
        {
          start,
          before: code('return "before"', { outputVariable: 'seen' }),
          loop: loop(),
          look: code('return [ctx.seen, ctx.own ?? null, ctx.item]', { outputVariable: 'looked' }),
          set: code('return "inside"', { outputVariable: 'seen' }),
          own: code('return [ctx.looked, ctx.seen]', { outputVariable: 'own' }),
          end: end(['{{ctx.seen}}', '{{ctx.own}}', '{{ctx.item}}', '{{ctx.loopResults}}']),
        },
        [
          'start>before',
          'before:success>loop',
          'loop:loop>look',
          'look:success>set',
          'set:success>own',
          'loop:completed>end',
        ],
      ),
      { items: ['a', 'b'] },
    );

    const each = ['a', 'b'].map((item) => [['before', null, item], 'inside']);
    expect(row.output).toEqual({ value: ['before', null, null, each] });
  });

  test('in the body of another has an own item, and the values around it', async () => {
    const row = await run(
      graph(
        {
          start,
          rows: loop({ itemVariable: 'row', indexVariable: 'y' }),
          cells: loop({ sourceVariable: '{{ctx.row}}', outputVariable: 'cells' }),
          cell: code('return ctx.y + "." + ctx.index + "=" + ctx.item', { outputVariable: 'cell' }),
          after: code('return ctx.cells.join(" ")', { outputVariable: 'after' }),
          end: results,
        },
        [
          'start>rows',
          'rows:loop>cells',
          'cells:loop>cell',
          'cell:success>cells',
          'cells:completed>after',
          'after:success>rows',
          'rows:completed>end',
        ],
      ),
      { items: [['a', 'b'], [], ['c']] },
    );

    expect(row).toMatchObject({ status: 'COMPLETED', output: { value: ['0.0=a 0.1=b', '', '2.0=c'] } });
  });

  test('takes the result of the branch that was taken, and of several that of the last node in the graph', async () => {
    const branch = { id: 'even', conditions: [{ operator: 'equals', leftValue: '{{ctx.index}}', rightValue: 0 }] };
    const row = await run(
      graph(
        {
          start,
          loop: loop(),
          which: { type: 'condition', branches: [branch] },
          even: code('return "even"'),
          odd: code('return "odd"'),
          also: code('return "also"'),
          end: results,
        },
        [
          'start>loop',
          'loop:loop>which',
          'which:even>even',
          'which:default>odd',
          'which:default>also',
          'loop:completed>end',
        ],
      ),
      { items: [1, 2] },
    );

    expect(row.output).toEqual({ value: ['even', 'also'] });
  });

  test('with more items than it may have fails, by its exit if that is connected', async () => {
    const nodes = { start, loop: loop({ maxIterations: 2 }), doubled };
    const input = { items: [1, 2, 3] };
    const failed = await run(graph(nodes, ['start>loop', 'loop:loop>doubled']), input);
    const left = await run(
      graph({ ...nodes, end: end('left') }, ['start>loop', 'loop:loop>doubled', 'loop:error>end']),
      input,
    );

    const message = 'The list has 3 items, more than maxIterations (2)';
    expect(failed).toMatchObject({ status: 'FAILED', error: { code: 'NODE_FAILED', nodeID: 'loop', message } });
    expect(left).toMatchObject({ status: 'COMPLETED', output: { value: 'left' } });
  });
});

describe('an item that fails', () => {
  const odd = code('if (ctx.item % 2) throw new Error("odd"); return ctx.item;');
  const input = { items: [2, 3, 4] };
  const after = code('return "after"');
  const error = expect.objectContaining({ code: 'NODE_FAILED', message: expect.stringContaining('odd') });

  function failing(more: object, edges: readonly string[] = ['loop:completed>end']) {
    return graph({ start, loop: loop(more), odd, beside: noop, after, end: end('{{ctx.loopResults}}') }, [
      'start>loop',
      'loop:loop>odd',
      'loop:loop>beside',
      'odd:success>after',
      'beside:yes>after',
      ...edges,
    ]);
  }

  test('fails the run, which names its node', async () => {
    for (const more of [{}, { errorHandling: 'fail_workflow' }]) {
      const edges = 'errorHandling' in more ? ['loop:error>end'] : undefined;
      expect(await run(failing(more, edges), input)).toMatchObject({ status: 'FAILED', error: { nodeID: 'odd' } });
    }
  });

  test('leaves the loop by its error exit if that is connected, without another item', async () => {
    const id = await begin(failing({}, ['loop:error>end']), input);

    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', output: { value: null } });
    const lines = await story(id);
    expect(lines).toContain('odd 1 FAILED');
    expect(lines).toContain('loop FAILED');
    expect(lines.filter((line) => line.includes(' 2 '))).toEqual([]);
    expect(lines).not.toContain('after 1 SUCCESS');
  });

  test.each(['continue', 'skip_item'])(
    'with %s, a loop that cannot begin or end still fails',
    async (errorHandling) => {
      const long = { items: Array.from({ length: 1_383 }, (_, n) => n) };
      const badConfig = { maxIterations: '{{ctx.input.many}}', errorHandling };
      const large = code('return "x".repeat(3_000_000)');
      const largeBody = graph({ start, loop: loop({ errorHandling }), large }, ['start>loop', 'loop:loop>large']);
      const tooLong = 'The list has 1383 items, more than maxIterations (1000)';
      const cases: [ReturnType<typeof graph>, JsonObject, object][] = [
        [failing({ errorHandling }), long, { code: 'NODE_FAILED', message: tooLong }],
        [failing(badConfig), { items: [2], many: 'many' }, { code: 'VALIDATION_ERROR' }],
        [largeBody, { items: [1, 2] }, { code: 'OUTPUT_TOO_LARGE' }],
      ];
      for (const [shape, input, of] of cases)
        expect(await run(shape, input)).toMatchObject({ status: 'FAILED', error: { nodeID: 'loop', ...of } });

      const handled = await run(failing({ errorHandling }, ['loop:error>end']), long);
      expect(handled).toMatchObject({ status: 'COMPLETED', output: { value: null } });
      const inLoop = graph(
        {
          start,
          outer: loop({ errorHandling }),
          inner: loop({ sourceVariable: '{{ctx.item}}', maxIterations: 1, errorHandling }),
          odd,
          end: results,
        },
        ['start>outer', 'outer:loop>inner', 'inner:loop>odd', 'outer:completed>end'],
      );
      const { output } = await run(inLoop, { items: [[2], [2, 4], [6]] });
      const failed = {
        success: false,
        error: { code: 'NODE_FAILED', message: expect.stringMatching(/^The list has 2/) },
      };
      expect(output).toEqual({ value: errorHandling === 'continue' ? [[2], failed, [6]] : [[2], [6]] });
    },
  );

  test('is its error among the results, or is left out', async () => {
    const completed = await run(failing({ errorHandling: 'continue' }), input);
    const skipped = await run(failing({ errorHandling: 'skip_item' }), input);

    expect(completed).toMatchObject({
      status: 'COMPLETED',
      output: { value: ['after', { success: false, error }, 'after'] },
    });
    expect(skipped).toMatchObject({ status: 'COMPLETED', output: { value: ['after', 'after'] } });
  });

  test('fails the item around it when the inner loop does not handle it', async () => {
    const row = await run(
      graph(
        {
          start,
          outer: loop({ errorHandling: 'continue' }),
          inner: loop({ sourceVariable: '{{ctx.item}}' }),
          odd,
          end: results,
        },
        ['start>outer', 'outer:loop>inner', 'inner:loop>odd', 'outer:completed>end'],
      ),
      { items: [[2, 4], [2, 3, 4], [6]] },
    );

    expect(row.output).toEqual({ value: [[2, 4], { success: false, error }, [6]] });
  });

  test('is retried as its node says, in each iteration anew', async () => {
    const flaky = code('if (ctx.item % 2) throw new Error("odd"); return ctx.item;', {
      retryLimit: 1,
      retryDelaySeconds: 0,
    });
    const id = await begin(
      graph({ start, loop: loop({ errorHandling: 'continue' }), flaky }, ['start>loop', 'loop:loop>flaky']),
      { items: [1, 2, 3] },
    );

    await ended(id);
    const attempts = (await deployment.events(id))
      .filter(({ status }) => status === 'FAILED')
      .map((one) => one.attempt);
    expect(attempts).toEqual([1, 2, 1, 2]);
  });
});

describe('a body that waits', () => {
  test('for people parks, with a question for each item', async () => {
    const id = await begin(
      graph({ start, loop: loop(), ask: { type: 'dataCollection', fields: [{ key: 'answer' }] }, end: results }, [
        'start>loop',
        'loop:loop>ask',
        'loop:completed>end',
      ]),
      { items: ['a', 'b'] },
    );
    for (const index of [0, 1]) {
      await eventually(async () => {
        expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null });
        const { rows } = await deployment.pool.query<{ n: number }>(
          `select iteration as n from collection_request where instance_id = $1 and status = 'PENDING'`,
          [id],
        );
        expect(rows).toEqual([{ n: index }]);
      });
      await deployment.pool.query(
        `update collection_request set status = 'COMPLETED', submitted_data = $2 where instance_id = $1 and status = 'PENDING'`,
        [id, { answer: index }],
      );
      await deployment.runs.wake([id]);
    }

    expect(await ended(id)).toMatchObject({ output: { value: [{ answer: 0 }, { answer: 1 }] } });
  });

  test('for a child run or a moment goes on, and the pauses between items are kept', async () => {
    const child = await deployment.saveWorkflow(
      graph({ start, end: { type: 'end', outputParameters: [{ name: 'got', sourceVariable: '{{ctx.input.n}}' }] } }, [
        'start>end',
      ]),
    );
    const id = await begin(
      graph(
        {
          start,
          loop: loop({ delayBetweenItems: 60_000 }),
          wait: { type: 'delay', delayMs: 1 },
          sub: { type: 'subWorkflow', childWorkflowID: child.workflowID, inputMapping: { n: '{{ctx.item}}' } },
          end: results,
        },
        ['start>loop', 'loop:loop>wait', 'wait>sub', 'loop:completed>end'],
      ),
      { items: [1, 2, 3] },
    );
    for (const done of [1, 2]) {
      await eventually(async () => {
        const { rows } = await deployment.pool.query('select node_id from run_wait where instance_id = $1', [id]);
        expect(rows).toEqual([{ node_id: 'loop' }]);
        expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null });
        expect((await story(id)).filter((line) => line.endsWith('SUCCESS') && line.startsWith('sub'))).toHaveLength(
          done,
        );
      });
      await deployment.pool.query('update run_wait set due_at = now() where instance_id = $1', [id]);
      await deployment.runs.wake([id]);
    }

    expect(await ended(id)).toMatchObject({
      status: 'COMPLETED',
      output: { value: [{ got: 1 }, { got: 2 }, { got: 3 }] },
    });
  });

  test('is cancelled with its run, as the loop is', async () => {
    const ask = { type: 'dataCollection', fields: [{ key: 'answer' }] };
    const id = await begin(graph({ start, loop: loop(), ask }, ['start>loop', 'loop:loop>ask']), { items: [1, 2] });
    await eventually(async () => expect((await deployment.read(id)).status).toBe('WAITING'));
    await deployment.runs.stop(deployment.tenantID, id);

    expect((await ended(id)).status).toBe('CANCELLED');
    expect((await story(id)).slice(-2)).toEqual(['ask 0 CANCELLED', 'loop CANCELLED']);
  });

  test('ends with the time of its run', async () => {
    const ask = { type: 'dataCollection', fields: [{ key: 'answer' }] };
    const versionID = await deployment.saveVersion(
      graph({ start, loop: loop(), ask }, ['start>loop', 'loop:loop>ask']),
    );
    const { instanceID } = await deployment.runs.accept(
      deployment.newRun(versionID, { items: [1, 2] }, { timeoutMs: 1_000 }),
    );

    const path = [{ nodeID: 'loop', iteration: 0 }];
    const error = { code: 'RUN_TIMEOUT', message: expect.stringMatching(/at "ask"$/), nodeID: 'ask', frame: path };
    expect(await ended(instanceID)).toMatchObject({ status: 'FAILED', error });
    expect(await story(instanceID)).toContain('loop CANCELLED');
  });
});
