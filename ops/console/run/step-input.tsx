import { Button, Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Step } from '../client/run-steps.ts';
import { stepInputRead } from '../client/step-reads.ts';
import type { Run, Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { JSONView } from '../ui/json.tsx';
import { Problem } from '../ui/problem.tsx';
import { type Graph, titleOf } from './graph-of.ts';

interface Props {
  tenantID: string;
  run: Run;
  graph: Graph | undefined;
  step: Step;
  onSelect: (step: string) => void;
}

/** The input of an attempt of a step. It is read when the step is looked at, and once: nothing changes it later. */
export function StepInput({ tenantID, run, graph, step, onSelect }: Props) {
  const { nodeID, frame, last } = step;
  const [chosen, choose] = useState<number>();
  const attempt = chosen ?? last.attempt;
  const ids = { tenantID, instanceID: run.instanceID, nodeID };
  const input = useQuery(stepInputRead(ids, { frame, attempt }));
  return (
    <Stack gap="xs">
      {last.attempt > 1 && (
        <Select
          label="Attempt"
          allowDeselect={false}
          data={Array.from({ length: last.attempt }, (_, at) => String(at + 1))}
          value={String(attempt)}
          onChange={(value) => choose(Number(value))}
        />
      )}
      {input.isPending && <Text size="sm">Reading …</Text>}
      {input.error && <Problem error={input.error} onRetry={() => void input.refetch()} />}
      {input.data && (
        <>
          <Settings settings={input.data.settings} />
          <Context input={input.data} graph={graph} onSelect={onSelect} />
        </>
      )}
    </Stack>
  );
}

const reasons: Record<Schemas['StepSettingInDoubt']['reason'], string> = {
  notKept: 'is shown as it was written, since the value of a variable or a link in it is not kept with the run.',
  omitted: 'is shown as it was written, since a value in it is left out below.',
  tooLong: 'is shown as it was written, since it is too long with its values.',
  plain: 'is shown with its values as one reads them. What was sent had them encoded, or as parameters.',
};

/** More would hide what they are about. */
const MAX_NAMED = 20;

function Settings({ settings }: Pick<Schemas['WorkflowStepInput'], 'settings'>) {
  if (!settings)
    return <Text size="sm">You may not read the workflow, so that the settings of the step are not shown.</Text>;
  const { values, inDoubt } = settings;
  return (
    <>
      <Text size="sm" c="dimmed">
        What the step was given: its settings, with the values in place of its expressions.
      </Text>
      <JSONView value={values} label="Input of the step" />
      {inDoubt.length > 0 && (
        <ul className="lines">
          {inDoubt.slice(0, MAX_NAMED).map(({ path, reason }) => (
            <li key={path.join('.')}>
              <Text size="sm">
                “{path.join('.')}” {reasons[reason]}
              </Text>
            </li>
          ))}
          {inDoubt.length > MAX_NAMED && <li>And {countOf(inDoubt.length - MAX_NAMED, 'other')}.</li>}
        </ul>
      )}
    </>
  );
}

function Context({
  input: { ctx, omitted, mayLackKeys },
  graph,
  onSelect,
}: Pick<Props, 'graph' | 'onSelect'> & { input: Schemas['WorkflowStepInput'] }) {
  return (
    <>
      <Text size="sm" c="dimmed">
        All values that it could name, behind <code>ctx</code>.
      </Text>
      <JSONView value={ctx} label="Context of the step" />
      {(omitted.length > 0 || mayLackKeys) && (
        <Text size="sm">
          {omitted.length > 0 ? 'Left out, because they are large:' : 'Further keys may be left out.'}
        </Text>
      )}
      {omitted.length > 0 && (
        <ul className="lines">
          {omitted.map(({ key, nodeID, length }) => (
            <li key={key}>
              <code>
                <bdi>{key}</bdi>
              </code>
              {length !== null && ` (${length.toLocaleString()} characters)`}
              {nodeID !== null && (
                <>
                  {' '}
                  <Button size="compact-xs" variant="default" onClick={() => onSelect(nodeID)}>
                    Output of <bdi>{titleOf(graph, nodeID)}</bdi>
                  </Button>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
