import { Modal, Text } from '@mantine/core';
import type { Schemas } from '../client/types.ts';
import type { WorkflowIDs } from '../client/workflows.ts';
import { StartForm } from '../run/start-run.tsx';

interface Props {
  ids: WorkflowIDs;
  base: Schemas['Workflow'];
  onClose: () => void;
}

/** Starts a run of the published version. */
export function RunPublished({ ids, base, onClose }: Props) {
  return (
    <Modal opened onClose={onClose} title="Run">
      {base.versionID !== base.publishedVersionID && (
        <Text size="sm" mb="sm">
          The published version is run, not the draft.
        </Text>
      )}
      <StartForm tenantID={ids.tenantID} workflow={base} />
    </Modal>
  );
}
