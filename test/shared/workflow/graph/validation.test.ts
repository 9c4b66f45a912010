import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { checkGraph, compileGraph, compileStored, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { end } from '#shared/workflow/nodes/kinds/end.ts';

function node(id: string, type: string, data: JsonObject = {}): WorkflowNode {
  return { id, type, data };
}

function script(id: string, data: JsonObject = {}): WorkflowNode {
  return node(id, 'javascript', { code: 'return 1;', ...data });
}

function edge(source: string, target: string, sourceHandle?: string | null): WorkflowEdge {
  return { id: `${source}-${sourceHandle ?? ''}-${target}`, source, target, sourceHandle };
}

function issuesOf(nodes: WorkflowNode[], edges: WorkflowEdge[]): string[] {
  return runSync(checkGraph(nodes, edges)).issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

/** The issues of one node after a start node, with paths inside its `data`. */
function issuesIn(type: string, data: JsonObject): string[] {
  const issues = issuesOf([node('s', 'start'), node('n', type, data)], [edge('s', 'n')]);
  return issues.map((issue) => issue.replace('workflowNodes.1.data.', ''));
}

/** The exit that the edge from the only middle node was compiled to. */
function exitOf(type: string, data: JsonObject, handle?: string | null): string | undefined {
  const { graph } = runSync(
    checkGraph([node('s', 'start'), node('n', type, data), node('e', 'end')], [edge('s', 'n'), edge('n', 'e', handle)]),
  );
  return graph?.edges[1]?.exit;
}

const yes = { id: 'yes', conditions: [{ operator: 'equals', leftValue: '{{ctx.input.a}}', rightValue: 1 }] };
const no = { ...yes, id: 'no' };

describe('wire shapes', () => {
  test('fields that the editor adds to nodes and edges are kept', () => {
    const saved = { id: 'n', type: 'start', position: { x: 1, y: 2 }, width: 3, measured: { width: 3 } };
    const drawn = { id: 'e', source: 'a', target: 'b', sourceHandle: null, targetHandle: null, animated: true };

    expect(WorkflowNode.parse(saved)).toEqual({ ...saved, data: {} });
    expect(WorkflowEdge.parse(drawn)).toEqual(drawn);
  });

  test('ids have 1 to 255 characters', () => {
    expect(WorkflowNode.safeParse({ id: '', type: 'start' }).success).toBe(false);
    expect(WorkflowNode.safeParse({ id: 'x'.repeat(256), type: 'start' }).success).toBe(false);
    expect(WorkflowEdge.safeParse({ id: '', source: 'a', target: 'b' }).success).toBe(false);
  });
});

describe('a valid graph', () => {
  test('is compiled into nodes and edges that know each other by index', () => {
    const graph = runSync(
      compileGraph(
        [
          node('s', 'start'),
          node('c', 'condition', { branches: [yes] }),
          script('j', { joinMode: 'any' }),
          node('e', 'end'),
        ],
        [edge('s', 'c'), edge('c', 'j', 'yes'), edge('c', 'e', 'default'), edge('j', 'e', 'success')],
      ),
    );

    expect(graph.startIndex).toBe(0);
    expect(graph.indexOf.get('j')).toBe(2);
    expect(graph.edges[1]).toEqual({ index: 1, id: 'c-yes-j', source: 1, target: 2, exit: 'yes' });
    expect(graph.nodes[1]?.exits).toEqual(
      new Map([
        ['yes', [1]],
        ['default', [2]],
      ]),
    );
    expect(graph.nodes[3]).toMatchObject({ index: 3, id: 'e', definition: end, incoming: [2, 3], joinMode: 'all' });
    expect(graph.nodes[2]).toMatchObject({ joinMode: 'any', isDisabled: false, incoming: [1] });
    expect(graph.nodes[2]?.config).toMatchObject({ code: 'return 1;', outputVariable: 'scriptResult' });
    expect(graph.nodes[2]?.data).toEqual({ code: 'return 1;', joinMode: 'any' });
  });

  test('may be a start node alone', () => {
    expect(runSync(compileGraph([node('s', 'start')], [])).nodes).toHaveLength(1);
  });

  test('may have two edges between the same nodes', () => {
    const both = [edge('s', 'j'), { ...edge('s', 'j'), id: 'again' }];

    expect(runSync(compileGraph([node('s', 'start'), script('j')], both)).nodes[1]?.incoming).toEqual([0, 1]);
  });

  test('says which nodes hold templates, code left aside', () => {
    const { nodes } = runSync(
      compileGraph(
        [
          node('s', 'start'),
          script('plain', { code: 'return "{{ctx.a}}";' }),
          script('templated', { title: 'Hi {{ctx.a}}' }),
        ],
        [edge('s', 'plain'), edge('s', 'templated')],
      ),
    );

    expect(nodes.map(({ hasTemplates }) => hasTemplates)).toEqual([false, false, true]);
  });

  test('knows which nodes are disabled', () => {
    const { nodes } = runSync(compileGraph([node('s', 'start'), script('j', { isDisabled: true })], [edge('s', 'j')]));

    expect(nodes[1]?.isDisabled).toBe(true);
  });
});

describe('refused graphs', () => {
  test('no nodes at all', () => {
    expect(issuesOf([], [])).toEqual(['workflowNodes: there is no start node']);
  });

  test('no start node, without reporting every node as unreachable', () => {
    expect(issuesOf([script('a'), script('b')], [edge('a', 'b')])).toEqual(['workflowNodes: there is no start node']);
  });

  test('more than one start node', () => {
    const nodes = [node('s', 'start'), node('t', 'start'), script('a'), script('b')];

    expect(issuesOf(nodes, [edge('s', 'a'), edge('t', 'b')])).toEqual([
      'workflowNodes.1.type: there is another start node',
    ]);
  });

  test('an unknown kind', () => {
    expect(issuesOf([node('s', 'start'), node('x', 'teleport')], [edge('s', 'x'), edge('x', 's2')])).toEqual([
      'workflowNodes.1.type: unknown node kind "teleport"',
      'workflowEdges.1.target: there is no node "s2"',
    ]);
  });

  test('a kind that is the name of a property of every object', () => {
    expect(issuesOf([node('s', 'start'), node('x', 'constructor')], [edge('s', 'x')])).toHaveLength(1);
  });

  test('ids used twice, of nodes and of edges', () => {
    const edges = [edge('s', 'a'), edge('s', 'b'), { ...edge('a', 'b'), id: 's--a' }];

    expect(issuesOf([node('s', 'start'), script('a'), script('b'), script('a')], edges)).toEqual([
      'workflowNodes.3.id: another node has this id',
      'workflowEdges.2.id: another edge has this id',
    ]);
  });

  test('edges from and to unknown nodes', () => {
    expect(issuesOf([node('s', 'start')], [edge('s', 'x'), edge('y', 's')])).toEqual([
      'workflowEdges.0.target: there is no node "x"',
      'workflowEdges.1.source: there is no node "y"',
      'workflowEdges.1.target: the start node cannot have incoming edges',
    ]);
  });

  test('an edge into the start node', () => {
    const issues = issuesOf([node('s', 'start'), script('a')], [edge('s', 'a'), edge('a', 's')]);

    expect(issues).toContain('workflowEdges.1.target: the start node cannot have incoming edges');
  });

  test('an edge out of an end node', () => {
    const nodes = [node('s', 'start'), node('e', 'end'), script('a')];

    expect(issuesOf(nodes, [edge('s', 'e'), edge('e', 'a')])).toEqual([
      'workflowEdges.1.source: an end node cannot have outgoing edges',
    ]);
  });

  test('a node that cannot be reached from the start node', () => {
    const nodes = [node('s', 'start'), script('a'), script('b'), script('c')];

    expect(issuesOf(nodes, [edge('s', 'a'), edge('b', 'c')])).toEqual([
      'workflowNodes.2: node "b" cannot be reached from the start node',
      'workflowNodes.3: node "c" cannot be reached from the start node',
    ]);
  });

  test('a cycle, by the names of its nodes', () => {
    const nodes = [node('s', 'start'), script('a'), script('b'), script('c')];

    expect(issuesOf(nodes, [edge('s', 'a'), edge('a', 'b'), edge('b', 'c'), edge('c', 'a', 'error')])).toEqual([
      'workflowNodes.1: these nodes form a cycle, and only a body may lead back, to the node that repeats it: "a" → "b" → "c" → "a"',
    ]);
  });

  test('a node with an edge to itself', () => {
    expect(issuesOf([node('s', 'start'), script('a')], [edge('s', 'a'), edge('a', 'a')])).toEqual([
      'workflowNodes.1: these nodes form a cycle, and only a body may lead back, to the node that repeats it: "a" → "a"',
    ]);
  });

  test('a cycle apart from the start node', () => {
    const issues = issuesOf([node('s', 'start'), script('a'), script('b')], [edge('a', 'b'), edge('b', 'a')]);

    expect(issues.filter((issue) => issue.includes('cycle'))).toHaveLength(1);
  });

  test('all errors at the same time', () => {
    const issues = issuesOf(
      [node('s', 'start'), node('x', 'teleport'), script('j', { code: '' }), node('e', 'end', { status: 'fine' })],
      [edge('s', 'x'), edge('x', 'j'), edge('j', 'e', 'sideways'), edge('j', 'nobody')],
    );

    expect(issues.map((issue) => issue.split(':')[0])).toEqual([
      'workflowNodes.1.type',
      'workflowNodes.2.data.code',
      'workflowNodes.3.data.status',
      'workflowEdges.2.sourceHandle',
      'workflowEdges.3.target',
    ]);
  });

  test('one error names every path', () => {
    const compile = () => runSync(compileGraph([script('a', { code: '' })], [edge('a', 'b')]));

    expect(compile).toThrow(AppError);
    expect(compile).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        message: expect.stringMatching(/^workflowNodes: there is no start node; workflowNodes\.0\.data\.code: /),
        details: {
          issues: expect.arrayContaining([
            { path: ['workflowEdges', 0, 'target'], message: 'there is no node "b"', type: 'custom' },
          ]),
        },
      }),
    );
  });
});

describe('exits', () => {
  test('an edge without a handle, or with "output", means the first exit of a kind that has no "output"', () => {
    for (const handle of [undefined, null, '', 'output', 'success'])
      expect(exitOf('javascript', { code: '1' }, handle)).toBe('success');
    expect(exitOf('javascript', { code: '1' }, 'error')).toBe('error');
    expect(exitOf('delay', {})).toBe('output');
    expect(exitOf('dataCollection', {})).toBe('output');
  });

  test('"else" is the default branch of a condition, under any configured name', () => {
    expect(exitOf('condition', { branches: [yes] }, 'else')).toBe('default');
    expect(exitOf('condition', { branches: [yes], defaultBranch: 'otherwise' }, 'else')).toBe('otherwise');
    expect(exitOf('condition', { branches: [{ ...yes, id: 'else' }] }, 'else')).toBe('else');
  });

  test('an edge from a condition must name an exit', () => {
    for (const handle of [undefined, null, 'output']) {
      const nodes = [node('s', 'start'), node('c', 'condition', { branches: [yes] }), node('e', 'end')];
      const [issue] = issuesOf(nodes, [edge('s', 'c'), edge('c', 'e', handle)]);

      expect(issue).toMatch(/^workflowEdges\.1\.sourceHandle: .*"yes", "default", "error"$/);
    }
  });

  test('unknown handles are refused, also "else" where there is no default branch', () => {
    expect(exitOf('condition', { branches: [yes] }, 'maybe')).toBeUndefined();
    expect(exitOf('javascript', { code: '1' }, 'else')).toBeUndefined();
    expect(exitOf('dataCollection', {}, 'late')).toBeUndefined();
    expect(exitOf('dataCollection', { timeoutHandle: 'late' }, 'late')).toBe('late');
  });

  test('with the same name are refused at the second one', () => {
    expect(issuesIn('condition', { branches: [yes, { ...yes, id: 'default' }] })).toEqual([
      'branches.1.id: two exits are called "default"',
    ]);
    expect(issuesIn('condition', { branches: [{ ...yes, id: 'error' }] })).toEqual([
      'branches.0.id: two exits are called "error"',
    ]);
    expect(issuesIn('dataCollection', { title: 'error', timeoutHandle: 'error' })).toEqual([
      'timeoutHandle: two exits are called "error"',
    ]);
    expect(issuesIn('condition', { branches: [yes, yes] })).toEqual(['branches: branch ids must be unique']);
  });

  test('do not depend on templates', () => {
    const refused = 'workflowNodes.1.data: the exits of a node cannot depend on a template';

    expect(issuesIn('condition', { branches: [{ ...yes, id: '{{ctx.input.a}}' }] })).toEqual([refused]);
    expect(issuesIn('condition', { branches: [yes], defaultBranch: '{{ctx.input.a}}' })).toEqual([refused]);
    expect(issuesIn('condition', { branches: '{{ctx.input.branches}}' })).toEqual([refused]);
    expect(issuesIn('condition', { branches: ['{{ctx.input.branch}}', no] })).toEqual([refused]);
  });

  test('of a node with an invalid config are not reported for its edges', () => {
    const nodes = [node('s', 'start'), node('c', 'condition', { branches: [] }), node('e', 'end')];

    expect(issuesOf(nodes, [edge('s', 'c'), edge('c', 'e', 'yes')])).toHaveLength(1);
  });
});

describe('configs', () => {
  test('are checked with the path to the field', () => {
    expect(issuesIn('javascript', { code: 5, retryLimit: 11 }).map((issue) => issue.split(':')[0])).toEqual([
      'retryLimit',
      'code',
    ]);
    expect(
      issuesIn('condition', { branches: [yes, { ...no, conditions: [{ leftValue: 1, operator: 'is' }] }] })[0],
    ).toMatch(/^branches\.1\.conditions\.0\.operator: /);
    expect(issuesIn('subWorkflow', { childWorkflowID: 'x' })).toEqual([
      'childWorkflowID: expected an id (UUID), received "x"',
    ]);
  });

  test('may hold a template in place of another type', () => {
    expect(issuesIn('subWorkflow', { childWorkflowID: '{{ctx.input.child}}', maxDepth: ' {{ ctx.d }}' })).toHaveLength(
      1,
    );
    expect(issuesIn('subWorkflow', { childWorkflowID: '{{ctx.input.child}}', maxDepth: '{{ ctx.d }}' })).toEqual([]);
    expect(issuesIn('delay', { delayMinutes: '{{ctx.input.minutes}}', delayType: '{{ctx.kind}}' })).toEqual([]);
    expect(issuesIn('end', { outputParameters: '{{ctx.input.parameters}}' })).toEqual([]);
    expect(issuesIn('condition', { branches: [{ ...yes, conditions: ['{{ctx.input.condition}}'] }] })).toEqual([]);
  });

  test('with such a template have their defaults, and keep the template in place', () => {
    const { graph } = runSync(
      checkGraph(
        [
          node('s', 'start'),
          node('n', 'subWorkflow', { childWorkflowID: '{{ctx.input.child}}', maxDepth: '{{ctx.d}}' }),
        ],
        [edge('s', 'n')],
      ),
    );

    expect(graph?.nodes[1]?.config).toMatchObject({
      childWorkflowID: '{{ctx.input.child}}',
      maxDepth: '{{ctx.d}}',
      outputVariable: 'subResult',
      mergeOutputs: false,
      joinMode: 'all',
    });
  });

  test('with such a template are checked otherwise', () => {
    expect(issuesIn('subWorkflow', { childWorkflowID: '{{ctx.input.child}}', maxDepth: 50 })[0]).toMatch(/^maxDepth: /);
    expect(issuesIn('delay', { delayType: 'until', delaySeconds: '{{ctx.s}}' })).toEqual([
      'untilTime: is required when delayType is "until"',
    ]);
    expect(issuesIn('delay', { delaySeconds: '{{ctx.s}} seconds' })[0]).toMatch(/^delaySeconds: /);
  });

  test('have no templates in fields that are read before the run', () => {
    for (const field of [
      'isDisabled',
      'joinMode',
      'timeoutSeconds',
      'retryLimit',
      'retryDelaySeconds',
      'errorHandling',
    ])
      expect(issuesIn('javascript', { code: '1', [field]: '{{ctx.input.a}}' })).toEqual([
        `${field}: cannot be a template: it is read before the run begins`,
      ]);
  });

  test('do not write the keys of the engine', () => {
    for (const name of ['input', 'item', 'index', 'output', '__proto__', '__node_1'])
      expect(issuesIn('javascript', { code: '1', outputVariable: name })).toEqual([
        `outputVariable: "${name}" is a reserved name`,
      ]);
  });
});

describe('templates', () => {
  test('begin with ctx', () => {
    expect(issuesIn('javascript', { code: '1', title: 'Hi {{state.name}} and {{ctx.name}}' })).toEqual([
      'title: {{state.name}} must begin with ctx or vars',
    ]);
  });

  test('are paths, not expressions', () => {
    for (const text of [
      '{{ctx.a + 1}}',
      '{{ctx.f()}}',
      '{{}}',
      '{{ }}',
      '{{ctx.}}',
      '{{ctx[a]}}',
      '{{ctx.a-b}}',
      '{{"a"}}',
    ])
      expect(issuesIn('javascript', { code: '1', title: text })[0]).toContain('is not a path');
  });

  test('do not read prototypes', () => {
    for (const key of ['__proto__', 'prototype', 'constructor'])
      expect(issuesIn('end', { outputParameters: [{ name: 'a', sourceVariable: `{{ctx["${key}"].b}}` }] })).toEqual([
        `outputParameters.0.sourceVariable: {{ctx["${key}"].b}} may not read "${key}"`,
      ]);
  });

  test('are not checked in code', () => {
    expect(issuesIn('javascript', { code: 'return "{{state.x}} {{1 + 1}}";' })).toEqual([]);
  });

  test('are suggested for a path without braces', () => {
    expect(issuesIn('delay', { delayType: 'dynamic', delayVariable: 'ctx.input.ms' })).toEqual([
      'delayVariable: a path needs braces: write {{ctx.input.ms}}',
    ]);
    expect(issuesIn('delay', { delayType: 'until', untilTime: ' ctx?.input["at"] ' })).toEqual([
      'untilTime: a path needs braces: write {{ctx?.input["at"]}}',
    ]);
    expect(issuesIn('end', { outputParameters: [{ name: 'a', sourceVariable: 'ctx.a' }] })).toEqual([
      'outputParameters.0.sourceVariable: a path needs braces: write {{ctx.a}}',
    ]);
    const childWorkflowID = crypto.randomUUID();
    expect(issuesIn('subWorkflow', { childWorkflowID, inputMapping: { a: 'ctx.a', b: { c: ['ctx.b[0]'] } } })).toEqual([
      'inputMapping.a: a path needs braces: write {{ctx.a}}',
      'inputMapping.b.c.0: a path needs braces: write {{ctx.b[0]}}',
    ]);
  });

  test('are not suggested for a path that is an expression', () => {
    const issues = (operator: string) =>
      issuesIn('switch', { switchValue: 1, cases: [{ id: 'a', operator, matchValue: 'ctx.input.vip' }] });

    expect(issues('expression')).toEqual([]);
    expect(issues('equals')).toEqual(['cases.0.matchValue: a path needs braces: write {{ctx.input.vip}}']);
  });

  test('are not suggested for ordinary texts', () => {
    expect(issuesIn('javascript', { code: 'return ctx.a', title: 'ctx.input.id' })).toEqual([]);
    expect(issuesIn('delay', { delayType: 'until', untilTime: '2030-01-01T00:00:00Z' })).toEqual([]);
    for (const text of ['ctx', 'ctx is fine', 'the ctx.a', 'contextual.a', ''])
      expect(issuesIn('end', { outputParameters: [{ name: 'a', sourceVariable: text }] })).toEqual([]);
  });
});

test('a graph is refused as cyclic exactly when it is', () => {
  const size = 7;
  const pair = fc.tuple(fc.nat(size - 1), fc.nat(size - 1));
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 14 }), (pairs) => {
      const nodes = [node('s', 'start'), ...Array.from({ length: size }, (_, index) => script(`n${index}`))];
      const edges = pairs.map(([from, to], index) => ({ id: `e${index}`, source: `n${from}`, target: `n${to}` }));
      const entries = nodes.slice(1).map(({ id }) => edge('s', id));

      const issues = issuesOf(nodes, [...entries, ...edges]);

      expect(issues.length > 0).toBe(isCyclic(size, pairs));
    }),
    { numRuns: 500 },
  );
});

function isCyclic(size: number, pairs: readonly [number, number][]): boolean {
  const left = new Set(Array.from({ length: size }, (_, index) => index));
  for (let removed = true; removed; ) {
    removed = false;
    for (const at of left) {
      if (pairs.some(([from, to]) => to === at && left.has(from))) continue;
      left.delete(at);
      removed = true;
    }
  }
  return left.size > 0;
}

test('a chain of 20,000 nodes is checked without overflowing the stack', () => {
  const nodes = [node('s', 'start'), ...Array.from({ length: 20_000 }, (_, index) => script(`n${index}`))];
  const edges = nodes.slice(1).map(({ id }, index) => edge(nodes[index]?.id ?? '', id));

  expect(issuesOf(nodes, edges)).toEqual([]);
  expect(issuesOf(nodes, [...edges, edge('n19999', 'n0', 'error')])[0]).toMatch(/cycle.* "n19" → 19980 more → "n0"$/);
});

describe('the graph of a stored version', () => {
  test('is compiled although a config is refused by now, with the exits that its edges name', () => {
    const refused = { branches: [{ ...yes, conditionLogic: 'XOR' }] };
    const nodes = [node('s', 'start'), node('n', 'condition', refused), node('e', 'end')];
    const edges = [edge('s', 'n'), edge('n', 'e', 'yes'), edge('n', 'e', 'else'), edge('n', 'e', 'error')];

    expect(() => runSync(compileGraph(nodes, edges))).toThrow(AppError);

    const compiled = runSync(compileStored(nodes, edges));
    expect(compiled.edges.map(({ exit }) => exit)).toEqual(['output', 'yes', 'default', 'error']);
    // Its config is parsed, and refused, before it is executed.
    expect(compiled.nodes[1]).toMatchObject({ hasTemplates: true, isPure: false });
  });

  test('is refused all the same where its edges lead nowhere', () => {
    expect(() => runSync(compileStored([node('s', 'start')], [edge('s', 'gone')]))).toThrow('there is no node "gone"');
  });
});
