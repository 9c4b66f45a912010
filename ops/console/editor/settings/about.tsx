import { Checkbox, Textarea } from '@mantine/core';
import type { Schemas } from '../../client/types.ts';
import { changeWorkflow, type WorkflowIDs } from '../../client/workflows.ts';
import { useSettings } from '../../settings/draft.ts';
import { SettingsForm } from '../../settings/form.tsx';

interface Props {
  ids: WorkflowIDs;
  workflow: Schemas['Workflow'];
  mayChange: boolean;
  onSaved: (change: Pick<Schemas['Workflow'], 'workflowDescription' | 'isDisabled'>) => void;
}

/** The description of a workflow, and whether it can be started: they are of all its versions. */
export function About({ ids, workflow: { workflowDescription, isDisabled }, mayChange, onSaved }: Props) {
  const { draft, set, ...form } = useSettings({
    saved: { description: workflowDescription ?? '', isDisabled },
    queryKey: ['workflows', ids.tenantID],
    async send(next) {
      const saved = await changeWorkflow(ids, {
        workflowDescription: next.description || null,
        isDisabled: next.isDisabled,
      });
      onSaved(saved);
      return { description: saved.workflowDescription ?? '', isDisabled: saved.isDisabled };
    },
  });
  return (
    <SettingsForm title="About" mayChange={mayChange} {...form}>
      <Textarea
        label="Description"
        description="Shown in the list of workflows, and to people who start it"
        autosize
        minRows={2}
        maxRows={8}
        readOnly={!mayChange}
        value={draft.description}
        error={form.faults.get('workflowDescription')}
        onChange={({ currentTarget }) => set({ description: currentTarget.value })}
      />
      <Checkbox
        label="Disabled"
        description="No run of it is started: by hand, by triggers or by other workflows"
        disabled={!mayChange}
        checked={draft.isDisabled}
        onChange={({ currentTarget }) => set({ isDisabled: currentTarget.checked })}
      />
    </SettingsForm>
  );
}
