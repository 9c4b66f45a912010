import { Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { StepError } from '../run/failure.tsx';
import { StepInput } from '../run/step-input.tsx';
import { Iterations, Output, Remarks } from '../run/step-panel.tsx';
import { StepDuration } from '../run/timeline.tsx';
import { Notice } from '../ui/notice.tsx';
import { Status } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { OUTDATED } from './outdated.ts';
import type { StepResult as Result } from './results.ts';
import { WaitingQuestion } from './waiting-question.tsx';

interface Props {
  tenantID: string;
  title: string;
  /** Undefined: no test has reached the step. */
  result: Result | undefined;
  /** The step, or one before it, has changed since. */
  isOutdated: boolean;
  exits: readonly { id: string; name: string }[];
  onSelect: (id: string) => void;
}

/** The input of a step in the last test, beside its output. */
export function StepResult({ tenantID, title, result, isOutdated, exits, onSelect }: Props) {
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
      {isOutdated && (
        <Notice tone="wait" title="Outdated">{`${OUTDATED}. Run it again to see what it gives now.`}</Notice>
      )}
      {result.isCut && (
        <Text size="sm">The test has ended at the step that it was run to, so that this one was not finished.</Text>
      )}
      <Group gap="md">
        {!result.isCut && <Status of={step.status} />}
        <Text size="sm" component="span">
          <StepDuration step={step} />
        </Text>
        <Text size="sm" c="dimmed" component="span">
          <Ago at={step.last.at} />
        </Text>
        <LeftBy exit={step.last.exit} exits={exits} />
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
      {step.status === 'SUSPENDED' && <WaitingQuestion key={step.key} tenantID={tenantID} run={run} step={step} />}
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

/** The way on that was taken, where a step has several beside that of errors. */
function LeftBy({ exit, exits }: { exit: string | null; exits: Props['exits'] }) {
  const onward = exits.filter(({ id }) => id !== 'error');
  if (exit === null || (onward.length < 2 && exit !== 'error')) return null;
  return <Text size="sm">goes on by “{exits.find(({ id }) => id === exit)?.name ?? exit}”</Text>;
}
