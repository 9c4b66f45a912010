import type { Schemas } from './types.ts';

/** Assets and tables that came with a template. */
export interface Installed {
  /** The title of the template. */
  template: string;
  assets: { type: Schemas['BundledType']; title: string; id: string }[];
  /** Those of the tenant's database. */
  tables: string[];
}

const byWorkflow = new Map<string, Installed>();

/** Keeps what came with a workflow until the page of the workflow has told it. */
export function noteInstalled(workflowID: string, installed: Installed): void {
  byWorkflow.set(workflowID, installed);
}

export function installedWith(workflowID: string): Installed | undefined {
  return byWorkflow.get(workflowID);
}

export function forgetInstalled(workflowID: string): void {
  byWorkflow.delete(workflowID);
}
