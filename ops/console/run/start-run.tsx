import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { workflowsRead } from '../client/reads.ts';
import { body, rest } from '../client/rest.ts';
import type { Schemas } from '../client/types.ts';
import { inputFields } from '../ui/as-fields.ts';
import type { Field } from '../ui/field.ts';
import { enteredValues, Fields, initialValues } from '../ui/fields.tsx';
import { Problem } from '../ui/problem.tsx';

type Startable = Pick<Schemas['ListedWorkflow'], 'id' | 'workflowOptions' | 'workflowDescription'>;

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

/** In place of fields, for a workflow that declares no inputs. */
const anyInputs: Field[] = [{ key: 'args', label: 'Inputs', kind: 'json', description: 'A JSON object', initial: {} }];

/** Asks for the inputs of a workflow and starts its published version. */
export function StartForm({ tenantID, workflow }: { tenantID: string; workflow: Startable }) {
  const declared = inputFields(workflow.workflowOptions.inputDefinitions);
  const fields = declared.length > 0 ? declared : anyInputs;
  const [values, setValues] = useState(() => initialValues(fields));
  const navigate = useNavigate();
  const start = useMutation({
    mutationFn: () => {
      const entered = enteredValues(fields, values);
      const args = (declared.length > 0 ? entered : entered.args) as Schemas['WorkflowExecute']['args'];
      const path = '/api/v1/tenants/{tenantID}/workflows/{workflowID}/execute';
      const params = { path: { tenantID, workflowID: workflow.id } };
      return body(rest.POST(path, { params, body: { ...(args && { args }) } as Schemas['WorkflowExecute'] }));
    },
    onSuccess: ({ instanceID }) =>
      navigate({ to: '/t/$tenantID/runs/$instanceID', params: { tenantID, instanceID }, search: {} }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {workflow.workflowDescription && (
          <Text size="sm" c="dimmed">
            {workflow.workflowDescription}
          </Text>
        )}
        <Fields fields={fields} values={values} onChange={setValues} />
        {start.error && <Problem error={start.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={start.isPending}>
            Start
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
