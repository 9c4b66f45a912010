import { Checkbox, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { WorkflowIDs } from '../client/workflows.ts';
import { type RunInput, RunInputs } from '../run/run-inputs.tsx';
import { faultsIn } from '../ui/faults.ts';
import { FormDialog } from '../ui/form.tsx';
import { PastInputs } from './past-inputs.tsx';
import { type EditedStep, pinsOf } from './pins.ts';
import type { TestSettings } from './test-settings.ts';
import type { Target, Tests } from './use-tests.ts';

interface Props {
  ids: WorkflowIDs;
  tests: Tests;
  target: Target;
  nodes: readonly EditedStep[];
  /** The declared inputs of the workflow. */
  definitions: unknown;
  nameOf: (id: string) => string;
}

/** Asks how the graph is tested as it is in the editor, saved or not. */
export function TestDialog({ ids, tests, target, nodes, definitions, nameOf }: Props) {
  const { settings } = tests;
  const [input, setInput] = useState<RunInput | undefined>(settings.args);
  // Fields keep what is typed, so they begin anew when they are filled.
  const [taken, setTaken] = useState(0);
  const take = (past: RunInput) => {
    setInput(past);
    setTaken(taken + 1);
  };
  const [dryRun, setDryRun] = useState(settings.dryRun);
  const close = () => tests.ask(undefined);
  const start = useMutation({
    mutationFn: () => tests.runWith(target, { args: input ?? {}, dryRun } satisfies TestSettings),
    // Faults of steps are shown at the graph, those of inputs here.
    onSettled: (_, error) => (faultsIn('args', error).size > 0 ? undefined : close()),
  });
  const faults = faultsIn('args', start.error);
  const pinned = nodes.filter(({ id }) => Object.hasOwn(pinsOf(nodes), id));
  return (
    <FormDialog
      title={titleOf(target, nameOf)}
      verb="Start the test"
      size="lg"
      save={start}
      faults={faults}
      onClose={close}
    >
      <PastInputs ids={ids} onInputs={take} />
      <RunInputs key={taken} definitions={definitions} value={input} onChange={setInput} faults={faults} />
      <Checkbox
        label="Without writes"
        description="Steps that would change something elsewhere say so and do not"
        checked={dryRun}
        onChange={(event) => setDryRun(event.currentTarget.checked)}
      />
      {pinned.length > 0 && (
        <Text size="sm" c="dimmed">
          Pinned, and not run: {pinned.map(({ id }) => `“${nameOf(id)}”`).join(', ')}.
        </Text>
      )}
    </FormDialog>
  );
}

function titleOf(target: Target, nameOf: (id: string) => string): string {
  if (target.kind === 'all') return 'Test';
  return target.kind === 'upTo' ? `Run to “${nameOf(target.id)}”` : `Run only “${nameOf(target.id)}”`;
}
