import { isJsonObject } from '#shared/core/json.ts';
import type { Issue } from '#shared/core/schema/issues.ts';
import { codeFault } from '#shared/workflow/check-syntax.ts';
import { readFormSchema } from '#shared/workflow/form-schema.ts';
import type { Graph, GraphNode } from '#shared/workflow/graph/graph.ts';
import type { NodeDefinition } from '#shared/workflow/nodes/define-node.ts';
import { isTemplate } from '#shared/workflow/templates/parse-around.ts';

/**
 * Finds code and expressions of nodes that do not parse, forms whose answers cannot be checked, and results without a fixed name.
 * Each `yield` lets `runCooperatively` pause.
 */
export function* codeIssues({ nodes }: Graph): Generator<void, Issue[]> {
  const issues: Issue[] = [];
  for (const node of nodes) {
    const { index, definition, config } = node;
    for (const snippet of definition.snippets?.(config) ?? []) {
      const message = codeFault(snippet);
      if (message !== undefined) issues.push({ path: ['workflowNodes', index, 'data', ...snippet.path], message });
      yield;
    }
    for (const { path, message } of [...formIssues(definition, config), ...nameIssues(node)])
      issues.push({ path: ['workflowNodes', index, 'data', ...path], message });
  }
  return issues;
}

function formIssues({ forms = [] }: NodeDefinition, config: unknown): Issue[] {
  return forms.flatMap((field) => {
    const form = isJsonObject(config) ? config[field] : undefined;
    const read = isJsonObject(form) ? readFormSchema(form) : undefined;
    return read && 'message' in read ? [{ path: [field, ...read.path], message: read.message }] : [];
  });
}

/**
 * Rejects templates in the fields that name a result in `ctx`: a run that resumes after a wait reads the names from the
 * graph.
 */
function nameIssues({ definition, data, config }: GraphNode): Issue[] {
  const { spreads }: NodeDefinition = definition;
  const spread: unknown = spreads?.(config);
  return Object.entries(data).flatMap(([field, value]) =>
    isTemplate(value) && (field === 'outputVariable' || value === spread)
      ? [{ path: [field], message: 'cannot be a template: the name of a result is the same in all runs' }]
      : [],
  );
}
