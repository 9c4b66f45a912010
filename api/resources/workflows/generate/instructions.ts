import { sharedGroups, sharedNames } from '#shared/workflow/nodes/common.ts';
import { type AnyNode, nodes } from '#shared/workflow/nodes/index.ts';
import { formOf } from '../../../http/forms/form.ts';

let written: string | undefined;

/** Instructions that a model needs to write a graph: the same for every tenant. */
export function instructions(): string {
  written ??= [
    'You write one workflow as a JSON object {"title": a short title, "workflowDescription": a sentence, "workflowNodes": […], "workflowEdges": […], "workflowOptions": {"inputDefinitions": [{"key": …, "type": "string"|"number"|"integer"|"boolean"|"date"|"datetime"|"choice"|"array"|"object", "options": the texts of a choice, "required": true|false}]}, "assumptions": sentences about all that the request left open and you decided, "missing": sentences about what a person has to make first}.',
    'A node is {"id": a short word, "type": its kind, "data": its config, "position": {"x": …, "y": …}}. An edge is {"id", "source", "target", "sourceHandle": an exit of the source}. There is exactly one node of the kind that begins, every node can be reached from it, and no edge leads back except from a body to its node.',
    'Inputs are {{ctx.input.key}}. The result of a node is {{ctx.name}}, where name is its outputVariable. Behind a node that failed, {{ctx.error}} has its code, message and nodeID. A template that is a whole text keeps the type of its value.',
    `Ids of queries and workflows are those that the data names. Where none fits, write ${NO_ASSET} and say in "missing" what has to be made. A secret is never written into a node: it is a variable, {{vars.name}}.`,
    `These fields may stand in every node: ${JSON.stringify(fieldsOf(nodes[1], isShared))}`,
    'The kinds of nodes:',
    ...nodes.map(describe),
  ].join('\n');
  return written;
}

/** An id that no asset has. */
const NO_ASSET = '00000000-0000-4000-8000-000000000000';

function describe(node: AnyNode): string {
  const { kind, label, exits, begins, ends, body } = node;
  const words = [
    begins && 'begins',
    ends && 'ends a branch',
    body && `the edges of the exit "${body}" lead to its body, and edges lead back from the body`,
  ].filter(Boolean);
  return JSON.stringify({
    kind,
    label,
    ...(words.length > 0 && { note: words.join('; ') }),
    exits: Array.isArray(exits) ? exits : 'named by its config',
    config: fieldsOf(node, (name) => !isShared(name)),
    required: formOf(node.config).schema.required,
    example: node.defaultValue,
  });
}

const shared: ReadonlySet<string> = new Set([...sharedNames, ...sharedGroups.flatMap((group) => group.fields)]);

function isShared(name: string): boolean {
  return shared.has(name);
}

function fieldsOf({ config }: AnyNode, isWanted: (name: string) => boolean): object {
  const { properties = {} } = formOf(config).schema;
  return Object.fromEntries(Object.entries(properties).filter(([name]) => isWanted(name)));
}
