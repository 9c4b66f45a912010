import type { Shape } from './program.ts';

/** What the workflows of a program use. */
export interface Surroundings {
  serviceURL: string;
  /** Adds to a counter, by a stored query. */
  dataQueryID: string;
  childID: string | undefined;
}

interface Graph {
  nodes: { id: string; type: string; data: object; position: { x: number; y: number } }[];
  edges: { id: string; source: string; target: string; sourceHandle?: string }[];
}

/** The workflow of a shape: a chain of its steps, which ends with the value that was computed. */
export function graphOf(shape: Shape, { serviceURL, dataQueryID, childID }: Surroundings) {
  const graph: Graph = { nodes: [], edges: [] };
  let from: { id: string; exit?: string } = add('start', 'start', {});

  for (const [index, step] of shape.entries()) {
    const id = `${step.kind}${index}`;
    if (step.kind === 'add') then(id, 'http', callOf(step), 'success');
    if (step.kind === 'both') {
      // The second is a branch of its own, which ends there.
      const before = from;
      then(`${id}b`, 'http', callOf({ ...step.second, failures: 0 }), 'success');
      from = before;
      then(`${id}a`, 'http', callOf({ ...step.first, failures: 0 }), 'success');
    }
    if (step.kind === 'compute') {
      const code = `return (ctx.value ?? ctx.input.n) * ${step.factor} + ${step.plus};`;
      then(id, 'javascript', { code, outputVariable: 'value' }, 'success');
    }
    if (step.kind === 'wait')
      then(id, 'delay', { delaySeconds: Math.floor(step.ms / 1000), delayMs: step.ms % 1000 }, 'output');
    if (step.kind === 'ask') {
      then(id, 'dataCollection', { fields: [{ key: 'answer', fieldType: 'number' }] }, 'output');
      const sum = 'return (ctx.value ?? ctx.input.n) + ctx.collectedData.answer;';
      then(`${id}sum`, 'javascript', { code: sum, outputVariable: 'value' }, 'success');
    }
    if (step.kind === 'query') {
      const { counter, amount } = step;
      const inputValues = { counter, amount, failures: 0 };
      then(id, 'dataQuery', { dataQueryID, inputValues, retryLimit: 5, retryDelaySeconds: 0.1 }, 'success');
    }
    if (step.kind === 'child')
      then(id, 'subWorkflow', { childWorkflowID: childID, inputMapping: { n: '{{ctx.input.n}}' } }, 'success');
  }
  then('last', 'javascript', { code: 'return ctx.value ?? ctx.input.n;', outputVariable: 'value' }, 'success');
  then('end', 'end', { outputParameters: [{ name: 'value', sourceVariable: '{{ctx.value}}' }] });
  return { workflowNodes: graph.nodes, workflowEdges: graph.edges };

  function callOf({ counter, amount, failures }: { counter: number; amount: number; failures: number }): object {
    return {
      url: `${serviceURL}/add`,
      method: 'POST',
      body: { counter, amount, failures },
      retryLimit: 5,
      retryDelaySeconds: 0.1,
    };
  }

  function add(id: string, type: string, data: object): { id: string } {
    graph.nodes.push({ id, type, data, position: { x: graph.nodes.length * 200, y: 0 } });
    return { id };
  }

  function then(id: string, type: string, data: object, exit?: string): void {
    add(id, type, data);
    const { id: source, exit: sourceHandle } = from;
    graph.edges.push({ id: `e${graph.edges.length}`, source, target: id, ...(sourceHandle && { sourceHandle }) });
    from = { id, ...(exit && { exit }) };
  }
}
