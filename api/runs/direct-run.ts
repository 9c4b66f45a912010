import type { Caller } from '#shared/core/caller.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { governRun } from '#shared/workflow/limits.ts';
import type { ExecutableVersion } from './executable-versions.ts';

interface Requested {
  tenantID: string;
  workflowID: string;
  versionID: string;
  caller: Caller;
  args: JsonObject;
  /** The name of the field in which the client sent the inputs. */
  field?: string;
  /** Class and priority that the request asks for, in place of those of the version. */
  asked?: Parameters<typeof governRun>[1]['asked'];
}

/** A run of the version that a request starts. Throws the faults of its inputs, by their path in `field`. */
export function directRun(version: ExecutableVersion, { args, field = 'args', asked, ...run }: Requested) {
  const { workflowID, caller } = run;
  const input = resolveInputs(version.inputDefinitions, args, { field });
  const governed = governRun(version.governance, { workflowID, caller, input, ...(asked && { asked }) });
  return { ...run, id: newID(), input, ...governed, timeoutMs: version.timeoutMs } satisfies NewRun;
}
