import { Autocomplete, Checkbox, Group, Modal, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMay } from '../client/may.ts';
import type { Issue, RunStatus, Schemas } from '../client/types.ts';
import { secretNamesRead } from '../client/variables.ts';
import { saveWorkflow, saveWorkflowRetention, type WorkflowIDs, workflowRetentionRead } from '../client/workflows.ts';
import { useSettings } from '../settings/draft.ts';
import { SettingsForm } from '../settings/form.tsx';
import { RunRetention } from '../settings/run-retention.tsx';
import { faultsIn } from '../ui/faults.ts';
import { isObject } from '../ui/is-object.ts';
import { Problem } from '../ui/problem.tsx';
import { wordOf } from '../ui/status.tsx';

interface Props {
  ids: WorkflowIDs;
  base: Schemas['Workflow'];
  /** Refusals of the API about the options when the workflow is published. */
  issues: readonly Issue[];
  onSaved: (workflow: Schemas['Workflow']) => void;
  onClose: () => void;
}

/** Settings for all runs of a workflow: who is told of their end, and how long they are kept. */
export function WorkflowSettings({ ids, base, issues, onSaved, onClose }: Props) {
  const retention = useQuery(workflowRetentionRead(ids));
  const mayChange = useMay(`workflow:${ids.workflowID}`)('workflow.update');
  return (
    <Modal opened onClose={onClose} closeOnClickOutside={false} title="Settings" size="lg">
      <Stack>
        <CompletionWebhook ids={ids} base={base} issues={issues} mayChange={mayChange} onSaved={onSaved} />
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
      </Stack>
    </Modal>
  );
}

const ENDS = ['COMPLETED', 'FAILED', 'CANCELLED'] as const satisfies readonly RunStatus[];

function CompletionWebhook({ ids, base, issues, mayChange, onSaved }: Omit<Props, 'onClose'> & { mayChange: boolean }) {
  const may = useMay();
  const secrets = useQuery({ ...secretNamesRead(ids.tenantID), enabled: may('variable.list') });
  const { draft, set, ...form } = useSettings({
    saved: webhookOf(base),
    async send(webhook) {
      const { completionWebhook: _, ...others } = base.workflowOptions;
      const workflowOptions = { ...others, ...optionOf(webhook) } as Schemas['WorkflowUpdate']['workflowOptions'];
      const saved = await saveWorkflow(ids, { workflowOptions, draft: true }, base.versionNumber);
      onSaved(saved);
      return webhookOf(saved);
    },
    queryKey: ['workflows', ids.tenantID],
  });
  const { isOn, url, secret, on, includeOutput } = draft;
  const asked = faultsIn('workflowOptions', form.save.error);
  // Those of publishing hold until something is changed.
  const refused = form.isDirty ? [] : issues;
  const faults = new Map([
    ...refused.map(({ path, message }) => [path.slice(1).join('.'), message] as const),
    ...asked,
  ]);
  const faultOf = (field: string) =>
    [...faults].find(([path]) => `${path}.`.startsWith(`completionWebhook.${field}.`))?.[1];
  return (
    <SettingsForm title="When a run has ended" mayChange={mayChange} {...form} faults={faults}>
      <Text size="sm">Saved as a draft. It counts for runs that begin after the workflow is published.</Text>
      <Checkbox
        label="Tell a receiver"
        disabled={!mayChange}
        checked={isOn}
        onChange={(event) => set({ isOn: event.currentTarget.checked })}
      />
      {isOn && (
        <>
          <TextInput
            label="Address"
            description="It receives a signed POST, and again until it answers with 2xx"
            placeholder="https://"
            readOnly={!mayChange}
            value={url}
            error={faultOf('url')}
            onChange={(event) => set({ url: event.currentTarget.value })}
          />
          <Autocomplete
            label="Secret"
            description="The name of a secret variable: whsec_ and 24 to 64 bytes in base64"
            readOnly={!mayChange}
            data={secrets.data ?? []}
            value={secret}
            error={faultOf('secret')}
            onChange={(name) => set({ secret: name })}
          />
          <Checkbox.Group
            label="Ends that are told"
            readOnly={!mayChange}
            value={on}
            error={faultOf('on')}
            onChange={(ends) => set({ on: ENDS.filter((end) => ends.includes(end)) })}
          >
            <Group mt={4}>
              {ENDS.map((end) => (
                <Checkbox key={end} value={end} label={wordOf(end)} />
              ))}
            </Group>
          </Checkbox.Group>
          <Checkbox
            label="With the output of the run"
            description="Up to 64 kB"
            disabled={!mayChange}
            checked={includeOutput}
            onChange={(event) => set({ includeOutput: event.currentTarget.checked })}
          />
        </>
      )}
    </SettingsForm>
  );
}

interface Webhook {
  isOn: boolean;
  url: string;
  secret: string;
  on: (typeof ENDS)[number][];
  includeOutput: boolean;
}

function webhookOf({ workflowOptions }: Schemas['Workflow']): Webhook {
  const { completionWebhook } = workflowOptions;
  const { url, secret, on, includeOutput } = isObject(completionWebhook) ? completionWebhook : {};
  return {
    isOn: isObject(completionWebhook),
    url: typeof url === 'string' ? url : '',
    secret: typeof secret === 'string' ? secret : '',
    on: Array.isArray(on) ? ENDS.filter((end) => on.includes(end)) : [...ENDS],
    includeOutput: includeOutput !== false,
  };
}

function optionOf({ isOn, ...completionWebhook }: Webhook) {
  return isOn ? { completionWebhook } : {};
}
