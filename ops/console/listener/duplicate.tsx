import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ListenerIDs, listenerRead, replayEvent } from '../client/listeners.ts';
import { May } from '../ui/may.tsx';
import { Problem } from '../ui/problem.tsx';
import { sameWords } from './same-words.ts';

interface Props {
  ids: ListenerIDs & { eventID: string };
  headers: readonly (readonly string[])[];
  duplicateOf: string;
  onShow: (eventID: string) => void;
}

/** Why an event was not processed: what it has in common with the one that was. It can be processed all the same. */
export function Duplicate({ ids, headers, duplicateOf, onShow }: Props) {
  const queries = useQueryClient();
  const { data: listener } = useQuery(listenerRead(ids));
  const replay = useMutation({
    mutationFn: () => replayEvent(ids),
    onSuccess: onShow,
    onSettled: () => queries.invalidateQueries({ queryKey: ['listener-events'] }),
  });
  const same = listener && sameWords(listener.listenerConfig, headers);
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Text size="sm">
          Another delivery{same && ` with ${same.what}`} was accepted, so this one is not processed:
        </Text>
        <Button size="compact-sm" variant="default" onClick={() => onShow(duplicateOf)}>
          Event {duplicateOf.slice(-8)}
        </Button>
      </Group>
      {same?.note && (
        <Text size="sm" c="dimmed">
          {same.note}
        </Text>
      )}
      {replay.error && <Problem error={replay.error} />}
      <May permission="listener.execute" on={`listener:${ids.listenerID}`}>
        <div>
          <Button size="xs" variant="default" loading={replay.isPending} onClick={() => replay.mutate()}>
            Process it anyway
          </Button>
        </div>
      </May>
    </Stack>
  );
}
