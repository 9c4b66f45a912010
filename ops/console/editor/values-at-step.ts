import { nodesBefore } from '#shared/workflow/graph/nodes-before.ts';
import { ANY, assignmentsOf, inputShape, resultShape, type Shape, shapeOf } from '#shared/workflow/nodes/results.ts';
import { compileTemplate } from '#shared/workflow/templates/expressions.ts';
import type { NodeSteps } from '../client/run-steps.ts';
import { exitOfEdge } from '../graph/exits.ts';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import { resultName } from '../graph/result-name.ts';
import { bodiesAround, bodiesOf } from '../graph/shape.ts';
import { firstStep } from '../testing/results.ts';
import { isObject } from '../ui/is-object.ts';
import { resolvePath } from '../values/check.ts';
import { partsOf, type Value, type ValueGroup, type Values } from '../values/value.ts';
import { type Draft, type DraftNode, nameOf } from './draft.ts';

/** A variable of the tenant that the caller may read. */
export interface ReadVariable {
  name: string;
  value?: unknown;
  isSecret: boolean;
  description?: string | null | undefined;
}

/** The data that is known beside the graph. */
export interface Known {
  /** The declared inputs of the workflow. */
  definitions: unknown;
  /** The input of the last test; undefined without one. */
  input?: unknown;
  /** The steps of the last test, with their outcomes. */
  tested: ReadonlyMap<string, NodeSteps>;
  /** Outputs that were too large to come with the test, and were read since. */
  read: ReadonlyMap<string, unknown>;
  /** The shapes of what queries have answered, by their ids. */
  answers?: ReadonlyMap<string, Shape>;
  variables: readonly ReadVariable[];
  /** Whether there may be variables that are not known. */
  hasMoreVariables: boolean;
}

/** All that expressions of a step can name: inputs, results of the steps before it, items of the bodies that it lies in, and variables. */
export function valuesAt(id: string, draft: Draft, kinds: Kinds, known: Known): Values {
  return createReader(draft, kinds, known)(id);
}

function createReader(draft: Draft, kinds: Kinds, known: Known): (id: string) => Values {
  const bodies = bodiesOf(draft, kinds);
  const { containerOf, returns } = bodies;
  const byID = new Map(draft.nodes.map((node) => [node.id, node]));
  const onward = draft.edges.filter(({ id }) => !returns.has(id));
  const arriving = Map.groupBy(onward, ({ target }) => target);
  const sourcesOf = (id: string) => (arriving.get(id) ?? []).map(({ source }) => source);
  const input: Value = {
    ...{ path: ['ctx', 'input'], name: 'All inputs', sample: known.input, shape: inputShape(known.definitions) },
  };
  return valuesOf;

  function valuesOf(id: string): Values {
    const around = bodiesAround(id, bodies).flatMap((one) => byID.get(one) ?? []);
    const before = nodesBefore(id, { sourcesOf });
    const repeating = new Set(around.map((one) => one.id));
    // The nearest ones come first: of two results of the same name, theirs counts.
    const steps = [...before].flatMap((other) => {
      const node = byID.get(other);
      return node && !repeating.has(other) && node.data.isDisabled !== true ? [node] : [];
    });
    const results = steps.flatMap(resultsOf);
    const links = linksAt(id);
    const groups: ValueGroup[] = [
      // Values that differ from one time to the next are meant most often.
      ...around.map((container) => ({ title: `Item of ${nameOf(container)}`, values: itemOf(container) })),
      { title: 'Inputs', values: [...partsOf(input)] },
      ...results,
      ...(mayHaveError(id, before) ? [{ title: 'Error of a step before', values: [error] }] : []),
      { title: 'Variables', values: known.variables.map(variableOf) },
      ...links,
    ];
    const roots = ['ctx', 'vars', ...(links.length > 0 ? ['links'] : [])];
    const open = new Set(['links', 'ctx.error']);
    if (known.hasMoreVariables) open.add('vars');
    if (steps.some(({ data }) => data.mergeOutputs === true)) open.add('ctx');
    return {
      input,
      groups: groups.filter(({ values }) => values.length > 0),
      elsewhere: elsewhereOf(),
      source: 'test',
      roots,
      open,
    };

    function elsewhereOf(): Map<string, string> {
      const named = new Set(groups.flatMap(({ values }) => values.map(({ path }) => String(path[1]))));
      const found = draft.nodes.flatMap((node): [string, string][] =>
        keysOf(node, kinds)
          .filter((key) => !named.has(key))
          .map((key) => [`ctx.${key}`, reasonOf(node)]),
      );
      return new Map(found);
    }

    function reasonOf(node: DraftNode): string {
      const name = `“${nameOf(node)}”`;
      if (node.id === id) return 'it is the result of this step.';
      if (node.data.isDisabled === true && before.has(node.id)) return `${name}, which gives it, is disabled.`;
      if (repeating.has(node.id)) return `${name} gives it when all items are done.`;
      const container = byID.get(containerOf.get(node.id) ?? '');
      if (container && !repeating.has(container.id)) return `${name} gives it inside of “${nameOf(container)}” alone.`;
      return `${name}, which gives it, does not come before this step.`;
    }
  }

  function resultsOf(node: DraftNode): ValueGroup[] {
    const outputVariable = resultName(kinds[node.type], node.data);
    if (outputVariable === undefined) return [];
    const shape = known.answers?.get(String(node.data.dataQueryID)) ?? resultShape(node.type, node.data);
    const { output, isOmitted } = outputOf(node);
    const sample = isObject(output) && Object.hasOwn(output, outputVariable) ? output[outputVariable] : undefined;
    const omittedAt = isOmitted ? node.id : undefined;
    const result: Value = {
      ...{ path: ['ctx', outputVariable], name: outputVariable, shape, sample, omittedAt },
      note: 'Result of the step',
    };
    const own = assignmentsOf(node.data.assignments);
    const values = own.map(({ name, value }): Value => {
      const part = isObject(sample) && Object.hasOwn(sample, name) ? sample[name] : undefined;
      return { path: ['ctx', name], name, shape: shapeOf(value), sample: part, omittedAt };
    });
    const merged = node.data.mergeOutputs === true && isObject(sample) ? Object.entries(sample) : [];
    const further = merged.map(([name, part]): Value => ({ path: ['ctx', name], name, shape: ANY, sample: part }));
    return [
      {
        title: `${nameOf(node)} (${wordsOf(node.type, kinds[node.type]).word})`,
        values: [...values, ...further, result],
      },
    ];
  }

  /** The output in the last test, or the pinned one that tests take in place of it. */
  function outputOf({ id, more: { pinned } }: DraftNode): { output: unknown; isOmitted: boolean } {
    if (isObject(pinned)) return { output: pinned.output, isOmitted: false };
    const step = firstStep(known.tested.get(id));
    if (step?.last.outputOmitted !== true) return { output: step?.last.output, isOmitted: false };
    return { output: known.read.get(id), isOmitted: !known.read.has(id) };
  }

  function itemOf(container: DraftNode): Value[] {
    const { itemVariable = 'item', indexVariable = 'index', sourceVariable } = container.data;
    const list = listOf(sourceVariable, container.id);
    const note = 'Of the first item, while the step is built';
    return [
      { path: ['ctx', String(itemVariable)], name: String(itemVariable), note, isOpen: true, ...list },
      {
        ...{ path: ['ctx', String(indexVariable)], name: String(indexVariable), note: 'Counted from 0' },
        ...{ shape: { type: 'number' }, sample: 0 },
      },
    ];
  }

  /** The first item of the list that a step repeats its body for. */
  function listOf(source: unknown, id: string): Pick<Value, 'shape' | 'sample' | 'omittedAt'> {
    if (Array.isArray(source)) return { shape: shapeOf(source[0]), sample: isPlain(source[0]) ? source[0] : undefined };
    const whole = typeof source === 'string' ? compileTemplate(source)?.whole : undefined;
    const found = whole && resolvePath([whole.root ?? '', ...whole.keys], valuesOf(id));
    if (!found || found.missing !== undefined) return { shape: ANY, sample: undefined };
    const { sample, shape, omittedAt } = found.value;
    return { shape: shape.items ?? ANY, sample: Array.isArray(sample) ? sample[0] : sample, omittedAt };
  }

  function mayHaveError(id: string, before: ReadonlySet<string>): boolean {
    const byError = onward.some(({ source, target, sourceHandle }) => {
      const node = byID.get(source);
      const isOnWay = target === id || before.has(target);
      return isOnWay && node !== undefined && exitOfEdge(kinds[node.type], node.data, sourceHandle) === 'error';
    });
    return byError || [...before].some((one) => goesOn(byID.get(one)?.data.errorHandling));
  }

  function linksAt(id: string): ValueGroup[] {
    if (kinds[byID.get(id)?.type ?? '']?.takesLinks !== true) return [];
    const questions = draft.nodes.filter(
      (node) => node.data.answerByLink === true && containerOf.get(node.id) === containerOf.get(id),
    );
    if (questions.length === 0) return [];
    const values = questions.map((node): Value => {
      const note = `The address at which “${nameOf(node)}” is answered`;
      return { path: ['links', node.id], name: nameOf(node), shape: { type: 'text' }, sample: undefined, note };
    });
    return [{ title: 'Links to questions', values }];
  }
}

function isPlain(value: unknown): boolean {
  return value !== undefined && !JSON.stringify(value).includes('{{');
}

function goesOn(errorHandling: unknown): boolean {
  return typeof errorHandling === 'string' && /continue|skip/.test(errorHandling);
}

/** The keys of `ctx` that a step sets. */
function keysOf({ type, data }: DraftNode, kinds: Kinds): string[] {
  const own = resultName(kinds[type], data);
  return [...(own === undefined ? [] : [own]), ...assignmentsOf(data.assignments).map(({ name }) => name)];
}

const error: Value = {
  ...{ path: ['ctx', 'error'], name: 'error', sample: undefined },
  shape: {
    type: 'object',
    fields: {
      code: { type: 'text' },
      message: { type: 'text' },
      nodeID: { type: 'text', note: 'The step that failed' },
      attempt: { type: 'number' },
      details: { type: 'object' },
    },
  },
  note: 'Only if a step before has failed',
};

function variableOf({ name, value, isSecret, description }: ReadVariable): Value {
  return {
    ...{ path: ['vars', name], name, shape: ANY, sample: isSecret ? undefined : value, isSecret },
    note: description ?? undefined,
  };
}
