import { Button, Group } from '@mantine/core';
import { type ComponentType, createContext, Suspense, use, useState } from 'react';
import { JSONView } from '../../ui/json.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Status } from '../../ui/status.tsx';
import { hasEnded, type PageRun } from '../state/runs.ts';
import { usePage, useStore } from './page-context.ts';

export interface QuestionProps {
  questionID: string;
  isOver?: boolean;
}

/** Draws a question of a run, and the way to answer it: the host of the page has it. */
export const QuestionContext = createContext<ComponentType<QuestionProps> | null>(null);

/** The runs that a widget has started: how far they are, what they ask, and what they have come to. */
export function RunsOf({ widgetKey }: { widgetKey: string }) {
  const page = usePage();
  const runs = useStore(page.runs.shown).filter((run) => run.widgetKey === widgetKey);
  return runs.map((run) => <OneRun key={run.slot} run={run} />);
}

function OneRun({ run }: { run: PageRun }) {
  const { slot, status, steps, error, questionID } = run;
  const page = usePage();
  const Question = use(QuestionContext);
  // The last one stays, to tell a viewer who was about to answer that another did.
  const [asked, setAsked] = useState(questionID);
  if (questionID !== null && questionID !== asked) setAsked(questionID);
  const isOver = hasEnded(run);
  return (
    <div className="page-run">
      <Group gap="sm" justify="space-between">
        <span role="status">
          <Status of={status} />
          {steps.length > 0 && !isOver && (
            <span className="note">
              {' '}
              {steps.length === 1 ? '1 step has ended' : `${steps.length} steps have ended`}
            </span>
          )}
        </span>
        {isOver && (
          <Button size="compact-xs" variant="default" onClick={() => page.runs.forget(slot)}>
            Close
          </Button>
        )}
      </Group>
      {asked !== null && Question && (
        <Suspense>
          <Question key={asked} questionID={asked} isOver={questionID === null} />
        </Suspense>
      )}
      {error && (
        <Notice tone="bad" role="alert" title="The run has failed">
          {error.message}
        </Notice>
      )}
      {status === 'COMPLETED' && <Result output={run.output} />}
    </div>
  );
}

/** A result without a value is not worth a word. */
function Result({ output }: { output: unknown }) {
  if (output === null || output === undefined) return null;
  if (typeof output !== 'object')
    return (
      <p className="page-text">
        <bdi>{String(output)}</bdi>
      </p>
    );
  if (Object.keys(output).length === 0) return null;
  return (
    <details className="group">
      <summary>Result</summary>
      <JSONView value={output} label="Result of the run" />
    </details>
  );
}
