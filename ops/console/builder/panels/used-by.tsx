import { Text } from '@mantine/core';
import type { PanelProps } from './panel.ts';
import { type NamedRoot, sourcesUsing, usersOf } from './rename.ts';

interface Props extends Pick<PanelProps, 'document' | 'onChoose'> {
  root: NamedRoot;
  name: string;
}

/** Users of a name: widgets, each of which can be chosen, and data sources. */
export function UsedBy({ document, root, name, onChoose }: Props) {
  const users = usersOf(document, root, name);
  const sources = sourcesUsing(document, root, name);
  if (users.length + sources.length === 0) return <Text size="xs">Nothing uses it yet.</Text>;
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
      {users.length > 0 && sources.length > 0 && ', and '}
      {sources.length > 0 && (
        <>
          the data <bdi>{sources.join(', ')}</bdi>
        </>
      )}
    </Text>
  );
}
