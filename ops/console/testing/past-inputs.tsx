import { Select } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { readRunInput, runsWithInputsRead } from '../client/run-inputs.ts';
import type { WorkflowIDs } from '../client/workflows.ts';
import { originOf } from '../run/origin.ts';
import { isObject } from '../ui/is-object.ts';
import { Problem } from '../ui/problem.tsx';
import { wordOf } from '../ui/status.tsx';

interface Props {
  ids: WorkflowIDs;
  onInputs: (args: Readonly<Record<string, unknown>>) => void;
}

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** Fills the inputs with those of an earlier run of the workflow. */
export function PastInputs({ ids, onInputs }: Props) {
  const { data: runs = [] } = useQuery(runsWithInputsRead(ids));
  const read = useMutation({
    mutationFn: async (instanceID: string) => {
      const input = await readRunInput({ tenantID: ids.tenantID, instanceID });
      if (isObject(input)) onInputs(input);
    },
  });
  if (runs.length === 0) return null;
  return (
    <>
      <Select
        label="Inputs of an earlier run"
        placeholder="Choose a run to take its inputs"
        data={runs.map((run) => ({
          value: run.instanceID,
          label: `${when.format(new Date(run.createdAt))}, ${wordOf(run.status).toLowerCase()}, ${originOf(run).toLowerCase()}`,
        }))}
        value={read.variables ?? null}
        onChange={(instanceID) => instanceID && read.mutate(instanceID)}
      />
      {read.error && <Problem error={read.error} />}
    </>
  );
}
