import { useMutation } from '@tanstack/react-query';
import { useCallback, useRef, useState } from 'react';
import { readWholeEvent } from '../client/live-run.ts';
import type { Run, Schemas } from '../client/types.ts';
import { testWorkflow } from '../client/workflows.ts';
import type { Kinds } from '../graph/kinds.ts';
import { declaredInputs } from '../ui/declared.ts';
import { isObject } from '../ui/is-object.ts';
import { partAlone, partUpTo, type StepAlone, type TestedPart } from './part-of-graph.ts';
import { type EditedGraph, type Pin, pinOf, pinsOf, withoutPin } from './pins.ts';
import { noResults, type Results, resultsAfter, type TestOf, usableStep } from './results.ts';
import { type TestSettings, useTestSettings } from './test-settings.ts';

type Test = Schemas['WorkflowTest'];

/** The part that is tested: the whole graph, all that leads to a step, or a step alone. */
export type Target = { kind: 'all' } | { kind: 'upTo' | 'alone'; id: string };

interface Sent extends Omit<TestedPart, 'stopAfter'> {
  /** The whole one, as it was in the editor. */
  graph: EditedGraph;
  target: Target;
  stopAfter?: string;
  /** Steps before one that is tested alone, whose results are sent. */
  given: readonly string[];
  settings: TestSettings;
}

interface Tested {
  tenantID: string;
  workflowID: string;
  graph: EditedGraph;
  kinds: Kinds;
  /** The options of the workflow, with changes that are not saved. */
  options: Readonly<Record<string, unknown>>;
  /** The run of the last test. */
  testID: string | undefined;
  noteTest: (instanceID: string) => void;
  /** Nodes and edges as they are sent. */
  bodyOf: (part: Pick<TestedPart, 'nodes' | 'edges'>) => Pick<Test, 'workflowNodes' | 'workflowEdges'>;
}

export type Tests = ReturnType<typeof useTests>;

/** Tests of a graph while it is built, and their results. */
export function useTests({ tenantID, workflowID, graph, kinds, options, testID, noteTest, bodyOf }: Tested) {
  const [results, setResults] = useState<Results>(noResults);
  const [settings, saveSettings] = useTestSettings(workflowID);
  const [asked, ask] = useState<Target>();
  /** The tests of this visit. */
  const begun = useRef(new Map<string, TestOf>());
  const noteRun = useCallback((run: Run) => {
    setResults((before) => resultsAfter(before, run, begun.current.get(run.instanceID) ?? { isPartial: false }));
  }, []);
  const start = useMutation({
    mutationFn: async ({ target, given, settings: { args, dryRun }, stopAfter, graph: _, ...part }: Sent) => {
      const outputs = await outputsOf(given);
      return testWorkflow(tenantID, {
        ...bodyOf({ ...part, nodes: part.nodes.map(withoutPin) }),
        workflowOptions: options as NonNullable<Test['workflowOptions']>,
        args: (args ?? {}) as Test['args'],
        pinned: { ...outputs, ...pinsOf(part.nodes) } as Test['pinned'],
        dryRun,
        ...(stopAfter !== undefined && { stopAfter }),
      });
    },
    onSuccess: (instanceID, { target, given, nodes, graph: tested }) => {
      const sent = new Set([...given, ...Object.keys(pinsOf(nodes))]);
      begun.current.set(instanceID, { isPartial: target.kind !== 'all', given: sent, tested });
      noteTest(instanceID);
    },
  });

  /** The outputs of these steps, whole. */
  async function outputsOf(given: readonly string[]): Promise<Record<string, Pin>> {
    const outputs = given.map(async (one): Promise<[string, Pin][]> => {
      const pin = resultOf(one);
      const result = results.get(one);
      const last = result && usableStep(result.steps)?.last;
      if (!pin || !result || !last?.outputOmitted || pinned(one)) return pin ? [[one, pin]] : [];
      const output = await readWholeEvent({ tenantID, instanceID: result.run.instanceID }, last);
      return isObject(output) ? [[one, { ...pin, output }]] : [];
    });
    return Object.fromEntries((await Promise.all(outputs)).flat());
  }

  function pinned(id: string): Pin | undefined {
    const node = graph.nodes.find((one) => one.id === id);
    return node && pinOf(node);
  }

  function resultOf(id: string): Pin | undefined {
    const own = pinned(id);
    const result = results.get(id);
    const last = own || !result ? undefined : usableStep(result.steps)?.last;
    if (!last) return own;
    const output = isObject(last.output) ? last.output : {};
    return { output, ...(last.exit !== null && { exit: last.exit }) };
  }

  function aloneOf(id: string): StepAlone {
    return partAlone(graph, kinds, id, resultOf);
  }

  /** Throws what the API refuses; `start` has the error, too. */
  const send = async (target: Target, next: TestSettings) => {
    const { stopAfter, ...part } = partOf(target) ?? {};
    if (part.nodes && part.edges)
      await start.mutateAsync({
        target,
        graph,
        given: target.kind === 'alone' ? aloneOf(target.id).given : [],
        settings: next,
        ...{ nodes: part.nodes, edges: part.edges },
        ...(stopAfter && { stopAfter }),
      });
  };

  function partOf(target: Target): Partial<TestedPart> | undefined {
    if (target.kind === 'all') return { nodes: graph.nodes, edges: graph.edges.map((edge) => ({ ...edge, more: {} })) };
    return target.kind === 'upTo' ? partUpTo(graph, kinds, target.id) : aloneOf(target.id).part;
  }

  const isInputNeeded = declaredInputs(options.inputDefinitions).length > 0 && settings.args === undefined;
  return {
    tenantID,
    results,
    testID,
    noteRun,
    settings,
    /** The test whose inputs are asked for. */
    asked,
    ask,
    start,
    aloneOf,
    isReached: (id: string) => partUpTo(graph, kinds, id) !== undefined,
    /** Starts a test with the inputs of the one before; asks for them if there are none. */
    run: (target: Target) => (isInputNeeded ? ask(target) : void send(target, settings).catch(() => undefined)),
    runWith: async (target: Target, next: TestSettings) => {
      saveSettings(next);
      await send(target, next);
    },
  };
}
