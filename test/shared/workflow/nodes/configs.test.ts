import { describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { checkGraph } from '#shared/workflow/graph/graph.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';
import { exitsOf } from '#shared/workflow/nodes/properties.ts';

/** Templates may not read them. */
const unreadable = ['__proto__', 'prototype', 'constructor'];

/** Configs of each kind that are refused, and the path of the fault inside the config. */
const wrong: Readonly<Record<string, [JsonObject, string][]>> = {
  start: [[{ title: 7 }, 'title']],
  end: [
    [{ status: 'broken' }, 'status'],
    [{ outputParameters: [{ name: '', sourceVariable: 1 }] }, 'outputParameters.0.name'],
    [{ outputParameters: [{ name: 'a', sourceVariable: 'ctx.a' }] }, 'outputParameters.0.sourceVariable'],
    [{ cancelOthers: 'perhaps' }, 'cancelOthers'],
    ...unreadable.map((name): [JsonObject, string] => [
      { outputParameters: [{ name, sourceVariable: 1 }] },
      'outputParameters.0.name',
    ]),
  ],
  dataQuery: [[{ dataQueryID: 'none' }, 'dataQueryID']],
  http: [
    [{ url: 'https://example.com', method: 'FETCH' }, 'method'],
    [{ url: 'https://example.com', headers: [{ key: '' }] }, 'headers.0.key'],
    [{ url: 'https://example.com', method: 'POST', body: 'Hi' }, 'body'],
    [{ url: 'https://example.com', method: 'POST', body: { a: ['{{input.a}}'] } }, 'body.a.0'],
    [{ url: 'https://example.com', method: 'POST', bodyType: 'form', body: '{"a"}' }, 'body'],
  ],
  javascript: [
    [{ code: '' }, 'code'],
    ...unreadable.map((name): [JsonObject, string] => [{ code: '1', outputVariable: name }, 'outputVariable']),
  ],
  condition: [
    [{ branches: [] }, 'branches'],
    [{ branches: [{ id: 'a', conditions: [{ operator: 'like', leftValue: 1 }] }] }, 'branches.0.conditions.0.operator'],
    [{ branches: twice({ id: 'a', conditions: [{ operator: 'is_empty', leftValue: 1 }] }) }, 'branches'],
    [{ branches: [{ id: 'a', expression: 'ctx.input.n > 1' }] }, 'branches.0.conditions'],
    [{ branches: [{ id: 'a', conditionType: 'equals', leftOperand: 1, rightOperand: 1 }] }, 'branches.0.conditions'],
    [
      { branches: [{ id: 'a', conditions: [{ operator: 'is_empty', leftValue: 1 }] }], evaluationMode: 'all_matches' },
      'evaluationMode',
    ],
  ],
  switch: [
    [{ switchValue: 1, cases: [] }, 'cases'],
    [{ switchValue: 1, cases: [{ id: 'a', operator: 'like' }] }, 'cases.0.operator'],
    [{ switchValue: 1, cases: twice({ id: 'a' }) }, 'cases'],
    [{ switchValue: 'ctx.a', cases: [{ id: 'a' }] }, 'switchValue'],
    [{ switchValue: 1, cases: [{ id: 'default' }] }, 'cases.0.id'],
  ],
  set: [
    [{ assignments: [] }, 'assignments'],
    [{ assignments: [{ name: 'a-b', value: 1 }] }, 'assignments.0.name'],
    [{ assignments: [{ name: 'input', value: 1 }] }, 'assignments.0.name'],
    [{ assignments: [{ name: 'constructor', value: 1 }] }, 'assignments.0.name'],
    [{ assignments: twice({ name: 'a', value: 1 }) }, 'assignments'],
    [{ assignments: [{ name: 'values', value: 1 }] }, 'outputVariable'],
  ],
  fanout: [
    [{ branches: [] }, 'branches'],
    [{ branches: twice({ id: 'a' }) }, 'branches'],
    [{ branches: [{ id: 'error' }] }, 'branches.0.id'],
  ],
  join: [
    [{ sourceVariables: [''] }, 'sourceVariables.0'],
    [{ joinMode: 'some' }, 'joinMode'],
    [{ outputVariable: 'input' }, 'outputVariable'],
  ],
  loop: [
    [{ sourceVariable: '{{ctx.a}}', maxIterations: 0 }, 'maxIterations'],
    [{ sourceVariable: 'ctx.a' }, 'sourceVariable'],
    [{ sourceVariable: '{{ctx.a}}', itemVariable: 'prototype' }, 'itemVariable'],
  ],
  delay: [
    [{ delayType: 'dynamic' }, 'delayVariable'],
    [{ delayMinutes: 1440, delaySeconds: 1 }, 'delayMinutes'],
  ],
  dataCollection: [
    [{ fields: [{ key: 'a b' }] }, 'fields.0.key'],
    [{ fields: [{ key: 'constructor' }] }, 'fields.0.key'],
    [{ expiryMinutes: 20_000 }, 'expiryMinutes'],
    [{ approvers: '' }, 'approvers'],
    [{ reminders: [{ minutes: 10 }, { minutes: 60 }] }, 'reminders.1.minutes'],
    [{ reminders: [{ minutes: 60, from: 'expiry' }] }, 'reminders.0.minutes'],
    [{ reminders: [{ minutes: 0 }] }, 'reminders.0.minutes'],
  ],
  approval: [
    [{ onTimeout: 'wait' }, 'onTimeout'],
    [{ expiryMinutes: -1 }, 'expiryMinutes'],
    [{ approvers: [] }, 'approvers'],
    [{ expiryMinutes: 0, reminders: [{ minutes: 1, from: 'expiry' }] }, 'reminders.0.minutes'],
  ],
  subWorkflow: [
    [{ childWorkflowID: 'none' }, 'childWorkflowID'],
    [{ childWorkflowID: '00000000-0000-4000-8000-000000000000', maxDepth: 11 }, 'maxDepth'],
  ],
  ai: [
    [{}, 'prompt'],
    [{ prompt: '{{order.id}}' }, 'prompt'],
    [{ prompt: 'a', model: '' }, 'model'],
    [{ prompt: 'a', maxOutputTokens: 1.5 }, 'maxOutputTokens'],
  ],
  waitForEvent: [
    [{ eventName: '', eventKey: 1 }, 'eventName'],
    [{ eventName: 'a', eventKey: '' }, 'eventKey'],
    [{ eventName: 'a', eventKey: 'ctx.a' }, 'eventKey'],
    [{ eventName: 'a', eventKey: 1, lookbackMinutes: -1 }, 'lookbackMinutes'],
    [{ eventName: 'a', eventKey: 1, expiryMinutes: 1_000_000 }, 'expiryMinutes'],
    [{ eventName: 'a', eventKey: 1, onTimeout: 'wait' }, 'onTimeout'],
  ],
  log: [
    [{ message: 'a', level: 'loud' }, 'level'],
    [{ data: 1 }, 'message'],
  ],
};

function twice(value: JsonObject): JsonObject[] {
  return [value, value];
}

/** Issues of a graph of a start node and the node, with paths inside its config. */
function issuesOf(type: string, data: JsonObject): string[] {
  const node = { id: 'n', type, data };
  const isStart = nodes.some(({ kind, begins }) => kind === type && begins);
  const graph = isStart ? [node] : [{ id: 's', type: 'start', data: {} }, node];
  const edges = isStart ? [] : [{ id: 'e', source: 's', target: 'n' }];
  const before = `workflowNodes.${graph.length - 1}.data.`;
  return runSync(checkGraph(graph, edges)).issues.map(({ path }) => path.join('.').replace(before, ''));
}

describe.each(Object.entries(wrong))('%s', (kind, cases) => {
  test.each(cases)('%j has its fault at %s, and no other', (data, path) => {
    expect(issuesOf(kind, data)).toEqual([path]);
  });
});

test.each(nodes.map((definition) => [definition.kind, definition] as const))(
  'the configuration of a new %s is valid, and every exit of it may have an edge',
  (kind, definition) => {
    // Safe: the configuration of a new node is JSON.
    const data = definition.defaultValue as JsonObject;
    expect(issuesOf(kind, data)).toEqual([]);

    const exits = exitsOf(definition, definition.config.parse(data));
    const targets = exits.map((_, at) => ({ id: `t${at}`, type: 'end', data: {} }));
    const start = definition.begins ? [] : [{ id: 's', type: 'start', data: {} }];
    const entry = definition.begins ? [] : [{ id: 'in', source: 's', target: 'n' }];
    const edges = exits.map((exit, at) => ({ id: exit, source: 'n', target: `t${at}`, sourceHandle: exit }));
    const { graph, issues } = runSync(
      checkGraph([...start, { id: 'n', type: kind, data }, ...targets], [...entry, ...edges]),
    );

    expect(issues).toEqual([]);
    expect(graph?.edges.slice(entry.length).map(({ exit }) => exit)).toEqual([...exits]);
  },
);
