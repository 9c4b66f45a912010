/** The pure parts of graphs in the console: exits, bodies, the layout, edits, and words for steps. */
import { describe, expect, test } from 'vitest';
import { copied, stepsIn, withCopies } from '#ops/console/editor/clipboard.ts';
import { type Draft, draftOf, optionsOf } from '#ops/console/editor/draft.ts';
import {
  reconfigured,
  tidied,
  withDisabled,
  withoutSteps,
  withPositions,
  withStep,
} from '#ops/console/editor/edits.ts';
import { drawingOf } from '#ops/console/graph/drawing.ts';
import { exitOfEdge, exitsOf, onwardExits, shownExits } from '#ops/console/graph/exits.ts';
import { type Kind, kindsFor, kindWords } from '#ops/console/graph/kinds.ts';
import { HEIGHT, layoutOf, WIDTH } from '#ops/console/graph/lay-out.ts';
import { openExits } from '#ops/console/graph/open-exits.ts';
import { bodiesOf, mayConnect } from '#ops/console/graph/shape.ts';
import { sqlLine, summaryOf } from '#ops/console/graph/summary.ts';
import type { NodeDefinition } from '#shared/workflow/nodes/define-node.ts';
import { nodes as definitions } from '#shared/workflow/nodes/index.ts';
import { exitsOf as exitsByServer } from '#shared/workflow/nodes/properties.ts';
import { draft, faultsOf, kinds, waysOf } from './drafts.ts';

const kind = (name: string) => kinds[name] as Kind;

describe('exits', () => {
  test('are those that the API has for the config, for every kind', () => {
    for (const definition of definitions) {
      const { kind: name, config, defaultValue } = definition as NodeDefinition;
      const own = exitsByServer(definition, config.parse(defaultValue));
      const drawn = exitsOf(kinds[name], defaultValue as Record<string, unknown>).map(({ id }) => id);
      expect(drawn.toSorted()).toEqual([...own].toSorted());
    }
  });

  test('with which runs would fail are told, unless no run leaves by them', () => {
    const open = (step: object, ways: string[] = []) =>
      openExits(draft({ step, end: 'end' }, ways), kinds).map(({ exit }) => exit);
    expect(open({ type: 'approval' }, ['step.approved>end'])).toEqual(['rejected', 'expired']);
    expect(open({ type: 'approval', expiryMinutes: 0 })).toEqual(['rejected']);
    expect(open({ type: 'approval', onTimeout: 'fail' }, ['step.rejected>end'])).toEqual([]);
    expect(open({ type: 'approval', isDisabled: true })).toEqual([]);
    expect(open({ type: 'waitForEvent' })).toEqual(['expired']);
    expect(open({ type: 'dataCollection', timeoutHandle: 'late' })).toEqual(['late']);
    expect(open({ type: 'dataCollection', timeoutHandle: 'late' }, ['step.late>end'])).toEqual([]);
    expect(open({ type: 'condition', branches: [{ id: 'yes', conditions: [] }] })).toEqual([]);
  });

  test('that lead back to the step around a body are known as such, since their edges are not drawn', () => {
    const steps = { start: 'start', each: 'loop', ask: 'approval', log: 'log' };
    const ways = ['start>each', 'each.loop>ask', 'ask.approved>log', 'ask.rejected>each', 'log>each'];
    const ofAsk = drawingOf(draft(steps, ways), kinds).exits.get('ask')?.card ?? [];
    expect(ofAsk.filter(({ isReturn }) => isReturn).map(({ id }) => id)).toEqual(['rejected']);
  });

  test('follow branches, cases and the exit without an answer, with their names, that of errors last', () => {
    const branches = [
      { id: 'large', label: 'A large one' },
      { id: 'small', conditions: [] },
    ];
    const shown = exitsOf(kinds.condition, { branches, defaultBranch: 'rest' }).map(({ id, name }) => [id, name]);
    expect(shown).toEqual([
      ['large', 'A large one'],
      ['small', 'small'],
      ['rest', 'otherwise'],
      ['error', 'on error'],
    ]);
    expect(exitsOf(kinds.dataCollection, { timeoutHandle: 'late' }).map(({ id }) => id)).toEqual([
      ...['output', 'late', 'error'],
    ]);
    expect(exitsOf(kinds.switch, { cases: [{ id: 'a' }] }).map(({ id }) => id)).toEqual(['a', 'default', 'error']);
    expect(onwardExits(kinds.loop, {}).map(({ id }) => id)).toEqual(['completed']);
  });

  test('of a config that cannot be read are those of a new step', () => {
    expect(exitsOf(kinds.condition, { branches: '{{ctx.list}}' }).map(({ id }) => id)).toEqual([
      ...['yes', 'default', 'error'],
    ]);
  });

  test('that need an edge are marked while they have none, unless the step cannot be left by them', () => {
    const failing = (type: string, data: Record<string, unknown>) =>
      shownExits({ id: 'a', type, data } as never, [], kinds).flatMap(({ id, isFailing }) => (isFailing ? [id] : []));
    expect(failing('approval', {})).toEqual(['rejected', 'expired']);
    expect(failing('approval', { expiryMinutes: 0 })).toEqual(['rejected']);
    expect(failing('approval', { isDisabled: true })).toEqual([]);
    expect(failing('waitForEvent', { onTimeout: 'fail' })).toEqual([]);
    expect(failing('dataCollection', { timeoutHandle: 'late' })).toEqual(['late']);
    expect(failing('dataCollection', { timeoutHandle: 'late', expiryMinutes: 0 })).toEqual([]);
    expect(failing('http', {})).toEqual([]);
  });

  test('of edges are read as the API reads them: a condition has none without a handle', () => {
    const data = kinds.condition?.defaultValue as Record<string, unknown>;
    expect(exitOfEdge(kinds.condition, data, null)).toBeUndefined();
    expect(exitOfEdge(kinds.condition, data, 'else')).toBe('default');
    expect(exitOfEdge(kinds.http, {}, null)).toBe('success');
    expect(exitOfEdge(kinds.loop, {}, 'done')).toBe('completed');
    expect(
      shownExits(
        { id: 'c', type: 'condition', data },
        [{ id: 'e', source: 'c', target: 'x', sourceHandle: 'no' }],
        kinds,
      ),
    ).toContainEqual({ id: 'no', name: 'no', isConnected: true, isRefused: true });
  });
});

describe('bodies and connections', () => {
  const looped = draft({ start: 'start', loop: 'loop', inner: 'log', after: 'log', end: 'end' }, [
    'start>loop',
    'loop.loop>inner',
    'inner>loop',
    'loop.completed>after',
    'after>end',
  ]);

  test('the body of a loop is what its exit leads to', () => {
    const { containers, containerOf, returns } = bodiesOf(looped, kinds);
    expect(containers.get('loop')).toEqual(['inner']);
    expect(containerOf.get('after')).toBeUndefined();
    expect([...returns]).toEqual(['e2']);
  });

  test('what may be connected is what the API accepts', () => {
    const steps = looped.nodes.map(({ id }) => id);
    for (const source of steps)
      for (const target of steps)
        for (const { id: exit } of exitsOf(kind(looped.nodes.find(({ id }) => id === source)?.type ?? ''), {})) {
          const next = {
            ...looped,
            edges: [...looped.edges, { id: 'x', source, target, sourceHandle: exit, more: {} }],
          };
          const isThere = looped.edges.some(
            (edge) =>
              edge.source === source &&
              edge.target === target &&
              exitOfEdge(kindOf(source), {}, edge.sourceHandle) === exit,
          );
          const accepted = faultsOf(next).length === 0 && !isThere;
          expect([source, exit, target, mayConnect(looped, kinds, { source, target, exit })]).toEqual([
            ...[source, exit, target, accepted],
          ]);
        }
    function kindOf(id: string): Kind {
      return kind(looped.nodes.find((one) => one.id === id)?.type ?? '');
    }
  });

  test('the layout puts a body into the box of its step, and no other step', () => {
    const bodies = bodiesOf(looped, kinds);
    const { boxes, positions, flow } = layoutOf(looped, bodies);
    const box = boxes.get('loop');
    const isIn = (id: string) => {
      const { x, y } = positions.get(id) ?? { x: 0, y: 0 };
      if (!box) return false;
      return x >= box.x && x + WIDTH <= box.x + box.width && y >= box.y && y + HEIGHT <= box.y + box.height;
    };
    expect(flow).toBe('down');
    expect(['start', 'loop', 'inner', 'after', 'end'].filter(isIn)).toEqual(['loop', 'inner']);
    expect((positions.get('after')?.y ?? 0) > (positions.get('inner')?.y ?? 0)).toBe(true);
  });

  test('loops in loops and empty ones are boxes in boxes, and no cards overlap', () => {
    const nested = draft({ start: 'start', outer: 'loop', inner: 'map', step: 'log', empty: 'loop', end: 'end' }, [
      'start>outer',
      'outer.loop>inner',
      'inner.map>step',
      'inner.completed>empty',
      'outer.completed>end',
    ]);
    const { boxes, positions } = layoutOf(nested, bodiesOf(nested, kinds));
    const [outer, inner, empty] = ['outer', 'inner', 'empty'].map((id) => boxes.get(id));
    const holds = (one: typeof outer, other: typeof outer) =>
      one && other && other.x >= one.x && other.y >= one.y && other.y + other.height <= one.y + one.height;
    expect(holds(outer, inner)).toBe(true);
    expect(holds(outer, empty)).toBe(true);
    expect(holds(inner, empty)).toBe(false);
    const cards = [...positions.values()];
    const overlapping = cards.filter((one) =>
      cards.some((other) => other !== one && Math.abs(other.x - one.x) < WIDTH && Math.abs(other.y - one.y) < HEIGHT),
    );
    expect(overlapping).toEqual([]);
  });

  test('steps behind the exits of one stand in the order of these', () => {
    const branched = draft({ start: 'start', size: 'condition', lost: 'end', rest: 'log', good: 'log', end: 'end' }, [
      ...['start>size', 'size.error>lost', 'size.default>rest', 'size.yes>good', 'rest>end', 'good>end'],
    ]);
    const { positions } = layoutOf(branched, bodiesOf(branched, kinds));
    const order = ['lost', 'rest', 'good'].toSorted((a, b) => (positions.get(a)?.x ?? 0) - (positions.get(b)?.x ?? 0));
    expect(order).toEqual(['good', 'rest', 'lost']);
  });

  test('a long edge leads around the cards that it passes', () => {
    const skipping = draft({ start: 'start', size: 'condition', one: 'log', two: 'log', end: 'end' }, [
      ...['start>size', 'size.yes>one', 'one>two', 'two>end', 'size.default>end'],
    ]);
    const { ways, positions } = layoutOf(skipping, bodiesOf(skipping, kinds));
    expect([...ways.keys()]).toEqual(['e4']);
    const cards = ['one', 'two'].map((id) => positions.get(id) ?? { x: 0, y: 0 });
    const inCards = (ways.get('e4') ?? []).filter(({ x, y }) =>
      cards.some((card) => x > card.x && x < card.x + WIDTH && y > card.y && y < card.y + HEIGHT),
    );
    expect(inCards).toEqual([]);
    expect(
      layoutOf(withPositions(skipping, kinds, new Map([['end', { x: 0, y: 900 }]])), bodiesOf(skipping, kinds)).ways
        .size,
    ).toBe(0);
  });

  test('positions that a person has chosen stay; a box that would hold other steps is not drawn', () => {
    const at = (x: number, y: number) => ({ position: { x, y } });
    const arranged = draft(
      {
        start: { type: 'start', ...at(0, 0) },
        loop: { type: 'loop', ...at(240, 0) },
        inner: { type: 'log', ...at(240, 400) },
        end: { type: 'end', ...at(240, 200) },
      },
      ['start>loop', 'loop.loop>inner', 'loop.completed>end'],
    );
    const { positions, boxes } = layoutOf(arranged, bodiesOf(arranged, kinds));
    expect(positions.get('inner')).toEqual({ x: 240, y: 400 });
    expect(boxes.size).toBe(0);
  });
});

describe('edits', () => {
  const simple = () => draft({ start: 'start', end: 'end' }, ['start>end']);

  test('a step between two takes the target by the exit that a person has chosen', () => {
    const [between] = withStep(simple(), kinds, kind('condition'), { edge: 'e0', onward: 'yes' });
    expect(waysOf(between)).toEqual(['condition.yes>end', 'start>condition']);
    const [open] = withStep(simple(), kinds, kind('condition'), { edge: 'e0' });
    expect(waysOf(open)).toEqual(['start>condition']);
    expect(open.nodes.every(({ position }) => position === undefined)).toBe(true);
  });

  test('a second step of a kind has another id, title and name of its result', () => {
    const [once] = withStep(simple(), kinds, kind('http'), { edge: 'e0', onward: 'success' });
    const [twice, id] = withStep(once, kinds, kind('http'), { from: { id: 'http', exit: 'error' } });
    expect(waysOf(twice)).toEqual(['http.error>http2', 'http.success>end', 'start>http']);
    expect(twice.nodes.find((node) => node.id === id)?.data).toMatchObject({
      ...{ title: 'HTTP request 2', outputVariable: 'httpResponse2' },
    });
  });

  test('a step that is dropped stays there, and all others where they are', () => {
    const [dropped] = withStep(simple(), kinds, kind('log'), {
      from: { id: 'start', exit: 'output' },
      at: { x: 500, y: 40 },
    });
    expect(dropped.nodes.find(({ id }) => id === 'log')?.position).toEqual({ x: 500, y: 40 });
    expect(dropped.nodes.every(({ position }) => position)).toBe(true);
    expect(tidied(dropped).nodes.some(({ position }) => position)).toBe(false);
  });

  test('moving one step fixes the positions of all', () => {
    const moved = withPositions(simple(), kinds, new Map([['end', { x: 7, y: 300 }]]));
    expect(moved.nodes.map(({ position }) => position)).toEqual([
      ...[
        { x: expect.any(Number), y: expect.any(Number) },
        { x: 7, y: 300 },
      ],
    ]);
  });

  test('removing a step leads the ways to it on to the step behind it, by the exits that they have', () => {
    const chain = draft({ start: 'start', size: 'condition', big: 'log', end: 'end', lost: 'end' }, [
      'start>size',
      'size.yes>big',
      'big>end',
      'size.default>end',
      'big.error>lost',
    ]);
    expect(waysOf(withoutSteps(chain, kinds, ['big']))).toEqual(['size.default>end', 'size.yes>end', 'start>size']);
    // Both exits lead to steps: no way goes without saying.
    expect(waysOf(withoutSteps(chain, kinds, ['size']))).toEqual(['big.error>lost', 'big>end']);
    expect(waysOf(withoutSteps(chain, kinds, ['start']))).toEqual(waysOf(chain));
  });

  test('a loop is removed with its body, and two steps in a row leave one way', () => {
    const looped = draft({ start: 'start', loop: 'loop', inner: 'log', after: 'log', end: 'end' }, [
      'start>loop',
      'loop.loop>inner',
      'loop.completed>after',
      'after>end',
    ]);
    const left = withoutSteps(looped, kinds, ['loop', 'after']);
    expect(left.nodes.map(({ id }) => id)).toEqual(['start', 'end']);
    expect(waysOf(left)).toEqual(['start>end']);
  });

  test('an exit that is renamed keeps its edges, one that is removed shows them', () => {
    const branched = draft({ start: 'start', size: 'condition', end: 'end' }, ['start>size', 'size.yes>end']);
    const { data } = branched.nodes[1] as Draft['nodes'][number];
    const [branch] = data.branches as object[];
    const renamed = reconfigured(branched, kinds, 'size', { ...data, branches: [{ ...branch, id: 'large' }] });
    expect(waysOf(renamed)).toEqual(['size.large>end', 'start>size']);
    expect(waysOf(reconfigured(branched, kinds, 'size', { ...data, branches: [] }))).toEqual(waysOf(branched));
  });

  test('a disabled step is enabled again without a trace', () => {
    const given = draft({ start: 'start', wait: 'delay', end: 'end' }, ['start>wait', 'wait>end']);
    const off = withDisabled(given, new Set(['wait']), true);
    expect(off.nodes[1]?.data.isDisabled).toBe(true);
    expect(withDisabled(off, new Set(['wait']), false).nodes[1]?.data).toEqual(given.nodes[1]?.data);
  });
});

describe('copies', () => {
  const given = draft(
    {
      start: 'start',
      read: { type: 'http', outputVariable: 'page' },
      use: { type: 'log', message: 'got {{ctx.page.body}} of {{ctx.input.page}}' },
      end: 'end',
    },
    ['start>read', 'read>use', 'use>end'],
  );

  test('have ids and results of their own, and read each other', () => {
    const text = copied(given, kinds, new Set(['start', 'read', 'use']));
    const found = stepsIn(text, kinds);
    if (!('steps' in found)) throw new Error(found.refused);
    const [next, ids] = withCopies(given, kinds, found.steps);
    expect(ids).toEqual(['http', 'log']);
    expect(waysOf(next)).toEqual(['http>log', ...waysOf(given)].sort());
    const [read, use] = next.nodes.slice(-2);
    expect(read?.data).toMatchObject({ title: 'read 2', outputVariable: 'page2' });
    expect(use?.data.message).toBe('got {{ctx.page2.body}} of {{ctx.input.page}}');
  });

  test('a text that is no steps is refused with what was expected', () => {
    expect(stepsIn('curl x', kinds)).toEqual({ refused: expect.stringContaining('no JSON') });
    expect(stepsIn('{"a": 1}', kinds)).toEqual({ refused: expect.stringContaining('workflowNodes') });
    expect(stepsIn('[{"type": "other"}]', kinds)).toEqual({ refused: 'There is no kind of step “other”.' });
    expect(stepsIn('{"type": "delay", "data": {"delaySeconds": 1}}', kinds)).toMatchObject({
      steps: { nodes: [{ id: 'delay-0', type: 'delay', data: { delaySeconds: 1 } }] },
    });
  });
});

test('notes are stored in the options, beside what others keep there', () => {
  const saved = { inputDefinitions: [], canvas: { zoom: 2, notes: [] } };
  const given = draftOf({ workflowNodes: [], workflowEdges: [], workflowOptions: saved });
  expect(optionsOf(given)).toBe(saved);
  const note = { id: 'note-1', text: 'Read this', position: { x: 1, y: 2 }, width: 200, height: 90 };
  const options = optionsOf({ ...given, notes: [note] });
  expect(options).toEqual({ inputDefinitions: [], canvas: { zoom: 2, notes: [note] } });
  expect(draftOf({ workflowNodes: [], workflowEdges: [], workflowOptions: options as object }).notes).toEqual([note]);
});

describe('words', () => {
  test('every kind of the API has a word, a group and a sentence', () => {
    expect(Object.keys(kindWords).sort()).toEqual(definitions.map(({ kind: name }) => name as string).sort());
  });

  test.each([
    ['if', 'condition'],
    ['wait', 'delay'],
    ['merge', 'join'],
    ['email', 'dataQuery'],
    ['sql', 'dataQuery'],
    ['for each', 'loop'],
    ['api', 'http'],
    ['gpt', 'ai'],
    ['human', 'approval'],
    ['dataQuery', 'dataQuery'],
  ])('“%s” finds %s', (typed, wanted) => {
    expect(kindsFor(typed, Object.values(kinds)).map(({ nodeType }) => nodeType)).toContain(wanted);
  });

  test('a step says in one line what it does', () => {
    const id = '0d9f3f0a-6b0e-4f5d-9a51-6c6f0e7a3b11';
    const named = new Map([[id, { title: 'Orders', text: 'select *\nfrom orders -- all\nwhere id = 1' }]]);
    const line = (type: string, data: Record<string, unknown>) => summaryOf(type, data, named);
    expect(line('dataQuery', { dataQueryID: id })).toBe('select … from orders');
    expect(line('dataQuery', kinds.dataQuery?.defaultValue as Record<string, unknown>)).toBe('no query is chosen');
    expect(line('http', { method: 'POST', url: 'https://api.example.com/{{ctx.input.id}}' })).toBe(
      'POST api.example.com/input.id',
    );
    expect(line('approval', {})).toBe('waits for an approval');
    expect(line('approval', { approvers: ['bob@example.com', crypto.randomUUID(), id] })).toBe(
      'waits for an approval by bob@example.com, Orders',
    );
    expect(line('condition', kinds.condition?.defaultValue as Record<string, unknown>)).toBe('input.value = yes');
    expect(line('loop', { sourceVariable: '{{ctx.input.items}}' })).toBe('for each of input.items');
    expect(line('delay', { delayMinutes: 2, delaySeconds: 5 })).toBe('waits 2 min 5 s');
    expect(line('dataQuery', { dataQueryID: '{{ctx.input.query}}' })).toBe('a query that is computed');
    expect(line('subWorkflow', { childWorkflowID: '{{ctx.input.next}}' })).toBe('a workflow that is computed');
    expect(line('unknown', {})).toBe('');
  });

  test('a statement is cut to its verb and its table', () => {
    expect(sqlLine('with a as (select 1) select * from public.orders')).toBe('select … from public.orders');
    expect(sqlLine('INSERT INTO orders (id) select 1 from other')).toBe('insert into orders');
    expect(sqlLine('update orders set a = 1')).toBe('update orders');
    expect(sqlLine('select 1')).toBe('select 1');
  });

  test('every kind has a line that holds with its default config, and with one that is no config', () => {
    for (const { kind: name, defaultValue } of definitions) {
      expect(summaryOf(name, defaultValue as Record<string, unknown>, new Map())).not.toMatch(
        /undefined|null|\[object/,
      );
      const broken = Object.fromEntries(Object.keys(defaultValue).map((key) => [key, [null, 1, { a: null }]]));
      expect(summaryOf(name, broken, new Map())).not.toContain('undefined');
    }
  });
});
