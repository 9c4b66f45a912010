import { expect, test } from 'vitest';
import { datasources } from '#shared/datasources/index.ts';
import { nodes } from '#shared/nodes/index.ts';
import { queues } from '#shared/queues/index.ts';
import { connectors } from '#workers/connectors/index.ts';
import { executorOf } from '#workers/nodes/index.ts';
import { processors } from '#workers/processors/index.ts';

test('everything that is declared is done by something, and nothing else is', () => {
  expect(Object.keys(processors).sort()).toEqual(queues.map(({ name }) => name).sort());
  expect(Object.keys(connectors)).toEqual([...datasources]);
  for (const { kind } of nodes) expect(executorOf(kind), kind).toBeTypeOf('function');
});

test('what the editor starts a new node with is a node of its kind', () => {
  for (const { kind, config, defaultValue } of nodes)
    expect(config.safeParse(defaultValue).error, kind).toBeUndefined();
});
