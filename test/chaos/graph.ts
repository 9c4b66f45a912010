import type { Shape, Step } from './program.ts';

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

  for (const [index, step] of shape.entries()) thenStep(`${step.kind}${index}`, step);
  then('last', 'javascript', { code: 'return ctx.value ?? ctx.input.n;', outputVariable: 'value' }, 'success');
  then('end', 'end', { outputParameters: [{ name: 'value', sourceVariable: '{{ctx.value}}' }] });
  return { workflowNodes: graph.nodes, workflowEdges: graph.edges };

  function thenStep(id: string, step: Step): void {
    switch (step.kind) {
      case 'add':
        return then(id, 'http', callOf(step), 'success');
      case 'both': {
        // The second is a branch of its own, which ends there.
        const before = from;
        then(`${id}b`, 'http', callOf({ ...step.second, failures: 0 }), 'success');
        from = before;
        return then(`${id}a`, 'http', callOf({ ...step.first, failures: 0 }), 'success');
      }
      case 'compute': {
        const code = `console.log('computed'); return (ctx.value ?? ctx.input.n) * ${step.factor} + ${step.plus};`;
        return then(id, 'javascript', { code, outputVariable: 'value' }, 'success');
      }
      case 'wait':
        return then(id, 'delay', durationOf(step.ms), 'output');
      case 'ask': {
        then(id, 'dataCollection', { fields: [{ key: 'answer', fieldType: 'number' }] }, 'output');
        const sum = 'return (ctx.value ?? ctx.input.n) + ctx.collectedData.answer;';
        return then(`${id}sum`, 'javascript', { code: sum, outputVariable: 'value' }, 'success');
      }
      case 'query': {
        const { counter, amount } = step;
        const inputValues = { counter, amount, failures: 0 };
        return then(id, 'dataQuery', { dataQueryID, inputValues, retryLimit: 5, retryDelaySeconds: 0.1 }, 'success');
      }
      case 'child':
        return then(id, 'subWorkflow', { childWorkflowID: childID, inputMapping: { n: '{{ctx.input.n}}' } }, 'success');
      case 'loop':
        return thenLoop(id, step);
      case 'map':
        return thenMap(id, step);
    }
  }

  /** A loop whose body adds to a counter; what its items give is added to the value. */
  function thenLoop(id: string, step: Extract<Step, { kind: 'loop' }>): void {
    const { items: sourceVariable, pauseMs: delayBetweenItems } = step;
    then(id, 'loop', { sourceVariable, delayBetweenItems }, 'loop');
    thenBody(id, step, 'ctx.loopResults');
  }

  /** The same in chunks. */
  function thenMap(id: string, step: Extract<Step, { kind: 'map' }>): void {
    const { items: sourceVariable, concurrency, chunkSize } = step;
    then(id, 'map', { sourceVariable, concurrency, chunkSize }, 'map');
    thenBody(id, step, 'ctx.mapResults');
  }

  function thenBody(id: string, step: Extract<Step, { kind: 'loop' | 'map' }>, results: string): void {
    const { waitMs } = step;
    then(`${id}add`, 'http', callOf({ ...step, failures: 0 }), 'success');
    if (waitMs > 0) then(`${id}wait`, 'delay', durationOf(waitMs), 'output');
    then(`${id}each`, 'javascript', { code: 'return ctx.item * ctx.index + 1;' }, 'success');
    from = { id, exit: 'completed' };
    const sum = `return ${results}.reduce((sum, one) => sum + one, ctx.value ?? ctx.input.n);`;
    then(`${id}sum`, 'javascript', { code: sum, outputVariable: 'value' }, 'success');
  }

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

function durationOf(ms: number): object {
  return { delaySeconds: Math.floor(ms / 1000), delayMs: ms % 1000 };
}
