import type { JsonObject } from '../../core/json.ts';
import { dataQuery } from './kinds/data-query.ts';
import { end } from './kinds/end.ts';
import { start } from './kinds/start.ts';

interface Queried {
  dataQueryID: string;
  /** The names of the query's inputs, which become the inputs of the run. */
  inputs: readonly string[];
  timeoutSeconds: number;
}

const MAX_NODE_SECONDS = 3_600;

/** The graph of a run that executes one data query and answers its result. */
export function queryGraph({ dataQueryID, inputs, timeoutSeconds }: Queried): {
  nodes: JsonObject[];
  edges: JsonObject[];
} {
  const inputValues = Object.fromEntries(inputs.map((key) => [key, `{{ctx.input[${JSON.stringify(key)}]}}`]));
  const query = { dataQueryID, inputValues, timeoutSeconds: Math.min(timeoutSeconds, MAX_NODE_SECONDS) };
  const answer = { outputParameters: [{ name: 'result', sourceVariable: '{{ctx.queryResult}}' }] };
  return {
    nodes: [
      { id: 'start', type: start.kind, data: {} },
      { id: 'query', type: dataQuery.kind, data: query },
      { id: 'end', type: end.kind, data: answer },
    ],
    edges: [
      { id: 'begin', source: 'start', target: 'query' },
      { id: 'answer', source: 'query', target: 'end', sourceHandle: 'success' },
    ],
  };
}
