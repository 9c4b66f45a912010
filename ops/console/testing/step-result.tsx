import { Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { StepError } from '../run/failure.tsx';
import { StepInput } from '../run/step-input.tsx';
import { Iterations, Output, Remarks } from '../run/step-panel.tsx';
import { StepDuration } from '../run/timeline.tsx';
import { Status } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import type { StepResult as Result } from './results.ts';

interface Props {
  tenantID: string;
  title: string;
  /** Undefined: no test has reached the step. */
  result: Result | undefined;
  onSelect: (id: string) => void;
}

/** The input of a step in the last test, beside its output. */
export function StepResult({ tenantID, title, result, onSelect }: Props) {
  const [chosen, choose] = useState<string>();
  if (!result)
    return (
      <Text size="sm" className="step-result">
        No test has reached this step yet.
      </Text>
    );
  const { run, steps } = result;
  const step = steps.steps.find(({ key }) => key === chosen) ?? steps.shown;
  const { instanceID } = run;
  return (
    <Stack gap="sm" className="step-result">
      {steps.steps.length > 1 && <Iterations node={steps} selected={step.key} onSelect={choose} />}
      <Group gap="md">
        <Status of={step.status} />
        <Text size="sm" component="span">
          <StepDuration step={step} />
        </Text>
        <Text size="sm" c="dimmed" component="span">
          <Ago at={step.last.at} />
        </Text>
        {step.last.exit && <Text size="sm">left by “{step.last.exit}”</Text>}
        <Link
          className="link note-link"
          to="/t/$tenantID/runs/$instanceID"
          params={{ tenantID, instanceID }}
          search={{ step: step.key }}
        >
          The run
        </Link>
      </Group>
      <Remarks tenantID={tenantID} last={step.last} />
      {step.status === 'SUSPENDED' && (
        <Text size="sm">It waits, and the test with it. What it waits for, the run says.</Text>
      )}
      {step.last.error && <StepError tenantID={tenantID} error={step.last.error} title={title} />}
      <div className="step-sides">
        <section aria-label="Input">
          <Text component="h3" size="sm" fw={600} mb={4}>
            Input
          </Text>
          <StepInput
            key={`${instanceID} ${step.key} ${step.last.attempt}`}
            tenantID={tenantID}
            run={run}
            graph={undefined}
            step={step}
            onSelect={onSelect}
          />
        </section>
        <section aria-label="Output">
          <Text component="h3" size="sm" fw={600} mb={4}>
            Output
          </Text>
          <Output key={`${instanceID} ${step.key} ${step.last.seq}`} tenantID={tenantID} run={run} step={step} />
        </section>
      </div>
    </Stack>
  );
}
