import { z } from 'zod';
import { JsonObject } from '../core/json.ts';
import type { Issue } from '../core/schema/issues.ts';
import type { Graph, GraphNode } from './graph/graph.ts';
import { exitsOf, usualExitOf } from './nodes/properties.ts';

/** The output that a test run uses for a node instead of executing it. */
const PinnedOutput = z
  .object({
    output: JsonObject.describe('As the timeline of a run shows it'),
    exit: z
      .string()
      .max(255)
      .optional()
      .describe(
        'By which the node is left; without it, by its usual exit. With `error` it fails, by the `error` in its output',
      ),
  })
  .meta({ id: 'PinnedOutput' });

/** Characters of all pinned outputs together: each claim of the run reads them. */
const MAX_PINNED = 1_000_000;

/** Options that a test run has and other runs have not. */
export const testMode = {
  pinned: z
    .record(z.string().max(255), PinnedOutput)
    .refine((pinned) => JSON.stringify(pinned).length <= MAX_PINNED, {
      message: `must have at most ${MAX_PINNED} characters together`,
    })
    .default({})
    .describe('Outputs of nodes that are not executed, by the id of the node'),
  dryRun: z
    .boolean()
    .default(false)
    .describe('Whether writes are refused: SQL that changes something, HTTP other than GET and HEAD, mails, messages'),
  stopAfter: z.string().max(255).optional().describe('The run ends after this node, with its output'),
};

/** The mode as it is stored with the run: add only optional fields. */
export interface TestMode {
  pinned?: Readonly<Record<string, Pin>>;
  dryRun?: boolean;
  stopAfter?: string;
}

export interface Pin {
  output: JsonObject;
  exit: string | null;
}

type Asked = z.output<z.ZodObject<typeof testMode>>;

/** Reads the mode of a test run of this graph, with the faults of the request. */
export function readTestMode(graph: Graph, { pinned, dryRun, stopAfter }: Asked): { mode: TestMode; issues: Issue[] } {
  const issues: Issue[] = [];
  const pins = Object.entries(pinned).flatMap(([nodeID, { output, exit }]): [string, Pin][] => {
    const node = nodeOf(graph, nodeID);
    const message = node ? exitFault(node, exit) : 'there is no such node';
    if (message !== null) issues.push({ path: ['pinned', nodeID, ...(node ? ['exit'] : [])], message });
    return node ? [[nodeID, { output, exit: exit ?? usualExitOf(node.definition, node.config) }]] : [];
  });
  if (stopAfter !== undefined) {
    const node = nodeOf(graph, stopAfter);
    const around = node && chunkedAround(graph, node);
    if (!node) issues.push({ path: ['stopAfter'], message: 'there is no such node' });
    else if (around)
      issues.push({
        path: ['stopAfter'],
        message: `the node is in the body of "${around.id}", whose items are runs of their own: name "${around.id}"`,
      });
  }
  return {
    mode: {
      ...(pins.length > 0 && { pinned: Object.fromEntries(pins) }),
      ...(dryRun && { dryRun }),
      ...(stopAfter !== undefined && { stopAfter }),
    },
    issues,
  };
}

function nodeOf(graph: Graph, id: string): GraphNode | undefined {
  return graph.nodes[graph.indexOf.get(id) ?? -1];
}

function exitFault({ definition, config, exits }: GraphNode, exit: string | undefined): string | null {
  if (exit === undefined || exits.has(exit)) return null;
  const known = exitsOf(definition, config);
  return known.includes(exit) ? null : `expected one of ${known.join(', ')}`;
}

/** The nearest node around a node whose iterations are runs of their own, such as a map; undefined if there is none. */
function chunkedAround(graph: Graph, node: GraphNode): GraphNode | undefined {
  const container = graph.regions[node.region]?.container ?? null;
  const around = container === null ? undefined : graph.nodes[container];
  if (!around) return undefined;
  const { chunked = false }: { chunked?: boolean } = around.definition;
  return chunked ? around : chunkedAround(graph, around);
}
