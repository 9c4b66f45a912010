import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Problem } from './problem.tsx';

/** Asks before something that cannot be undone. */
export function Confirm({
  title,
  question,
  verb,
  keep = 'Keep it',
  onConfirm,
  onClose,
}: {
  title: string;
  question: string;
  verb: string;
  /** On the button that does nothing. */
  keep?: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}) {
  const act = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title={title}>
      <Stack>
        <Text>
          <bdi>{question}</bdi>
        </Text>
        {act.error && <Problem error={act.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {keep}
          </Button>
          <Button color="red" loading={act.isPending} onClick={() => act.mutate()}>
            {verb}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
