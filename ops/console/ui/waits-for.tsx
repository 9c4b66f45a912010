import { Text } from '@mantine/core';
import type { Schemas } from '../client/types.ts';

interface Props {
  waitsFor: readonly Schemas['Answerer'][];
  collectionConfig: Record<string, unknown>;
}

/** For those who may not answer a question: who may. */
export function WaitsFor({ waitsFor, collectionConfig: { notBy } }: Props) {
  return (
    <Text size="sm">
      {waitsFor.length === 0 ? (
        'Waits for an answer of another person who may execute the workflow.'
      ) : (
        <>
          {'Waits for an answer of: '}
          {waitsFor.map(({ type, name }, index) => (
            <span key={type + name}>
              {index > 0 && ' / '}
              <bdi>{name}</bdi>
              {type === 'role' && ' (role)'}
            </span>
          ))}
          .
        </>
      )}
      {typeof notBy === 'string' &&
        ' Not of the person who started the run. If nobody else may answer, add a colleague under Members.'}
    </Text>
  );
}
