import { Text } from '@mantine/core';
import { boardOfRuns } from './board-of-runs.ts';
import type { CreatePage } from './create.ts';
import { WhoSees } from './who-sees.tsx';
import { WorkflowForm } from './workflow-form.tsx';

/** Chooses the workflow whose runs a board shows. */
export function RunsStep({ tenantID, create }: { tenantID: string; create: CreatePage }) {
  return (
    <WorkflowForm
      {...{ tenantID, create }}
      titleFor={(workflow) => `Runs of ${workflow.title}`}
      made={(workflow, title) => (newID) =>
        boardOfRuns({ workflow: { id: workflow.id, title: workflow.title }, title, newID })
      }
    >
      {() => (
        <>
          <Text size="sm">
            People see the state of each run, who started it, when, and how long it took; no inputs and no results. To
            open a run, to cancel it and to run it again, they need their own right to the workflow.
          </Text>
          <WhoSees what="reads the runs" />
        </>
      )}
    </WorkflowForm>
  );
}
