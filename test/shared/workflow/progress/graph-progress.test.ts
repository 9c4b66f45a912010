import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { compileGraph, type Graph, type WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { usualExitOf } from '#shared/workflow/nodes/properties.ts';
import { type Activation, Progress } from '#shared/workflow/progress/progress.ts';
import { runsOf } from '#test/support/sample.ts';

/** A graph written as `from:exit>to` (`from>to` for the plain exit). Ids beginning with `c` are conditions, `f` fan-outs, `e` ends, `any` joins. */
function draw(...arrows: string[]): Graph {
  const edges = arrows.map((arrow) => {
    const [, source = '', sourceHandle, target = ''] = /^(\w+)(?::(\w+))?>(\w+)$/.exec(arrow) ?? [];
    return { id: arrow, source, sourceHandle, target };
  });
  const ids = new Set(['s', ...edges.flatMap(({ source, target }) => [source, target])]);
  return runSync(compileGraph([...ids].map(nodeCalled), edges));
}

function nodeCalled(id: string): WorkflowNode {
  const join: JsonObject = id.startsWith('any') ? { joinMode: 'any' } : {};
  if (id === 's') return { id, type: 'start', data: {} };
  if (id.startsWith('e')) return { id, type: 'end', data: join };
  if (id.startsWith('f'))
    return { id, type: 'fanout', data: { branches: ['x', 'y', 'z'].map((name) => ({ id: name })) } };
  if (!id.startsWith('c')) return { id, type: 'javascript', data: { code: 'return 1;', ...join } };
  const branches = ['x', 'y', 'z'].map((branch) => ({
    id: branch,
    conditions: [{ operator: 'is_empty', leftValue: 1 }],
  }));
  return { id, type: 'condition', data: { branches } };
}

/** One run through a graph, by names. */
function run(graph: Graph) {
  const progress = new Progress(graph);
  const names = (activations: Activation[]) => activations.map(({ node }) => node.id);
  return {
    begin: () => names(progress.begin()),
    settle(id: string, exit: string | null) {
      const activation = progress.find(id, '0');
      if (!activation) throw new Error(`no node ${id}`);
      return names(progress.settle(activation, exit));
    },
    isFinished: () => progress.isFinished,
  };
}

function started(...arrows: string[]) {
  const one = run(draw(...arrows));
  one.begin();
  return one;
}

describe('a run', () => {
  test('begins at the start node and ends when no node is left', () => {
    const one = run(draw('s>a', 'a>e'));

    expect(one.begin()).toEqual(['s']);
    expect(one.isFinished()).toBe(false);
    expect(one.settle('s', 'output')).toEqual(['a']);
    expect(one.settle('a', 'success')).toEqual(['e']);
    expect(one.isFinished()).toBe(false);
    expect(one.settle('e', null)).toEqual([]);
    expect(one.isFinished()).toBe(true);
  });

  test('begins once', () => {
    const one = started('s>a');

    expect(one.begin()).toEqual([]);
    one.settle('s', 'output');
    expect(one.begin()).toEqual([]);
  });

  test('is not changed by settling a node again', () => {
    const one = started('s>a', 's>b', 'a>any1', 'b>any1');
    one.settle('s', 'output');
    expect(one.settle('a', 'success')).toEqual(['any1']);

    expect(one.settle('a', 'success')).toEqual([]);
    expect(one.settle('a', 'error')).toEqual([]);

    one.settle('b', 'success');
    expect(one.isFinished()).toBe(false);
    one.settle('any1', 'success');
    expect(one.isFinished()).toBe(true);
  });

  test('does not let a node settle before it is ready, nor an unknown one', () => {
    const one = started('s>a', 'a>b');

    expect(() => one.settle('b', 'success')).toThrow('settled before it is ready');
    expect(() => one.settle('unknown', 'success')).toThrow('no node');
  });

  test('shares nothing with another run of the same graph', () => {
    const graph = draw('s>a');
    const [one, other] = [run(graph), run(graph)];
    one.begin();
    one.settle('s', 'output');

    expect(other.begin()).toEqual(['s']);
  });
});

describe('leaving a node', () => {
  test('starts all nodes behind the exit, in the order of the edges', () => {
    const one = started('s>b', 's>a', 's>d', 'a>e');

    expect(one.settle('s', 'output')).toEqual(['b', 'a', 'd']);
  });

  test('does not start nodes behind another exit', () => {
    const one = started('s>a', 'a:success>b', 'a:error>d');
    one.settle('s', 'output');

    expect(one.settle('a', 'error')).toEqual(['d']);
    one.settle('d', 'success');
    expect(one.isFinished()).toBe(true);
  });

  test('by an exit without edges ends only that branch', () => {
    const one = started('s>a', 's>b', 'a:error>d', 'b>f');
    one.settle('s', 'output');

    expect(one.settle('a', 'success')).toEqual([]);
    expect(one.isFinished()).toBe(false);
    expect(one.settle('b', 'success')).toEqual(['f']);
  });

  test('by no exit ends the branch, and joins continue without it', () => {
    const one = started('s>a', 's>b', 'a>j', 'b>j');
    one.settle('s', 'output');

    expect(one.settle('a', null)).toEqual([]);
    expect(one.settle('b', 'success')).toEqual(['j']);
  });

  test('a condition whose branch has no edge continues by its default', () => {
    const one = started('s>c', 'c:x>a', 'c:default>b');
    one.settle('s', 'output');

    expect(one.settle('c', 'y')).toEqual(['b']);
  });

  test('a condition without an edge for the branch or the default ends there, and its error never takes the default', () => {
    const none = started('s>c', 'c:x>a');
    none.settle('s', 'output');
    expect(none.settle('c', 'y')).toEqual([]);
    expect(none.isFinished()).toBe(true);

    const failed = started('s>c', 'c:default>a');
    failed.settle('s', 'output');
    expect(failed.settle('c', 'error')).toEqual([]);
    expect(failed.isFinished()).toBe(true);
  });
});

describe('a fan-out', () => {
  test('takes all its branches, and joins wait for them', () => {
    const one = started('s>f', 'f:x>a', 'f:y>b', 'f>d', 'f:error>h', 'a>j', 'b>j', 'h>j');
    one.settle('s', 'output');

    expect(one.settle('f', 'output')).toEqual(['a', 'b', 'd']);
    expect(one.settle('a', 'success')).toEqual([]);
    expect(one.settle('b', 'success')).toEqual(['j']);
  });

  test('that failed takes none of its exits but the one for errors', () => {
    const one = started('s>f', 'f:x>a', 'f:error>h', 'a>j', 'h>j');
    one.settle('s', 'output');

    expect(one.settle('f', 'error')).toEqual(['h']);
    expect(one.settle('h', 'success')).toEqual(['j']);
  });
});

describe('a join of all', () => {
  test('waits for every branch', () => {
    const one = started('s>a', 's>b', 'a>j', 'b>j');
    one.settle('s', 'output');

    expect(one.settle('b', 'success')).toEqual([]);
    expect(one.settle('a', 'success')).toEqual(['j']);
  });

  test('does not wait for a branch that was not chosen', () => {
    const one = started('s>c', 'c:x>a', 'c:y>b', 'a>j', 'b>j', 'j>e');
    one.settle('s', 'output');

    expect(one.settle('c', 'x')).toEqual(['a']);
    expect(one.settle('a', 'success')).toEqual(['j']);
  });

  test('does not wait for a branch that ended several nodes before', () => {
    const one = started('s>c', 's>a', 'c:x>b1', 'b1>b2', 'b2>b3', 'b3>j', 'a>j', 'c:y>e');
    one.settle('s', 'output');
    one.settle('a', 'success');

    expect(one.settle('c', 'y')).toEqual(['e', 'j']);
  });

  test('counts two edges from one node', () => {
    const one = started('s>c', 'c:x>j', 'c:y>j', 'c:default>j');
    one.settle('s', 'output');

    expect(one.settle('c', 'y')).toEqual(['j']);
  });

  test('is skipped when all branches are dead, and so are the nodes after it', () => {
    const one = started('s>c', 'c:x>a', 'c:x>b', 'a>j', 'b>j', 'j>k', 'c:y>k');
    one.settle('s', 'output');

    expect(one.settle('c', 'y')).toEqual(['k']);
  });
});

describe('a join of any', () => {
  test('starts at the first branch, once', () => {
    const one = started('s>a', 's>b', 'a>any1', 'b>any1');
    one.settle('s', 'output');

    expect(one.settle('b', 'success')).toEqual(['any1']);
    expect(one.settle('a', 'success')).toEqual([]);
    one.settle('any1', 'success');
    expect(one.isFinished()).toBe(true);
  });

  test('is skipped when all branches are dead, and not started by one of them', () => {
    const one = started('s>c', 's>a', 'c:x>b', 'b>any1', 'a:success>any1', 'any1>j', 'c:y>j');
    one.settle('s', 'output');

    expect(one.settle('c', 'y')).toEqual([]);
    expect(one.settle('a', 'error')).toEqual(['j']);
  });

  test('that has run is not changed when a late branch dies', () => {
    const one = started('s>a', 's>b', 'a>any1', 'b>any1', 'any1>e');
    one.settle('s', 'output');
    one.settle('a', 'success');
    one.settle('any1', 'success');

    expect(one.settle('b', 'error')).toEqual([]);
    one.settle('e', null);
    expect(one.isFinished()).toBe(true);
  });
});

test('a dead chain of 50,000 nodes does not overflow the stack', () => {
  const chain = Array.from({ length: 50_000 }, (_, index) => `n${index}`);
  const links = chain.slice(1).map((id, index) => `${chain[index]}>${id}`);
  const one = started('s>c', 'c:x>n0', ...links, 'n49999>j', 'c:y>j');
  one.settle('s', 'output');

  expect(one.settle('c', 'y')).toEqual(['j']);
});

interface Drawn {
  joinModes: ('all' | 'any')[];
  kinds: Kind[];
  edges: { from: number; to: number; exit: string }[];
}

type Kind = 'condition' | 'fanout' | 'disabled condition' | 'disabled fanout';

const kinds: Kind[] = ['condition', 'fanout', 'disabled condition', 'disabled fanout'];

const size = 9;
const exits = ['x', 'y', 'z', 'default', 'error'];

/** Acyclic and connected: node 0 is the start, the others are conditions and fan-outs, and edges lead to greater numbers. */
const drawn: fc.Arbitrary<Drawn> = fc
  .record({
    joinModes: fc.array(fc.constantFrom('all' as const, 'any' as const), { minLength: size, maxLength: size }),
    kinds: fc.array(fc.constantFrom(...kinds), { minLength: size, maxLength: size }),
    firsts: fc.array(fc.nat(), { minLength: size, maxLength: size }),
    firstExits: fc.array(fc.constantFrom(...exits), { minLength: size, maxLength: size }),
    more: fc.array(fc.record({ a: fc.nat(size - 1), b: fc.nat(size - 1), exit: fc.constantFrom(...exits) }), {
      maxLength: 16,
    }),
  })
  .map(({ joinModes, kinds, firsts, firstExits, more }) => {
    const tree = firsts.flatMap((pick, to) => (to === 0 ? [] : [{ from: pick % to, to, exit: firstExits[to] ?? 'x' }]));
    const others = more.flatMap(({ a, b, exit }) => (a < b ? [{ from: a, to: b, exit }] : []));
    const edges = [...tree, ...others].map((edge) => ({ ...edge, exit: exitAt(edge.from, edge.exit) }));
    return { joinModes, kinds, edges };

    function exitAt(from: number, exit: string): string {
      return from === 0 || (exit === 'default' && kinds[from]?.endsWith('fanout')) ? 'output' : exit;
    }
  });

function compileDrawn({ joinModes, kinds, edges }: Drawn): Graph {
  const nodes = joinModes.map((joinMode, index): WorkflowNode => {
    const { type, data } = nodeCalled(index === 0 ? 's' : kinds[index]?.endsWith('fanout') ? 'f' : 'c');
    const isDisabled = index > 0 && kinds[index]?.startsWith('disabled') === true;
    return { id: `n${index}`, type, data: { ...data, joinMode, isDisabled } };
  });
  const links = edges.map(({ from, to, exit }, index) => ({
    id: `e${index}`,
    source: `n${from}`,
    target: `n${to}`,
    sourceHandle: exit,
  }));
  return runSync(compileGraph(nodes, links));
}

/** The expected nodes, computed afterwards: for joins of all, they follow from the exit that each node takes. */
function expected(picture: Drawn, choices: readonly string[]): Set<number> {
  const ran = new Set([0]);
  for (const node of picture.joinModes.keys()) {
    const incoming = picture.edges.filter(({ to }) => to === node);
    if (incoming.some((edge) => ran.has(edge.from) && isTaken(picture, edge, choices))) ran.add(node);
  }
  return ran;
}

function isTaken({ kinds, edges }: Drawn, { from, exit }: Drawn['edges'][number], choices: readonly string[]): boolean {
  if (from === 0) return true;
  const isDisabled = kinds[from]?.startsWith('disabled');
  const fails = !isDisabled && choices[from] === 'error';
  if (fails || exit === 'error') return fails && exit === 'error';
  if (kinds[from]?.endsWith('fanout')) return true;
  const choice = isDisabled ? 'default' : (choices[from] ?? 'x');
  const has = edges.some((edge) => edge.from === from && edge.exit === choice);
  return exit === (has ? choice : 'default');
}

/** The exit by which the engine settles a node. */
function exitOf(graph: Graph, node: number, choices: readonly string[]): string | null {
  const { definition, config, isDisabled } = graph.nodes[node] ?? expect.fail();
  const choice = choices[node] ?? 'x';
  if (isDisabled || node === 0 || (definition.forks && choice !== 'error')) return usualExitOf(definition, config);
  return choice;
}

test('for any graph, exits and order, the same nodes run, each once, each after those it waits for, to the end', () => {
  const choicesOf = fc.array(fc.constantFrom(...exits), { minLength: size, maxLength: size });
  const orders = fc.array(fc.nat(), { minLength: size, maxLength: size });
  fc.assert(
    fc.property(drawn, choicesOf, orders, (picture, choices, order) => {
      const graph = compileDrawn(picture);
      const progress = new Progress(graph);
      const ready = progress.begin();
      const settled: number[] = [];
      while (ready.length > 0) {
        const [activation] = ready.splice((order[settled.length] ?? 0) % ready.length, 1) as [Activation];
        const node = activation.node.index;
        checkBarrier(picture, { node, settled, choices });
        settled.push(node);
        ready.push(...progress.settle(activation, exitOf(graph, node, choices)));
      }

      expect(progress.isFinished).toBe(true);
      expect(new Set(settled).size).toBe(settled.length);
      expect(new Set(settled)).toEqual(expected(picture, choices));
    }),
    runsOf('orders of graphs', { all: 2_000, sampled: 400 }),
  );
});

/** A join of all runs after every node before it that runs. */
function checkBarrier(picture: Drawn, at: { node: number; settled: number[]; choices: string[] }): void {
  if (picture.joinModes[at.node] === 'any') return;
  const runs = expected(picture, at.choices);
  for (const { from, to } of picture.edges) if (to === at.node && runs.has(from)) expect(at.settled).toContain(from);
}
