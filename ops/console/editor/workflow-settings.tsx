import { Button, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { useMay } from '../client/may.ts';
import type { Schemas } from '../client/types.ts';
import { saveWorkflowRetention, type WorkflowIDs, workflowRetentionRead } from '../client/workflows.ts';
import type { Kinds } from '../graph/kinds.ts';
import { InputList } from '../inputs/list.tsx';
import { Section } from '../settings/form.tsx';
import { RunRetention } from '../settings/run-retention.tsx';
import { Problem } from '../ui/problem.tsx';
import { faultsWithin } from '../ui/schema-faults.ts';
import { type Config, type Draft, withOptions } from './draft.ts';
import { About } from './settings/about.tsx';
import { Beginning } from './settings/begin.tsx';
import { Completion } from './settings/completion.tsx';
import { Failures } from './settings/failures.tsx';
import { Saving } from './settings/saving.tsx';
import { Times } from './settings/times.tsx';

/** The code of the values that fields name is read after the form. */
const InputValues = lazy(() =>
  import('./settings/input-values.tsx').then(({ InputValues: one }) => ({ default: one })),
);

interface Props {
  ids: WorkflowIDs;
  workflow: Schemas['Workflow'];
  draft: Draft;
  kinds: Kinds;
  /** Faults of the options of the workflow, by dotted paths. */
  faults: ReadonlyMap<string, string>;
  /** The run whose results the editor shows. */
  testID: string | undefined;
  onChange: (change: (draft: Draft) => Draft, what?: string) => void;
  /** The workflow has another description, was disabled or enabled, or is offered as a tool or no longer. */
  onChanged: (change: Partial<Schemas['Workflow']>) => void;
  onClose: () => void;
}

/** Settings of a workflow. Those that its runs depend on are part of its draft; the last two count at once. */
export function WorkflowSettings(props: Props) {
  const { ids, workflow, draft, kinds, faults, onChange, onChanged, onClose } = props;
  const retention = useQuery(workflowRetentionRead(ids));
  const mayChange = useMay(`workflow:${ids.workflowID}`)('workflow.update');
  const set = (change: Config) => onChange((old) => withOptions(old, change), `options ${Object.keys(change)}`);
  const option = { options: draft.options, onSet: set, faults, disabled: !mayChange };
  return (
    <Modal opened onClose={onClose} closeOnClickOutside={false} title="Settings" size="lg">
      <Stack className="described">
        <Text size="sm">
          Saved with the steps, by “Save draft” or “Publish”. They count for runs that begin after the workflow is
          published.
        </Text>
        <InputList
          definitions={draft.options.inputDefinitions}
          faults={faultsWithin('inputDefinitions', faults)}
          disabled={!mayChange}
          onChange={(inputDefinitions) => set({ inputDefinitions })}
        />
        <Section title="Times">
          <Times {...option} />
        </Section>
        <Section title="When runs begin">
          <Suspense fallback={<Beginning {...option} />}>
            <InputValues definitions={draft.options.inputDefinitions} testID={props.testID}>
              <Beginning {...option} />
            </InputValues>
          </Suspense>
        </Section>
        <Section title="When something fails">
          <Failures {...option} kinds={kinds} />
        </Section>
        <Section title="When a run has ended">
          <Completion {...option} />
        </Section>
        <Section title="After a crash">
          <Saving {...option} />
        </Section>
        <Text size="sm">These are saved by themselves, and count at once:</Text>
        {retention.error && <Problem error={retention.error} onRetry={() => void retention.refetch()} />}
        {retention.isPending && <Skeleton h={200} />}
        {retention.data && (
          <RunRetention
            of="workflow"
            retention={retention.data}
            mayChange={mayChange}
            queryKey={workflowRetentionRead(ids).queryKey}
            send={(change) => saveWorkflowRetention(ids, change)}
          />
        )}
        <About
          ids={ids}
          workflow={workflow}
          mayChange={mayChange}
          onSaved={({ workflowDescription, isDisabled, isOfferedAsTool }) =>
            onChanged({ workflowDescription, isDisabled, isOfferedAsTool })
          }
        />
        <Group justify="flex-end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
