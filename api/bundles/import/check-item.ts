import type { z } from 'zod';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import { compileGraph } from '#shared/workflow/graph/graph.ts';
import { validation } from '../../http/request/validate.ts';
import type { WorkflowCreate } from '../../resources/workflows/schemas.ts';
import type { PlannedItem } from './plan-import.ts';
import { without } from './save-item.ts';
import { savers } from './savers.ts';

/** Faults in the contents of an item that the import would refuse. Other checks are made when the item is saved. */
export async function faultsOf({ type, action, asset, resolved }: PlannedItem): Promise<string[]> {
  if (action === 'skip' || action === 'unchanged') return [];
  const { create, update, notOnCreate = [], notOnUpdate = [] } = savers[type];
  const [schema, fields] = asset ? [update.body, notOnUpdate] : [create.body, notOnCreate];
  const check = { part: 'body' as const, schema, value: without(resolved, fields) };
  try {
    const [body] = await runCooperatively(validation([check], { isStrict: false, unknown: { fields: [], count: 0 } }));
    // Safe for updates too: both bodies have the same graph.
    if (type === 'workflow') await checkGraph(body as Partial<z.output<typeof WorkflowCreate>>);
    return [];
  } catch (error) {
    if (error instanceof AppError && error.code === 'VALIDATION_ERROR') return [error.message];
    throw error;
  }
}

async function checkGraph({ draft, nodes = [], edges = [] }: Partial<z.output<typeof WorkflowCreate>>): Promise<void> {
  if (!draft && nodes.length + edges.length > 0) await runCooperatively(compileGraph(nodes, edges));
}
