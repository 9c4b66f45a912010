import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Problem } from './problem.tsx';

/** Saves what is not saved, if the page can do so by itself. */
export type Save = (() => Promise<unknown>) | undefined;

export interface LeaveProps {
  save: Save;
  onAnswer: (mayLeave: boolean) => void;
}

/** Asks before unsaved changes are left. If they cannot be saved, one stays, and the page says at its fields why. */
export function LeaveDialog({ save, onAnswer }: LeaveProps) {
  const saving = useMutation({ mutationFn: async () => save?.(), onSuccess: () => onAnswer(true) });
  const stay = () => onAnswer(false);
  return (
    <Modal opened onClose={stay} title="Your changes are not saved" size="lg">
      <Stack>
        {saving.error ? (
          <Problem error={saving.error} />
        ) : (
          <Text size="sm">Save them, or leave the page as it was saved last.</Text>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={stay} data-autofocus>
            Stay
          </Button>
          <Button variant={save ? 'default' : 'filled'} color={save ? undefined : 'red'} onClick={() => onAnswer(true)}>
            Leave without saving
          </Button>
          {save && (
            <Button loading={saving.isPending} onClick={() => saving.mutate()}>
              Save and leave
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}
