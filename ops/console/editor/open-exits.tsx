import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { OpenExit } from '../graph/open-exits.ts';

interface Props {
  open: readonly OpenExit[];
  nameOf: (nodeID: string) => string;
  onShow: (nodeID: string) => void;
}

/** More would fill the dialog. */
const MAX_NAMED = 8;

/** The exits of a graph with which its runs would fail. */
export function OpenExits({ open, nameOf, onShow }: Props) {
  return (
    <Stack gap={6}>
      {open.slice(0, MAX_NAMED).map(({ nodeID, exit, when }) => (
        <Text key={`${nodeID} ${exit}`} size="sm">
          If “<bdi>{nameOf(nodeID)}</bdi>” {when}, nothing follows and the run fails.{' '}
          <Button size="compact-xs" variant="default" onClick={() => onShow(nodeID)}>
            Show the step
          </Button>
        </Text>
      ))}
      {open.length > MAX_NAMED && <Text size="sm">And {open.length - MAX_NAMED} others.</Text>}
    </Stack>
  );
}

interface DialogProps extends Props {
  onPublish: () => Promise<unknown>;
  onClose: () => void;
}

/** Asks before a version is published some of whose exits lead nowhere. A refusal is shown at the steps, behind the dialog. */
export function PublishOpen({ onPublish, onClose, ...exits }: DialogProps) {
  const publish = useMutation({ mutationFn: onPublish, onSettled: onClose });
  return (
    <Modal opened onClose={onClose} title="Some ways lead nowhere">
      <Stack>
        <OpenExits {...exits} />
        <Text size="sm" c="dimmed">
          Connect the exit to a step, for example to an end, to say what happens then.
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button loading={publish.isPending} onClick={() => publish.mutate()}>
            Publish all the same
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
