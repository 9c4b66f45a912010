import { exitOfEdge, exitsOf } from '../graph/exits.ts';
import type { Kinds } from '../graph/kinds.ts';
import type { ShownEdge, ShownStep } from '../graph/shown.ts';
import { isObject } from '../ui/is-object.ts';

type JSONObject = Readonly<Record<string, unknown>>;

/** The result that tests take for a step in place of executing it. */
export interface Pin {
  output: JSONObject;
  /** The exit by which the step is left; without one, the usual one. */
  exit?: string | undefined;
}

/** A step as the editor has it. A pinned result is saved with the step, and runs of published versions do not read it. */
export interface EditedStep extends ShownStep {
  more: JSONObject;
}

export interface EditedGraph {
  nodes: readonly EditedStep[];
  edges: readonly ShownEdge[];
}

export function pinOf({ more }: Pick<EditedStep, 'more'>): Pin | undefined {
  const { pinned } = more;
  if (!isObject(pinned) || !isObject(pinned.output)) return undefined;
  return { output: pinned.output, ...(typeof pinned.exit === 'string' && { exit: pinned.exit }) };
}

/** Pins a result of a step, or takes it away. */
export function withPin<G extends EditedGraph>(graph: G, id: string, pin: Pin | undefined): G {
  const nodes = graph.nodes.map((node) => {
    if (node.id !== id) return node;
    const plain = withoutPin(node);
    return pin ? { ...plain, more: { ...plain.more, pinned: pin } } : plain;
  });
  return { ...graph, nodes };
}

export function withoutPin<N extends EditedStep>(node: N): N {
  const { pinned: _, ...more } = node.more;
  return { ...node, more };
}

/** The pinned results of these steps, as a test takes them. A disabled step is passed over with or without one. */
export function pinsOf(nodes: readonly EditedStep[]): Record<string, Pin> {
  const pins = nodes.flatMap((node): [string, Pin][] => {
    const pin = node.data.isDisabled === true ? undefined : pinOf(node);
    return pin ? [[node.id, pin]] : [];
  });
  return Object.fromEntries(pins);
}

/** All pinned results of a test have at most a million characters: one leaves room for others. */
const MAX_PIN = 250_000;

/** A result that can be pinned. Throws for one that is no object, or too large. */
export function checkedPin(output: unknown, exit: string | undefined): Pin {
  if (!isObject(output)) throw new Error('An object was expected: what the step gives, by names.');
  const { length } = JSON.stringify(output);
  if (length > MAX_PIN)
    throw new Error(
      `The result has ${length.toLocaleString()} characters: at most ${MAX_PIN.toLocaleString()} can be pinned. Give it a smaller one.`,
    );
  return { output, ...(exit !== undefined && { exit }) };
}

/** The exit by which a step with a given result is left: the usual one, unless the result names another. */
export function exitAfter({ exit }: Pin, { type, data }: ShownStep, kinds: Kinds): string | undefined {
  const kind = kinds[type];
  return exit ?? exitOfEdge(kind, data, null) ?? exitsOf(kind, data)[0]?.id;
}
