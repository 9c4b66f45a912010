import { Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { planWorkflow } from '../client/plan.ts';
import type { WorkflowIDs } from '../client/workflows.ts';
import { type RunInput, RunInputs } from '../run/run-inputs.tsx';
import { PastInputs } from '../testing/past-inputs.tsx';
import { faultsIn } from '../ui/faults.ts';
import { FormDialog } from '../ui/form.tsx';
import { type Plan, planOf } from './planned.ts';

interface Props {
  ids: WorkflowIDs;
  /** The declared inputs of the workflow. */
  definitions: unknown;
  args: Plan['args'] | undefined;
  /** Saves the graph of the editor as a draft if it has changes; returns the number of its version. */
  savedVersion: () => Promise<number>;
  isDirty: boolean;
  onPlan: (plan: Plan) => void;
  onClose: () => void;
}

/** Asks for the input with which a run is planned. */
export function PlanDialog({ ids, definitions, args, savedVersion, isDirty, onPlan, onClose }: Props) {
  const [input, setInput] = useState<RunInput | undefined>(args);
  // Fields keep what is typed, so they begin anew when they are filled.
  const [taken, setTaken] = useState(0);
  const take = (past: RunInput) => {
    setInput(past);
    setTaken(taken + 1);
  };
  const plan = useMutation({
    mutationFn: async () => {
      const given = input ?? {};
      return planOf(await planWorkflow(ids, given, await savedVersion()), given);
    },
    onSuccess: (planned) => {
      onPlan(planned);
      onClose();
    },
  });
  const faults = faultsIn('args', plan.error);
  return (
    <FormDialog
      title="Dry run"
      verb={isDirty ? 'Save the draft and show it' : 'Show it'}
      size="lg"
      save={plan}
      faults={faults}
      onClose={onClose}
    >
      <Text size="sm">
        The graph shows what a run would do with this input: which steps it would reach, and with which values. Nothing
        is executed.
      </Text>
      <PastInputs ids={ids} onInputs={take} />
      <RunInputs key={taken} definitions={definitions} value={input} onChange={setInput} faults={faults} />
    </FormDialog>
  );
}
