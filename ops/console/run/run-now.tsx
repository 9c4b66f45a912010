import { Button, Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
import type { Schemas } from '../client/types.ts';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';

const StartForm = lazy(() => import('./start-run.tsx').then(({ StartForm: one }) => ({ default: one })));

type Workflow = Pick<
  Schemas['ListedWorkflow'],
  'id' | 'title' | 'workflowDescription' | 'publishedVersionID' | 'isDisabled'
>;

/** Starts a workflow from where it is listed, after its inputs are given. */
export function RunNow({ tenantID, workflow }: { tenantID: string; workflow: Workflow }) {
  const [isOpen, opening] = useDisclosure(false);
  const { id, title, publishedVersionID, isDisabled } = workflow;
  if (!publishedVersionID || isDisabled) return null;
  return (
    <May permission="workflow.execute" on={`workflow:${id}`}>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={`Run ${title}`}
        leftSection={<Icon name="play" />}
        onClick={opening.open}
      >
        Run
      </Button>
      {isOpen && (
        <Modal opened onClose={opening.close} title={<bdi>{title}</bdi>}>
          <Suspense>
            <StartForm tenantID={tenantID} workflow={workflow} />
          </Suspense>
        </Modal>
      )}
    </May>
  );
}
