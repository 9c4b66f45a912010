import { Modal, Select, Skeleton, Stack, TagsInput, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { workflowsRead } from '../client/reads.ts';
import { referenceRead } from '../client/references.ts';
import { body, rest } from '../client/rest.ts';
import { sampleInput } from '../client/sample-input.ts';
import type { Schemas } from '../client/types.ts';
import { DurationInput } from '../ui/duration-input.tsx';
import { faultsBelow, faultsOf } from '../ui/faults.ts';
import { DialogForm } from '../ui/form.tsx';
import { MomentInput } from '../ui/moment-input.tsx';
import { Problem } from '../ui/problem.tsx';
import { runClasses } from './classes.ts';
import { type RunInput, RunInputs } from './run-inputs.tsx';

type Startable = Pick<Schemas['ListedWorkflow'], 'id' | 'workflowDescription'>;

/** Chooses a workflow, asks for its inputs and starts it. */
export function StartRun({ tenantID, onClose }: { tenantID: string; onClose: () => void }) {
  const { data: workflows = [], error } = useQuery(workflowsRead(tenantID));
  const [workflowID, setWorkflowID] = useState<string | null>(null);
  const chosen = workflows.find(({ id }) => id === workflowID);
  return (
    <Modal opened onClose={onClose} title="Start a run">
      <Stack>
        {error && <Problem error={error} />}
        <Select
          label="Workflow"
          placeholder="Choose"
          searchable
          data-autofocus
          data={workflows
            .filter(({ publishedVersionID, isDisabled }) => publishedVersionID && !isDisabled)
            .map(({ id, title }) => ({ value: id, label: title }))}
          value={workflowID}
          onChange={setWorkflowID}
          nothingFoundMessage="No published workflow"
        />
        {chosen && <StartForm key={chosen.id} tenantID={tenantID} workflow={chosen} />}
      </Stack>
    </Modal>
  );
}

/** Asks for the inputs of a workflow and starts its published version. */
export function StartForm({ tenantID, workflow }: { tenantID: string; workflow: Startable }) {
  const [input, setInput] = useState<RunInput | undefined>(() => sampleInput(workflow.id));
  const [more, setMore] = useState<More>({ tags: [] });
  // The options of the workflow are those of its latest version, which may be a draft.
  const { data, error } = useQuery(referenceRead(tenantID, 'workflow', workflow.id));
  const navigate = useNavigate();
  const start = useMutation({
    mutationFn: () => {
      const path = '/api/v1/tenants/{tenantID}/workflows/{workflowID}/execute';
      const params = { path: { tenantID, workflowID: workflow.id } };
      const asked = { ...(input !== undefined && { args: input }), ...moreOf(more) } as Schemas['WorkflowExecute'];
      return body(rest.POST(path, { params, body: asked }));
    },
    onSuccess: ({ instanceID }) =>
      navigate({ to: '/t/$tenantID/runs/$instanceID', params: { tenantID, instanceID }, search: {} }),
  });
  const faults = faultsBelow('args', start.error);
  return (
    <DialogForm verb="Start" save={start} faults={faultsOf(start.error)}>
      {workflow.workflowDescription && (
        <Text size="sm" c="dimmed">
          {workflow.workflowDescription}
        </Text>
      )}
      {error && <Problem error={error} />}
      {data || error ? (
        <RunInputs definitions={data?.inputs} value={input} onChange={setInput} faults={faults} />
      ) : (
        <Skeleton h={80} />
      )}
      <MoreFields
        value={more}
        error={start.error}
        onChange={(next) => {
          // A refusal that was corrected is not one any more.
          start.reset();
          setMore(next);
        }}
      />
    </DialogForm>
  );
}

/** Settings of a run beside its inputs. What is undefined goes as the workflow says. */
interface More {
  tags: string[];
  startAt?: string | undefined;
  class?: string | undefined;
  priority?: string | number | undefined;
}

function moreOf({ tags, ...more }: More) {
  return { ...(tags.length > 0 && { tags }), ...more };
}

interface MoreProps {
  value: More;
  error: Error | null;
  onChange: (value: More) => void;
}

/** Folded: few runs need them. */
function MoreFields({ value, error, onChange }: MoreProps) {
  const [isOpen, setOpen] = useState(false);
  const faults = faultsOf(error);
  const hasFault = ['tags', 'startAt', 'class', 'priority'].some((field) => faults.has(field));
  return (
    // A fault must not be hidden, and one that is corrected leaves the fields open.
    <details className="group" open={isOpen || hasFault} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>More: tags, when it begins, which runs go first</summary>
      <Stack gap="sm">
        <TagsInput
          label="Tags"
          description="Words by which the run is found in the list of runs. Enter ends each"
          maxTags={MAX_TAGS}
          value={value.tags}
          error={faults.get('tags')}
          onChange={(tags) => onChange({ ...value, tags })}
        />
        <MomentInput
          label="Begins at"
          description="In the time of this browser. Empty: at once"
          value={value.startAt}
          error={faults.get('startAt')}
          onSet={(startAt) => onChange({ ...value, startAt })}
        />
        <Select
          label="Class"
          description="While runs of the workflow wait: 8 interactive ones begin for 4, 2 and 1 of the other classes. Empty: as the workflow says, else interactive"
          clearable
          clearButtonProps={{ 'aria-label': 'Clear Class' }}
          data={runClasses}
          value={value.class ?? null}
          error={faults.get('class')}
          onChange={(next) => onChange({ ...value, class: next ?? undefined })}
        />
        <DurationInput
          label="Head start"
          description="How much earlier the run counts as accepted, against other runs of the workflow and class, up to an hour. Empty: as the workflow says, else none"
          inSeconds
          value={value.priority}
          error={faults.get('priority')}
          onChange={(priority) => onChange({ ...value, priority })}
        />
      </Stack>
    </details>
  );
}

/** The API takes no more. */
const MAX_TAGS = 10;
