import { Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { parseExact } from '#shared/core/lossless-json.ts';
import type { Schemas } from '../client/types.ts';
import { testWorkflow, type WorkflowIDs } from '../client/workflows.ts';
import { type RunInput, RunInputs } from '../run/run-inputs.tsx';
import { StartForm } from '../run/start-run.tsx';
import { faultsIn } from '../ui/faults.ts';
import { JSONEditor } from '../ui/json-editor.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { bodyOf, type Draft, optionsOf } from './draft.ts';

type Test = Schemas['WorkflowTest'];

interface Props {
  ids: WorkflowIDs;
  base: Schemas['Workflow'];
  onClose: () => void;
}

/** Runs the graph as it is in the editor, saved or not. */
export function TestRun({
  ids,
  draft,
  onStarted,
  onClose,
}: Omit<Props, 'base'> & { draft: Draft; onStarted: (instanceID: string) => void }) {
  const [input, setInput] = useState<RunInput>();
  const [pinned, setPinned] = useState('{}');
  const [dryRun, setDryRun] = useState(false);
  const test = useMutation({
    mutationFn: () =>
      testWorkflow(ids.tenantID, {
        ...bodyOf(draft),
        workflowOptions: optionsOf(draft) as NonNullable<Test['workflowOptions']>,
        args: (input ?? {}) as Test['args'],
        pinned: parseExact(pinned) as Test['pinned'],
        dryRun,
      }),
    onSuccess: onStarted,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    test.mutate();
  };
  return (
    <Modal opened onClose={onClose} title="Test" size="lg">
      <form onSubmit={submit}>
        <Stack>
          <RunInputs
            definitions={draft.options.inputDefinitions}
            value={input}
            onChange={setInput}
            faults={faultsIn('args', test.error)}
          />
          <JSONEditor
            label="Outputs that are given"
            description={
              'By the id of a step, which is then not executed, such as {"fetch": {"output": {"status": 200}}}'
            }
            minRows={2}
            maxRows={10}
            value={pinned}
            onChange={setPinned}
          />
          <Checkbox
            label="Without writes"
            description="Steps that would change something elsewhere say so and do not"
            checked={dryRun}
            onChange={(event) => setDryRun(event.currentTarget.checked)}
          />
          {test.error && <Problem error={test.error} />}
          {test.data && (
            <Notice tone="ok" role="status">
              The test runs.{' '}
              <Link
                className="link"
                to="/t/$tenantID/runs/$instanceID"
                params={{ tenantID: ids.tenantID, instanceID: test.data }}
                target="_blank"
                rel="opener"
              >
                Watch it in another tab
              </Link>
            </Notice>
          )}
          <Group justify="flex-end">
            <Button type="submit" loading={test.isPending}>
              Start the test
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

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
