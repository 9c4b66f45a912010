/** Drafts of graphs for tests of the console's pure parts. */

import { formOf } from '#api/http/forms/form.ts';
import { bodyOf, type Draft, draftOf } from '#ops/console/editor/draft.ts';
import type { Kind } from '#ops/console/graph/kinds.ts';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { checkGraph } from '#shared/workflow/graph/graph.ts';
import type { NodeDefinition } from '#shared/workflow/nodes/define-node.ts';
import { nodes as definitions } from '#shared/workflow/nodes/index.ts';
import { exitsOf as exitsByServer, isPure, usualExitOf } from '#shared/workflow/nodes/properties.ts';

/** The kinds as the API describes them, but for their forms. */
export const kinds = Object.fromEntries(
  definitions.map((node: NodeDefinition) => {
    const { kind, label, body = null, begins = false, forks = false, exitAliases = {}, defaultValue } = node;
    const { chunked, links = [] } = node;
    const value = node.config.parse(defaultValue);
    const exits = [...exitsByServer(node as never, value)];
    const described = { nodeType: kind, label, begins, forks, exitAliases, bodyExit: body, defaultValue, exits };
    return [
      kind,
      {
        ...described,
        ...{ isChunked: chunked === true, takesLinks: links.length > 0, isPure: isPure(node as never, value) },
        usualExit: usualExitOf(node as never, value),
        schema: formOf(node.config).schema,
        uischema: {},
      } as Kind,
    ];
  }),
);

/** A draft of `id: kind` and `source[.exit]>target`. */
export function draft(steps: Record<string, string | object>, ways: string[]): Draft {
  return draftOf({
    workflowNodes: Object.entries(steps).map(([id, given]) => {
      const { type, position, ...data } = (typeof given === 'string' ? { type: given } : given) as {
        type: string;
        position?: object;
      };
      const own = { ...(kinds[type]?.defaultValue as object), title: id, ...data };
      return { id, type, data: own, ...(position && { position }) };
    }),
    workflowEdges: ways.map((way, index) => {
      const [, source = '', exit, target = ''] = /^(\w+)(?:\.(\w+))?>(\w+)$/.exec(way) ?? [];
      return { id: `e${index}`, source, target, ...(exit && { sourceHandle: exit }) };
    }),
  });
}

export const waysOf = ({ edges }: Draft) =>
  edges
    .map(({ source, target, sourceHandle }) => `${source}${sourceHandle ? `.${sourceHandle}` : ''}>${target}`)
    .sort();

/** Faults for which the API would refuse a draft. */
export function faultsOf(given: Draft): string[] {
  const { workflowNodes, workflowEdges } = bodyOf(given);
  const { issues } = runSync(checkGraph(workflowNodes as never, workflowEdges as never));
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}
