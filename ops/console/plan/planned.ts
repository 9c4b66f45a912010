import type { Schemas } from '../client/types.ts';
import { exitsOf } from '../graph/exits.ts';
import type { Kinds } from '../graph/kinds.ts';
import type { ShownGraph } from '../graph/shown.ts';
import { countOf } from '../ui/count.ts';
import { withValueAt } from '../ui/schema-value.ts';

type Planned = Schemas['WorkflowPlanned'];
export type PlannedNode = Schemas['PlannedNode'];
type Dependency = Schemas['PlanDependency'];

/** The plan of a run, as the canvas and the panel of a step show it. */
export interface Plan {
  versionNumber: number | null;
  args: Readonly<Record<string, unknown>>;
  problems: Planned['problems'];
  steps: ReadonlyMap<string, PlannedNode>;
  edges: ReadonlyMap<string, Schemas['PlannedEdge']['isTaken']>;
}

export function planOf({ versionNumber, problems, nodes, edges }: Planned, args: Plan['args']): Plan {
  return {
    ...{ versionNumber, args, problems },
    steps: new Map(nodes.map((node) => [node.nodeID, node])),
    edges: new Map(edges.map(({ edgeID, isTaken }) => [edgeID, isTaken])),
  };
}

/** How many steps would run, may run, and would not. */
export function summaryOfPlan({ steps }: Plan): string {
  const count = (state: PlannedNode['isReached']) => [...steps.values()].filter(({ isReached }) => isReached === state);
  const [yes, depends, no] = [count('yes'), count('depends'), count('no')].map(({ length }) => length);
  const parts = [
    `${countOf(yes ?? 0, 'step')} would run`,
    ...(depends ? [`${depends.toLocaleString()} may run`] : []),
    ...(no ? [`${no.toLocaleString()} would not`] : []),
  ];
  return `${parts.join(', ')}.`;
}

export const planWords: Record<PlannedNode['isReached'], { word: string; tone: 'ok' | 'wait' | 'idle' }> = {
  yes: { word: 'Would run', tone: 'ok' },
  depends: { word: 'May run', tone: 'wait' },
  no: { word: 'Would not', tone: 'idle' },
};

type NameOf = (id: string) => string;

/** The values that decide, in words: “the result of ‘Order’”. */
export function dependencyWords(dependsOn: readonly Dependency[] | undefined, nameOf: NameOf): string {
  const words = (dependsOn ?? []).map(({ nodeID, variable, on }) => {
    const name = `“${nameOf(nodeID ?? '')}”`;
    const known: Record<Dependency['on'], string> = {
      output: `the result of ${name}`,
      exit: `how ${name} is left`,
      failure: `whether ${name} fails`,
      item: `the items of ${name}`,
      variable: `the variable ${variable ?? ''}`,
      link: `the link to ${name}`,
    };
    return known[on];
  });
  return [...new Set(words)].join(', ');
}

/** The config with the values that follow from the input: a step says in one line what it would do with them. */
export function filledConfig(data: Readonly<Record<string, unknown>>, { values = [] }: PlannedNode) {
  const known = values.filter(({ value }) => value !== undefined);
  return known.reduce<unknown>(
    (config, { path, value }) => withValueAt(config, path.split('.'), value),
    data,
  ) as typeof data;
}

interface Reasons {
  graph: ShownGraph;
  kinds: Kinds;
  nameOf: NameOf;
}

/** Why a step is not reached, may be, or would fail; undefined if it simply runs. */
export function reasonOf(plan: Plan, id: string, { graph, kinds, nameOf }: Reasons): string | undefined {
  const step = plan.steps.get(id);
  if (!step) return undefined;
  if (step.error) return step.error.message;
  if (step.isReached === 'depends') return `depends on ${dependencyWords(step.dependsOn, nameOf)}`;
  if (step.isReached === 'yes') return undefined;
  const ways = graph.edges.flatMap(({ source, target }) => {
    const before = target === id ? plan.steps.get(source) : undefined;
    if (before?.isReached !== 'yes') return [];
    if (before.error) return [`“${nameOf(source)}” fails`];
    const { type = '', data = {} } = graph.nodes.find((node) => node.id === source) ?? {};
    const exit = exitsOf(kinds[type], data).find(({ id: one }) => one === before.exit);
    return [exit ? `“${nameOf(source)}” leads on by “${exit.name}”` : `“${nameOf(source)}” does not lead here`];
  });
  return ways[0] ?? 'no way leads here';
}

/** The words of a card about its step while a plan is shown. */
export interface PlannedCard {
  word: string;
  tone: 'ok' | 'wait' | 'bad' | 'idle';
  /** Undefined: the step does what its config says. */
  reason: string | undefined;
  step: PlannedNode;
}

export function cardsOf(plan: Plan, reasons: Reasons): ReadonlyMap<string, PlannedCard> {
  const cards = [...plan.steps].map(([id, step]) => {
    const fails = step.error !== undefined && step.isReached !== 'no';
    const { word, tone } = fails ? { word: 'Would fail', tone: 'bad' as const } : planWords[step.isReached];
    return [id, { word, tone, step, reason: reasonOf(plan, id, reasons) }] as const;
  });
  return new Map(cards);
}
