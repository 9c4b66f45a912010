import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import { variableUses } from '#shared/workflow/graph/variable-uses.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';

/** The names of variables that a workflow has in templates and options, and in code where they are written out. */
export function variablesNamedIn({ workflowNodes, workflowOptions }: JsonObject): string[] {
  const nodes = Array.isArray(workflowNodes) ? workflowNodes.filter(isJsonObject) : [];
  const { completionWebhook } = isJsonObject(workflowOptions) ? workflowOptions : {};
  const { secret } = isJsonObject(completionWebhook) ? completionWebhook : {};
  return [...new Set([...nodes.flatMap(namedByNode), ...(typeof secret === 'string' ? [secret] : [])])];
}

function namedByNode({ type, data }: JsonObject): string[] {
  const definition = typeof type === 'string' ? findNodeKind(type) : undefined;
  const uses = definition && variableUses(definition, data);
  if (!uses) return [];
  const code = uses.inCode ? (definition.snippets?.(data) ?? []) : [];
  const inCode = code.flatMap(({ text }) => [...text.matchAll(IN_CODE)].map(([, name = '']) => name));
  return [...uses.named.map(({ name }) => name), ...inCode];
}

/** `vars.name`, `vars?.name` and `vars['name']`. */
const IN_CODE = /(?<![\w$.])vars\s*(?:\?\.|\.|(?:\?\.)?\[\s*["'`])\s*([A-Za-z_]\w*)/g;
