import { useQueryClient } from '@tanstack/react-query';
import { type NodeSteps, nodesOf } from '../client/run-steps.ts';
import { stepInputRead } from '../client/step-reads.ts';
import type { Run, Schemas } from '../client/types.ts';
import { useAsOpenPage } from '../open-page/open-page.ts';
import { failedStepOf } from './failed-step.ts';

/** Tells the assistant of the run that is open: how it ended, and what the failed step was given. */
export function useOpenRun(tenantID: string, run: Run, version: Schemas['WorkflowVersion'] | undefined): void {
  const queries = useQueryClient();
  const { instanceID, status, error, workflowID, workflowTitle, input } = run;
  useAsOpenPage({
    ...{ kind: 'run', id: instanceID, title: workflowTitle ?? instanceID.slice(-8), isFailed: status === 'FAILED' },
    read: async () => {
      const nodes = nodesOf(run.timeline, run.status);
      const key = failedStepOf(run);
      const step = nodes.flatMap(({ steps }) => steps).find((one) => one.key === key);
      const given =
        step &&
        (await queries
          .fetchQuery(
            stepInputRead(
              { tenantID, instanceID, nodeID: step.nodeID },
              { frame: step.frame, attempt: step.last.attempt ?? 1 },
            ),
          )
          .catch(() => undefined));
      const settings = version?.workflowNodes.find(({ id }) => id === step?.nodeID);
      return {
        ...{ status, workflowID, error },
        ...(step && {
          failedStep: { id: step.nodeID, settings, error: step.last.error, attempts: step.last.attempt },
          inputOfFailedStep: cut(given),
          outputOfFailedStep: cut(step.last.output),
        }),
        steps: nodes.slice(0, MAX_STEPS).map(summaryOf),
        inputOfRun: cut(input),
      };
    },
  });
}

const MAX_STEPS = 100;
/** Characters of JSON of one value. */
const MAX_VALUE = 6_000;

function summaryOf({ nodeID, shown, failed, steps }: NodeSteps): object {
  return { id: nodeID, status: shown.status, ...(steps.length > 1 && { times: steps.length, failed }) };
}

/** The beginning of a value that is large. */
function cut(value: unknown): unknown {
  const text = JSON.stringify(value) ?? '';
  return text.length > MAX_VALUE ? { beginning: text.slice(0, MAX_VALUE), characters: text.length } : value;
}
