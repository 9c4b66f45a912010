import type { Caller } from '#shared/core/caller.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { governRun } from '#shared/workflow/limits.ts';
import { runTimeoutMs, type WorkflowOptions } from '#shared/workflow/options.ts';
import type { TestMode } from '#shared/workflow/test-mode.ts';

interface Tested {
  tenantID: string;
  /** Null for a graph that belongs to no workflow. */
  workflowID: string | null;
  versionID: string;
  /** Options of the version. */
  options: WorkflowOptions;
  caller: Caller;
  args: JsonObject;
  mode: TestMode;
}

/**
 * A test run of a version, to be accepted. It has the limits of other runs of the workflow; its failure starts no
 * handler, and its end is sent to no webhook. Throws the faults of its inputs, by their path in `args`.
 */
export function newTestRun({ options, args, mode, ...tested }: Tested): NewRun {
  const { workflowID, versionID } = tested;
  const caller: Caller = { ...tested.caller, origin: 'test' };
  const input = resolveInputs(options.inputDefinitions, args, { field: 'args' });
  const governed = governRun(options, { workflowID: workflowID ?? versionID, caller, input });
  return { ...tested, caller, input, ...governed, timeoutMs: runTimeoutMs(options), isTest: true, testMode: mode };
}
