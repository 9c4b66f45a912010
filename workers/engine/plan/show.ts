import type { PlannedNode } from '#shared/messaging/queues/workflow-plans.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import { resolveTemplates } from '#shared/workflow/resolve-config.ts';
import { hasBraces } from '#shared/workflow/templates/expressions.ts';
import { textsOf } from '#shared/workflow/templates/templates.ts';
import { type Dependencies, union } from './certainty.ts';
import { unreadRoots } from './unread-roots.ts';
import type { PlannedScope } from './values.ts';

/** Characters of a value that is shown, and of all values of a plan. */
const MAX_VALUE = 2_000;
const MAX_ALL = 500_000;

/** Shows the fields of a node that have templates, each with its value or with what the value depends on. */
export function createShow(): (node: GraphNode, scope: PlannedScope) => NonNullable<PlannedNode['values']> {
  let left = MAX_ALL;

  return (node, scope) => {
    if (!node.hasTemplates && node.variables === null && !node.definition.filled) return [];
    const { raw = [], filled = [] }: { raw?: readonly string[]; filled?: readonly string[] } = node.definition;
    const literal = raw.filter((field) => !filled.includes(field));
    return textsOf(node.data, literal, hasBraces).flatMap(
      ({ path, text, template }): NonNullable<PlannedNode['values']> => {
        if (!template) return [];
        const found: Dependencies[] = [];
        const note = (on: Dependencies) => void found.push(on);
        const value = resolveTemplates(text, scope.at(node, note), { more: unreadRoots(note) });
        const field = { path: path.join('.') };
        if (found.length > 0) return [{ ...field, dependsOn: [...union(found).values()] }];
        const { length } = JSON.stringify(value);
        if (length > Math.min(MAX_VALUE, left)) return [{ ...field, isOmitted: true }];
        left -= length;
        return [{ ...field, value }];
      },
    );
  };
}
