import { codeFault } from '#shared/code-fault.ts';
import { isJsonObject } from '#shared/json.ts';
import type { NodeDefinition } from '#shared/nodes/define-node.ts';
import { readFormSchema } from '#shared/workflow/form-schema.ts';
import type { Graph } from '#shared/workflow/graph.ts';
import type { Issue } from '#shared/workflow/issues.ts';

/**
 * Finds the code and the expressions of nodes that do not parse, and forms whose answers cannot be checked. Yields where it may pause.
 */
export function* codeIssues({ nodes }: Graph): Generator<void, Issue[]> {
  const issues: Issue[] = [];
  for (const { index, definition, config } of nodes) {
    for (const snippet of definition.snippets?.(config) ?? []) {
      const message = codeFault(snippet);
      if (message !== undefined) issues.push({ path: ['workflowNodes', index, 'data', ...snippet.path], message });
      yield;
    }
    for (const { path, message } of formIssues(definition, config))
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
