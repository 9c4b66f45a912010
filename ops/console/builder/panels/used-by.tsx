import { Text } from '@mantine/core';
import type { PanelProps } from './panel.ts';
import { type NamedRoot, usersOf } from './rename.ts';

interface Props extends Pick<PanelProps, 'document' | 'onChoose'> {
  root: NamedRoot;
  name: string;
}

/** The widgets that name something, each of which can be chosen. */
export function UsedBy({ document, root, name, onChoose }: Props) {
  const users = usersOf(document, root, name);
  if (users.length === 0) return <Text size="xs">No widget uses it yet.</Text>;
  return (
    <Text size="xs" component="div">
      Used by{' '}
      {users.map(({ key, title }, at) => (
        <span key={key}>
          {at > 0 && ', '}
          {onChoose ? (
            <button type="button" className="plain link" onClick={() => onChoose(key)}>
              <bdi>{title}</bdi>
            </button>
          ) : (
            <bdi>{title}</bdi>
          )}
        </span>
      ))}
    </Text>
  );
}
