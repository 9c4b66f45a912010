import { Button, Group, JsonInput, Modal, Radio, Select, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { body, rest } from '../client/rest.ts';
import type { Run, Schemas } from '../client/types.ts';
import { Problem } from '../ui/problem.tsx';
import { nodesOf } from './steps.ts';

type Start = 'start' | 'failed' | 'node';

/** Repeats a run: from where, with which version and which input. */
export function Rerun({ tenantID, run, onClose }: { tenantID: string; run: Run; onClose: () => void }) {
  const [start, setStart] = useState<Start>(run.status === 'FAILED' ? 'failed' : 'start');
  const [nodeID, setNodeID] = useState<string | null>(null);
  const [version, setVersion] = useState('original');
  const given = JSON.stringify(run.input, null, 2);
  const [input, setInput] = useState(given);
  const navigate = useNavigate();
  const rerun = useMutation({
    mutationFn: () => {
      const from = start === 'node' ? { nodeID: nodeID ?? '' } : start;
      const args = input === given ? undefined : (JSON.parse(input) as Schemas['WorkflowRerun']['args']);
      const path = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/rerun';
      const params = { path: { tenantID, instanceID: run.instanceID } };
      return body(rest.POST(path, { params, body: { from, version, ...(args && { args }) } }));
    },
    onSuccess: async ({ instanceID }) => {
      onClose();
      await navigate({ to: '/t/$tenantID/runs/$instanceID', params: { tenantID, instanceID }, search: {} });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rerun.mutate();
  };
  const done = nodesOf(run.timeline)
    .filter(({ shown }) => shown.frame.length === 0)
    .map((node) => node.nodeID);
  return (
    <Modal opened onClose={onClose} title="Re-run" size="lg">
      <form onSubmit={submit}>
        <Stack>
          <Radio.Group label="From" value={start} onChange={(value) => setStart(value as Start)}>
            <Stack gap="xs" mt={4}>
              <Radio value="start" label="The start: every step is executed again" />
              <Radio value="failed" label="Where it failed or was interrupted: results before that are taken over" />
              <Radio value="node" label="A step: it is executed with all behind it, results before it are taken over" />
            </Stack>
          </Radio.Group>
          {start === 'node' && (
            <Select label="Step" searchable required data={done} value={nodeID} onChange={setNodeID} />
          )}
          <Radio.Group label="Version" value={version} onChange={setVersion}>
            <Group mt={4}>
              <Radio value="original" label={`That of the run (${run.versionNumber ?? 'not saved'})`} />
              <Radio value="published" label="The published one" />
            </Group>
          </Radio.Group>
          <JsonInput
            label="Input"
            autosize
            minRows={3}
            maxRows={12}
            value={input}
            onChange={setInput}
            validationError="This is not JSON"
          />
          <Text size="sm" c="dimmed">
            Steps that differ in the chosen version or with another input are executed again, with all behind them.
          </Text>
          {rerun.error && <Problem error={rerun.error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={rerun.isPending} disabled={start === 'node' && nodeID === null}>
              Re-run
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
