import { useQueries, useQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo, useRef, useState } from 'react';
import type { Shape } from '#shared/workflow/nodes/results.ts';
import { useInputOfRun, type WholeOutput, wholeOutputRead } from '../client/live-run.ts';
import { useMay } from '../client/may.ts';
import { dataQueryTextRead } from '../client/queries-of-tenant.ts';
import { shapeOfAnswer } from '../client/query-answers.ts';
import { knownVariablesRead } from '../client/variables.ts';
import { OfferedInCode } from '../code/offered.ts';
import type { Kinds } from '../graph/kinds.ts';
import { omittedOutputs, type Results } from '../testing/results.ts';
import { line } from '../ui/line-help.tsx';
import { isID } from '../ui/picked.ts';
import { ValuesOfStep } from '../values/context.ts';
import { ValueField } from '../values/field.tsx';
import { FillButton } from '../values/fill-button.tsx';
import { scopeOf } from '../values/scope.ts';
import type { Draft, DraftNode } from './draft.ts';
import type { Tested } from './test-results.tsx';
import { type Known, valuesAt } from './values-at-step.ts';

interface Props {
  tenantID: string;
  draft: Draft;
  node: DraftNode;
  kinds: Kinds;
  testID: string | undefined;
  tested: Tested;
  /** The same, each with its run. */
  results: Results;
  children: ReactNode;
}

/** Gives the fields of a step what they can name there. */
export function StepValues({ tenantID, draft, node, kinds, testID, tested, results, children }: Props) {
  const definitions = draft.options.inputDefinitions;
  const may = useMay();
  const variables = useQuery({ ...knownVariablesRead(tenantID), enabled: may('variable.list') }).data;
  const input = useInputOfRun({ tenantID, instanceID: testID });
  const [needed, setNeeded] = useState<ReadonlySet<string>>(new Set());
  const onNeed = useCallback((steps: readonly string[]) => setNeeded((before) => before.union(new Set(steps))), []);
  const omitted = omittedOutputs(results, needed);
  const reads = omitted.map(({ instanceID, event }) => wholeOutputRead({ tenantID, instanceID }, event));
  const read = useQueries({ queries: reads, combine: byNode });
  const around = useSteadyOthers(draft, node.id);
  const answers = useAnswers(tenantID, around);
  const known: Known = useMemo(
    () => ({
      ...{ definitions, input, tested, read, answers },
      variables: variables?.variables ?? [],
      hasMoreVariables: variables?.hasMore !== false,
    }),
    [definitions, input, tested, read, answers, variables],
  );
  const values = useMemo(() => valuesAt(node.id, around, kinds, known), [node.id, around, kinds, known]);
  const isTested = testID !== undefined;
  const here = useMemo(
    () => ({ values, isTested, onNeed, Field: ValueField, Fill: FillButton, line }),
    [values, isTested, onNeed],
  );
  const offered = useMemo(() => ({ names: scopeOf(values) }), [values]);
  return (
    <ValuesOfStep value={here}>
      <OfferedInCode value={offered}>{children}</OfferedInCode>
    </ValuesOfStep>
  );
}

function byNode(results: readonly { data: WholeOutput | undefined }[]): ReadonlyMap<string, unknown> {
  return new Map(results.flatMap(({ data }) => (data ? [[data.nodeID, data.output] as const] : [])));
}

/** The answers of queries of steps before, as far as this tab has seen it. */
function useAnswers(tenantID: string, { nodes }: Draft): ReadonlyMap<string, Shape> {
  const may = useMay();
  const ids = useMemo(() => {
    const all = nodes.flatMap(({ data: { dataQueryID } }) =>
      typeof dataQueryID === 'string' && isID(dataQueryID) ? [dataQueryID] : [],
    );
    return [...new Set(all)];
  }, [nodes]);
  const texts = useQueries({
    queries: ids.map((dataQueryID) => ({
      ...dataQueryTextRead({ tenantID, dataQueryID }),
      enabled: may('dataquery.read') && shapeOfAnswer(tenantID, dataQueryID) === undefined,
      retry: false,
    })),
    combine: textsOf,
  });
  return useMemo(() => {
    const shapes = ids.map(
      (id, at) => [id, shapeOfAnswer(tenantID, id) ?? shapeOfAnswer(tenantID, texts[at])] as const,
    );
    return new Map(shapes.flatMap(([id, shape]) => (shape ? [[id, shape] as const] : [])));
  }, [tenantID, ids, texts]);
}

function textsOf(results: readonly { data: Readonly<Record<string, unknown>> | undefined }[]): unknown[] {
  return results.map(({ data }) => data?.query);
}

/** The draft as it was when another step or an edge last changed: what a step can name does not depend on its own fields. */
function useSteadyOthers(draft: Draft, id: string): Draft {
  const steady = useRef(draft);
  const { nodes, edges } = steady.current;
  const isSame =
    edges === draft.edges &&
    nodes.length === draft.nodes.length &&
    nodes.every((node, at) => node === draft.nodes[at] || (node.id === id && draft.nodes[at]?.id === id));
  if (!isSame) steady.current = draft;
  return steady.current;
}
