import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { lazy } from 'react';
import type { Schemas } from '../client/types.ts';
import type { WorkflowIDs } from '../client/workflows.ts';
import type { OpenExit } from '../graph/open-exits.ts';
import { NewPageDialog } from '../ui/new-page-dialog.tsx';
import type { HeadDialog } from './head.tsx';
import { OpenExits, PublishOpen } from './open-exits.tsx';
import { PauseDialog } from './pause.tsx';

const RunPublished = lazy(() => import('./run-published.tsx').then(({ RunPublished: one }) => ({ default: one })));
const ReplayDialog = lazy(() =>
  import('../replay/replay-dialog.tsx').then(({ ReplayDialog: one }) => ({ default: one })),
);

interface Props {
  ids: WorkflowIDs;
  base: Schemas['Workflow'];
  dialog: HeadDialog;
  /** Those that start the workflow. */
  listeners: Schemas['WorkflowUsage']['listeners'];
  isDirty: boolean;
  savedVersion: () => Promise<number>;
  nameOf: (nodeID: string) => string;
  /** Publishes the graph as it is in the editor. */
  onPublish: () => Promise<unknown>;
  /** Exits with which runs of the graph would fail. */
  open: readonly OpenExit[];
  onShow: (nodeID: string) => void;
  onChanged: (change: Partial<Schemas['Workflow']>) => void;
  onClose: () => void;
}

/** Dialogs of the head that need nothing of the graph. */
export function HeadDialogs({ dialog, ...props }: Props) {
  const { ids, base, onChanged, onClose } = props;
  if (dialog === 'run') return base.publishedVersionID ? <RunPublished {...props} /> : <PublishFirst {...props} />;
  if (dialog === 'open exits') return <PublishOpen {...props} />;
  if (dialog === 'replay') return <ReplayDialog {...props} />;
  if (dialog === 'pause') return <PauseDialog ids={ids} title={base.title} onChanged={onChanged} onClose={onClose} />;
  if (dialog === 'page')
    return <NewPageDialog tenantID={ids.tenantID} begin={{ kind: 'workflow', id: ids.workflowID }} onClose={onClose} />;
  return null;
}

/** A refusal is shown at the steps, behind the dialog. */
function PublishFirst({
  onPublish,
  onClose,
  ...exits
}: Pick<Props, 'onPublish' | 'onClose' | 'open' | 'nameOf' | 'onShow'>) {
  const publish = useMutation({ mutationFn: onPublish, onError: onClose });
  return (
    <Modal opened onClose={onClose} title="Run">
      <Stack>
        <Text size="sm">
          A run takes the published version, and nothing is published yet. “Test” tries the draft without publishing it.
        </Text>
        {exits.open.length > 0 && <OpenExits {...exits} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={publish.isPending} onClick={() => publish.mutate()}>
            Publish and go on
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
