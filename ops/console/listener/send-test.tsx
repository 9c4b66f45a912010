import { Button, Group, Paper, Stack, Text, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { sendTestDelivery, type TestDelivered } from '../client/listener-deliveries.ts';
import type { ListenerIDs } from '../client/listeners.ts';
import { Copy } from '../ui/copy.tsx';
import { JSONView } from '../ui/json.tsx';
import { JSONEditor } from '../ui/json-editor.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { enteredDelivery } from './entered-delivery.ts';

/** Sends a delivery as the sender would, signed as the datasource says, and shows the command that does the same. */
export function SendTest({ ids, isActive }: { ids: ListenerIDs; isActive: boolean }) {
  const queries = useQueryClient();
  const [body, setBody] = useState('{\n  "id": 1\n}');
  const [headers, setHeaders] = useState('');
  const send = useMutation({
    mutationFn: async () => sendTestDelivery(ids, { ...enteredDelivery(body, headers), previews: false }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['listener-events', ids] }),
  });
  const command = useMutation({
    mutationFn: async () => sendTestDelivery(ids, { ...enteredDelivery(body, headers), previews: true }),
  });
  // The command of another body is not shown as that of this one.
  const change = (set: (text: string) => void) => (text: string) => {
    set(text);
    command.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send.mutate();
  };
  return (
    <Paper withBorder p="md" component="section" aria-label="Test delivery">
      <Text component="h2" fw={600} size="sm" mb="xs">
        Send a test delivery
      </Text>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm">
            It is signed with the secret of the datasource, and is an event as any other: all actions are done.
          </Text>
          <JSONEditor label="Body" minRows={4} maxRows={14} formats value={body} onChange={change(setBody)} />
          <Textarea
            label="Headers"
            description="One in each line, such as X-GitHub-Event: push. Those that prove the sender are added"
            autosize
            minRows={1}
            maxRows={8}
            value={headers}
            onChange={({ currentTarget: { value } }) => change(setHeaders)(value)}
          />
          <Group gap="xs">
            <Button type="submit" disabled={!isActive} loading={send.isPending}>
              Send
            </Button>
            <Button variant="default" loading={command.isPending} onClick={() => command.mutate()}>
              Show the curl command
            </Button>
            {!isActive && <Text size="sm">Activate the listener first.</Text>}
          </Group>
        </Stack>
      </form>
      <Stack gap="sm" mt="sm">
        {send.error && <Problem error={send.error} />}
        {send.data && <Answer of={send.data} ids={ids} />}
        {command.error && <Problem error={command.error} />}
        {command.data && (
          <div>
            <Group gap="xs" justify="space-between">
              <Text size="sm">The same from a shell. Put in the secret of the datasource first.</Text>
              <Copy value={command.data.curl} of="the command" />
            </Group>
            <JSONView value={command.data.curl} label="Command" />
          </div>
        )}
      </Stack>
    </Paper>
  );
}

function Answer({ of: { isAccepted, status, answer, eventID }, ids }: { of: TestDelivered; ids: ListenerIDs }) {
  return (
    <div>
      <Notice tone={isAccepted ? 'ok' : 'bad'} role="status">
        {isAccepted ? `Accepted: the sender would get ${status}.` : `Answered with ${status}.`}
      </Notice>
      <JSONView value={answer} label="Answer to the sender" />
      {eventID && (
        <Link className="link" to="/t/$tenantID/listeners/$listenerID" params={ids} search={{ event: eventID }}>
          The event
        </Link>
      )}
    </div>
  );
}
