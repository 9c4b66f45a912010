import { Checkbox, Textarea } from '@mantine/core';
import type { Schemas } from '../../client/types.ts';
import { changeWorkflow, type WorkflowIDs } from '../../client/workflows.ts';
import { useSettings } from '../../settings/draft.ts';
import { SettingsForm } from '../../settings/form.tsx';

interface Props {
  ids: WorkflowIDs;
  workflow: Schemas['Workflow'];
  mayChange: boolean;
  onSaved: (change: Pick<Schemas['Workflow'], 'workflowDescription' | 'isDisabled' | 'isOfferedAsTool'>) => void;
}

/** The description of a workflow, whether it can be started, and whether AI clients get it as a tool: they are of all its versions. */
export function About({ ids, workflow, mayChange, onSaved }: Props) {
  const { workflowDescription, isDisabled, isOfferedAsTool } = workflow;
  const { draft, set, ...form } = useSettings({
    saved: { description: workflowDescription ?? '', isDisabled, isOfferedAsTool },
    queryKey: ['workflows', ids.tenantID],
    async send(next) {
      const saved = await changeWorkflow(ids, {
        workflowDescription: next.description || null,
        isDisabled: next.isDisabled,
        isOfferedAsTool: next.isOfferedAsTool,
      });
      onSaved(saved);
      return {
        description: saved.workflowDescription ?? '',
        isDisabled: saved.isDisabled,
        isOfferedAsTool: saved.isOfferedAsTool,
      };
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
      <Checkbox
        label="Offer as a tool"
        description="AI clients that are connected over MCP get it as a tool of its own, by its title, with its inputs. Give it a description: models choose by it"
        disabled={!mayChange}
        checked={draft.isOfferedAsTool}
        onChange={({ currentTarget }) => set({ isOfferedAsTool: currentTarget.checked })}
      />
    </SettingsForm>
  );
}
