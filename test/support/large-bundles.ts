import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';

interface Item {
  type: string;
  id: string;
  payload: JsonObject;
}

/** Items of 4 to 5 MB together, as an export has them. Each call gives them other ids. */
export const largeBundles = {
  'many widgets': () => widgets(900, 5),
  'large widgets': () => widgets(40, 120),
  'a workflow of 4,900 nodes': () => [workflow(4_900)],
  'a widget that names 70,000 queries': () => [naming(70_000)],
  'a widget that names 20,000 queries': () => [naming(20_000), ...widgets(40, 85)],
} satisfies Record<string, () => Item[]>;

/** The same items with another text in each part. */
export function changed(items: readonly Item[]): Item[] {
  return JSON.parse(JSON.stringify(items).replaceAll('Before', 'Later'));
}

function widgets(count: number, parts: number): Item[] {
  const queryID = newID();
  return Array.from({ length: count }, (_, at) => ({
    type: 'widget',
    id: newID(),
    payload: {
      widgetTitle: `Widget ${at}`,
      widgetType: 'table',
      widgetConfig: { queryID, parts: Array.from({ length: parts }, (__, n) => aPart(n)) },
    },
  }));
}

/** About 900 bytes of small objects. */
function aPart(at: number): JsonObject {
  const cells = Array.from({ length: 12 }, (_, n) => ({ label: `Before ${at}.${n}`, x: n, y: at, isShown: n < 6 }));
  return { title: `Part ${at}`, cells, style: { color: '#336699', padding: [4, 8, 4, 8], note: 'x'.repeat(200) } };
}

function naming(count: number): Item {
  const widgetConfig = { queries: Array.from({ length: count }, (_, x) => ({ queryID: newID(), x })) };
  return { type: 'widget', id: newID(), payload: { widgetTitle: 'Many', widgetType: 'table', widgetConfig } };
}

function workflow(count: number): Item {
  const steps = Array.from({ length: count }, (_, at) => ({
    ...{ id: `n${at}`, type: 'end' },
    data: { output: { at, text: `Before ${'y'.repeat(800)}` } },
  }));
  const workflowNodes = [{ id: 'start', type: 'start' }, ...steps];
  const workflowEdges = steps.map(({ id }) => ({ id: `e${id}`, source: 'start', target: id }));
  return { type: 'workflow', id: newID(), payload: { title: 'Large', workflowNodes, workflowEdges, draft: true } };
}
