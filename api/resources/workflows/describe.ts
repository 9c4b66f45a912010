import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { looseObject } from '#shared/core/record.ts';
import { sharedFields } from '#shared/workflow/nodes/common.ts';
import type { NodeDefinition } from '#shared/workflow/nodes/define-node.ts';
import { type AnyNode, findNodeKind, nodes } from '#shared/workflow/nodes/index.ts';
import { exitsOf, isPure, usualExitOf } from '#shared/workflow/nodes/properties.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { formOf } from '../../http/forms/form.ts';
import { exampleNode } from './examples.ts';
import { SchemasQuery } from './schemas.ts';

const NodeDescription = z
  .object({
    nodeType: z.string(),
    label: z.string(),
    schema: looseObject({}).describe('JSON Schema of the config'),
    uischema: looseObject({}).describe('JSONForms'),
    defaultValue: looseObject({}),
    exits: z.array(z.string()).describe('The exits of a node with the default value; a config may name others'),
    usualExit: z.string().nullable().describe('The exit of an edge without a handle'),
    bodyExit: z.string().nullable().describe('The exit to the nodes that the node repeats'),
    forks: z.boolean().describe('Leaving by the usual exit takes the edges of all exits but `error`'),
    exitAliases: z.record(z.string(), z.string()).describe('Other names of exits, which edges may have'),
    begins: z.boolean().describe('Runs begin here: a graph has exactly one such node'),
    isChunked: z.boolean().describe('The iterations of the body are runs of their own'),
    isPure: z
      .boolean()
      .describe(
        'A node with the default value has no effect, and always gives the same for the same config and context',
      ),
    takesLinks: z.boolean().describe('Fields of the config may insert the links by which questions are answered'),
  })
  .meta({ id: 'NodeDescription' });

export const describeNodes = tenantRoute({
  name: 'getWorkflowSchema',
  method: 'get',
  path: '/workflows/schemas',
  summary: 'Get the node kinds',
  description:
    'Returns the kinds of nodes, each with a JSON Schema and a form of its config. Every field has a title and a description; the fields that all kinds share are grouped behind those of the kind.',
  permission: 'workflow.list',
  filter: true,
  query: SchemasQuery,
  response: z.object({
    schemas: z.record(z.string(), NodeDescription).meta({ examples: [{ delay: exampleNode }] }),
    message: Message,
  }),

  async handle({ query: { nodeType } }) {
    const wanted = nodeType === undefined ? nodes : [getNodeKind(nodeType)];
    return { schemas: Object.fromEntries(wanted.map((node) => [node.kind, describe(node)])), message: 'Node schemas' };
  },
});

function getNodeKind(kind: string): AnyNode {
  const node = findNodeKind(kind);
  if (!node) throw new AppError('SCHEMA_NOT_FOUND', `There is no node type "${kind}"`);
  return node;
}

function describe(node: AnyNode): z.input<typeof NodeDescription> {
  const { kind, label, config, defaultValue, body = null, begins = false, forks = false, exitAliases = {} } = node;
  const { chunked, links = [] }: NodeDefinition = node;
  const form = formOf(config, sharedFields(node));
  const value = config.parse(defaultValue);
  return {
    ...{ nodeType: kind, label, ...form, defaultValue, begins },
    exits: [...exitsOf(node, value)],
    usualExit: usualExitOf(node, value),
    ...{ bodyExit: body, forks, exitAliases, isChunked: chunked === true },
    isPure: isPure(node, value),
    takesLinks: links.length > 0,
  };
}
