import { queryOptions } from '@tanstack/react-query';
import type { Named } from './references.ts';
import { body, rest } from './rest.ts';

/** Workflows that are looked through; beyond that many, the rest is left to the person. */
const MAX_READ = 50;

/** The workflows that these start as steps, and which those start in turn. */
export function calledWorkflowsRead(tenantID: string, workflowIDs: readonly string[]) {
  return queryOptions({
    queryKey: ['called-workflows', tenantID, workflowIDs],
    queryFn: async () => {
      const called = new Map<string, Named>();
      const unread = [...workflowIDs];
      for (let read = 0; read < MAX_READ; read += 1) {
        const workflowID = unread.shift();
        if (workflowID === undefined) break;
        const params = { path: { tenantID, workflowID } };
        const { workflow } = await body(rest.GET('/api/v1/tenants/{tenantID}/workflows/{workflowID}', { params }));
        if (!workflowIDs.includes(workflow.id)) called.set(workflow.id, { id: workflow.id, title: workflow.title });
        const children = workflow.workflowNodes.flatMap(({ data }) => childOf(data));
        unread.push(...children.filter((id) => !called.has(id) && !workflowIDs.includes(id) && !unread.includes(id)));
      }
      return [...called.values()];
    },
    staleTime: 0,
  });
}

/** The workflow that a step starts, unless an expression makes its id. */
function childOf(data: unknown): string[] {
  const isObject = typeof data === 'object' && data !== null;
  const id = isObject && 'childWorkflowID' in data ? data.childWorkflowID : undefined;
  return typeof id === 'string' && /^[\da-f-]{36}$/i.test(id) ? [id.toLowerCase()] : [];
}
