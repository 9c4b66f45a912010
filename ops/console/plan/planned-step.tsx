import { Stack, Text } from '@mantine/core';
import { countOf } from '../ui/count.ts';
import { Notice } from '../ui/notice.tsx';
import { Scroller } from '../ui/table.tsx';
import { dependencyWords, type PlannedCard } from './planned.ts';

interface Props {
  /** Undefined: the plan does not have the step. */
  card: PlannedCard | undefined;
  nameOf: (id: string) => string;
}

/** The part of a plan about one step: whether it would run, and with which values. */
export function PlannedStep({ card, nameOf }: Props) {
  if (!card)
    return <Text size="sm">The plan does not have this step: it was added later, or nothing leads to it.</Text>;
  const { word, tone, reason, step } = card;
  const { values = [], items } = step;
  return (
    <Stack gap="xs" component="section" aria-label="Plan of the step">
      <span className="status" data-tone={tone}>
        {word}
      </span>
      {reason !== undefined &&
        (tone === 'bad' ? <Notice tone="bad">{reason}</Notice> : <Text size="sm">{reason}</Text>)}
      {items !== undefined && <Text size="sm">Its body is repeated for {countOf(items, 'item')}.</Text>}
      {values.length > 0 && (
        <Scroller label="Values of the step">
          <table className="list">
            <caption className="unseen">Fields with the values that they would have</caption>
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Value</th>
              </tr>
            </thead>
            <tbody>
              {values.map(({ path, value, isOmitted, dependsOn }) => (
                <tr key={path}>
                  <td>
                    <code className="breaks">{path}</code>
                  </td>
                  <td className="breaks">
                    {valueWords({ value, isOmitted, depends: dependencyWords(dependsOn, nameOf) })}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
    </Stack>
  );
}

function valueWords({
  value,
  isOmitted,
  depends,
}: {
  value: unknown;
  isOmitted: boolean | undefined;
  depends: string;
}) {
  if (isOmitted) return 'too long to be shown';
  if (depends !== '') return `known when it runs: ${depends}`;
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '–');
}
